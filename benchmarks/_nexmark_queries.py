"""The queries of NEXMark, in Penstock's SQL and in Spark's.

`ours` and `rival` give the same rows. Where a text is missing both run the same one. `form` says
what differs from the published query, which in most cases never forgets a row: a stream needs a
bound in time, and both sides get the same.
"""

from __future__ import annotations

from dataclasses import dataclass

BIDS = ("bids",)
PERSONS_AUCTIONS = ("persons", "auctions")
AUCTIONS_BIDS = ("auctions", "bids")


@dataclass(frozen=True)
class Query:
    """One query; with `stateful`, Spark keeps state for it and tries both its stores."""

    streams: tuple[str, ...]
    ours: str
    rival: str = ""  # the same as ours
    form: str = "as published"
    stateful: bool = True
    share: float = 1.0  # of all events, where one of Spark's stores would take minutes for them

    @property
    def rival_sql(self) -> str:
        return self.rival or self.ours


def stateless(ours: str, form: str = "as published", rival: str = "") -> Query:
    return Query(BIDS, ours, rival, form, stateful=False)


# Every auction with the bids that came while it was open; none is open for 10 s.
_WINNING = """
    FROM auctions a JOIN bids b ON a.id = b.auction
      AND b.dateTime BETWEEN a.dateTime AND a.dateTime + INTERVAL 10 SECONDS
      AND b.dateTime <= a.expires"""

# The ranks of prices by which three queries count.
_RANKS = {1: "price < 10000", 2: "price >= 10000 AND price < 1000000", 3: "price >= 1000000"}


def _counts() -> str:
    ranked = (f"count(*) FILTER (WHERE {rank}) AS bids_{n}" for n, rank in _RANKS.items())
    return ", ".join(["count(*) AS bids", *ranked])


def _distinct(column: str, *, spark: bool = False) -> str:
    """How many different values there are, in all and by rank.

    Spark refuses count(DISTINCT) over streams, but collects sets.
    """
    found = []
    for n, rank in {0: "", **_RANKS}.items():
        only = f" FILTER (WHERE {rank})" if rank else ""
        name = f"{column}s_{n}" if n else f"{column}s"
        counted = f"collect_set({column})" if spark else f"count(DISTINCT {column})"
        found.append(f"size({counted}{only}) AS {name}" if spark else f"{counted}{only} AS {name}")
    return ", ".join(found)


_DAY = "FROM bids [RANGE 1 DAY]"
_SPARK_DAY = "FROM bids GROUP BY window(dateTime, '1 day')"
_BOUNDS = "window.start AS window_start, window.end AS window_end"

QUERIES = {
    "q0": stateless("SELECT auction, bidder, price, channel, url, dateTime FROM bids"),
    "q1": stateless("SELECT auction, bidder, 908e-3 * price AS price, dateTime FROM bids"),
    "q2": stateless("SELECT auction, price FROM bids WHERE mod(auction, 123) = 0"),
    "q3": Query(
        PERSONS_AUCTIONS,
        """SELECT p.name, p.city, p.state, a.id
        FROM auctions a JOIN persons p ON a.seller = p.id
          AND a.dateTime BETWEEN p.dateTime AND p.dateTime + INTERVAL 10 SECONDS
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
        form="an auction at most 10 s after its seller, which all are",
    ),
    "q4": Query(
        AUCTIONS_BIDS,
        f"""SELECT category, avg(final) AS price, window_end
        FROM (SELECT a.id, a.category, max(b.price) [RANGE 10 SECONDS, WA a.dateTime] AS final
              {_WINNING} GROUP BY a.id, a.category)
        GROUP BY category, window_end""",
        f"""SELECT category, avg(final) AS price, window.end AS window_end
        FROM (SELECT a.id, a.category, max(b.price) AS final,
                     window(a.dateTime, '10 seconds') AS w
              {_WINNING} GROUP BY a.id, a.category, window(a.dateTime, '10 seconds'))
        GROUP BY category, window(w, '10 seconds')""",
        form="by 10 s in which the auctions were opened",
        share=0.4,
    ),
    "q5": Query(
        BIDS,
        """WITH counts AS (SELECT auction, count(*) AS n
                        FROM bids [RANGE 10 SECONDS, SLIDE 2 SECONDS] GROUP BY auction)
        SELECT c.auction, c.n, c.window_end
        FROM counts c JOIN (SELECT max(n) AS most, window_end FROM counts GROUP BY window_end) m
          ON c.window_end = m.window_end AND c.n >= m.most""",
        """WITH counts AS (SELECT auction, count(*) AS n,
                               window(dateTime, '10 seconds', '2 seconds') AS w
                        FROM bids GROUP BY auction, window(dateTime, '10 seconds', '2 seconds'))
        SELECT c.auction, c.n, c.w.end AS window_end
        FROM counts c JOIN (SELECT max(n) AS most, w FROM counts GROUP BY w) m
          ON c.w = m.w AND c.n >= m.most""",
        share=0.5,
    ),
    "q7": Query(
        BIDS,
        """SELECT b.auction, b.price, b.bidder, b.dateTime
        FROM bids b JOIN (SELECT max(price) AS most, window_end FROM bids [RANGE 10 SECONDS]) m
          ON b.price = m.most
          AND b.dateTime BETWEEN m.window_end - INTERVAL 10 SECONDS AND m.window_end""",
        """SELECT b.auction, b.price, b.bidder, b.dateTime
        FROM bids b
        JOIN (SELECT max(price) AS most, window(dateTime, '10 seconds') AS w
              FROM bids GROUP BY window(dateTime, '10 seconds')) m
          ON b.price = m.most AND b.dateTime BETWEEN m.w.end - INTERVAL 10 SECONDS AND m.w.end""",
    ),
    "q8": Query(
        PERSONS_AUCTIONS,
        """SELECT p.id, p.name, p.window_start
        FROM (SELECT id, name, count(*) AS n FROM persons [RANGE 10 SECONDS] GROUP BY id, name) p
        JOIN (SELECT seller, count(*) AS n FROM auctions [RANGE 10 SECONDS] GROUP BY seller) a
          ON p.id = a.seller AND p.window_end = a.window_end""",
        """SELECT p.id, p.name, p.w.start AS window_start
        FROM (SELECT id, name, window(dateTime, '10 seconds') AS w
              FROM persons GROUP BY id, name, window(dateTime, '10 seconds')) p
        JOIN (SELECT seller, window(dateTime, '10 seconds') AS w
              FROM auctions GROUP BY seller, window(dateTime, '10 seconds')) a
          ON p.id = a.seller AND p.w = a.w""",
    ),
    "q9": Query(
        AUCTIONS_BIDS,
        f"""SELECT a.id, a.itemName, a.seller, a.category,
               max(b.price) [RANGE 10 SECONDS, WA a.dateTime] AS price,
               max_by(b.bidder, b.price) [RANGE 10 SECONDS, WA a.dateTime] AS bidder
        {_WINNING} GROUP BY a.id, a.itemName, a.seller, a.category""",
        f"""SELECT a.id, a.itemName, a.seller, a.category,
               max(struct(b.price, b.bidder)).price AS price,
               max(struct(b.price, b.bidder)).bidder AS bidder,
               window.start AS window_start, window.end AS window_end
        {_WINNING}
        GROUP BY a.id, a.itemName, a.seller, a.category, window(a.dateTime, '10 seconds')""",
        form="by 10 s in which the auctions were opened",
        share=0.4,
    ),
    "q11": Query(
        BIDS,
        """SELECT bidder, count(*) AS bids,
               session_window.start AS window_start, session_window.end AS window_end
        FROM bids GROUP BY bidder, session_window(dateTime, '10 seconds')""",
    ),
    "q13": stateless(
        """SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
        FROM bids b JOIN side s ON mod(b.auction, 10000) = s.key"""
    ),
    "q14": stateless(
        """SELECT auction, bidder, 908e-3 * price AS price,
               CASE WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime'
                    WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
                    ELSE 'otherTime' END AS bidTimeType,
               dateTime, length(url) - length(replace(url, 'c', '')) AS c_counts
        FROM bids WHERE 908e-3 * price > 1000000 AND 908e-3 * price < 50000000""",
        form="characters counted in the URL, by SQL's own functions",
    ),
    "q15": Query(
        BIDS,
        f"SELECT {_counts()}, {_distinct('bidder')}, {_distinct('auction')} {_DAY}",
        f"""SELECT {_counts()}, {_distinct("bidder", spark=True)},
               {_distinct("auction", spark=True)}, {_BOUNDS} {_SPARK_DAY}""",
        form="results at the end of the day",
    ),
    "q16": Query(
        BIDS,
        f"""SELECT channel, max(date_trunc('minute', dateTime)) AS minute, {_counts()},
               {_distinct("bidder")}, {_distinct("auction")} {_DAY} GROUP BY channel""",
        f"""SELECT channel, max(date_trunc('minute', dateTime)) AS minute, {_counts()},
               {_distinct("bidder", spark=True)}, {_distinct("auction", spark=True)}, {_BOUNDS}
        {_SPARK_DAY}, channel""",
        form="results at the end of the day",
    ),
    "q17": Query(
        BIDS,
        f"""SELECT auction, {_counts()}, min(price) AS least, max(price) AS most,
               avg(price) AS mean, sum(price) AS total {_DAY} GROUP BY auction""",
        f"""SELECT auction, {_counts()}, min(price) AS least, max(price) AS most,
               avg(price) AS mean, sum(price) AS total, {_BOUNDS} {_SPARK_DAY}, auction""",
        form="results at the end of the day",
    ),
    "q18": Query(
        BIDS,
        """SELECT bidder, auction, max(dateTime) AS dateTime, last(price) AS price
        FROM bids [RANGE 10 SECONDS] GROUP BY bidder, auction""",
        f"""SELECT bidder, auction, max(struct(dateTime, price)).dateTime AS dateTime,
               max(struct(dateTime, price)).price AS price, {_BOUNDS}
        FROM bids GROUP BY bidder, auction, window(dateTime, '10 seconds')""",
        form="the last bid by 10 s",
    ),
    "q19": Query(
        BIDS,
        "SELECT auction, top_k(price, 10) AS prices FROM bids [RANGE 10 SECONDS] GROUP BY auction",
        f"""SELECT auction, to_json(slice(sort_array(collect_list(price), false), 1, 10)) AS prices,
               {_BOUNDS}
        FROM bids GROUP BY auction, window(dateTime, '10 seconds')""",
        form="the ten highest prices by 10 s",
    ),
    "q20": Query(
        AUCTIONS_BIDS,
        """SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime AS bidTime,
               a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS auctionTime,
               a.expires, a.seller, a.category
        FROM bids b JOIN auctions a ON b.auction = a.id
          AND b.dateTime BETWEEN a.dateTime AND a.dateTime + INTERVAL 10 SECONDS
        WHERE a.category = 10""",
        form="a bid at most 10 s after its auction, which all are",
    ),
    "q21": stateless(
        """SELECT auction, bidder, price, channel,
               CASE WHEN lower(channel) = 'apple' THEN '0'
                    WHEN lower(channel) = 'google' THEN '1'
                    WHEN lower(channel) = 'facebook' THEN '2'
                    WHEN lower(channel) = 'baidu' THEN '3'
                    ELSE split_part(url, '/', 5) END AS channel_id
        FROM bids
        WHERE lower(channel) IN ('apple', 'google', 'facebook', 'baidu')
           OR split_part(url, '/', 5) <> ''""",
        form="the URL's last part instead of a regular expression's match",
    ),
    "q22": stateless(
        """SELECT auction, bidder, price, channel, split_part(url, '/', 3) AS dir1,
               split_part(url, '/', 4) AS dir2, split_part(url, '/', 5) AS dir3 FROM bids"""
    ),
}
