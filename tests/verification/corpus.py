"""Every query of the specification, and of the query files, as files for `penstock verify`."""

from __future__ import annotations

from pathlib import Path

from tests.sql.declared import LINKS, PACKETS
from tests.sql.specification import QUERIES

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted(each for each in ROOT.glob("examples/*.sql") if each.stem != "misspelt")

EVERYTHING = """
    CREATE STREAM a (k STRING, v INT, d DOUBLE, day DATE, b BINARY, ok BOOLEAN, ts TIMESTAMP)
      TIMESTAMP BY ts SLACK 5 SECONDS;
    CREATE STREAM b (k STRING, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 3 ROWS;
    CREATE STREAM c (k STRING, seq SMALLINT) TIMESTAMP BY seq PUNCTUATED;
    CREATE STREAM m (k STRING, over BOOLEAN, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED BY over;
    CREATE STREAM i (k STRING) TIMESTAMP INTERNAL AS seen;
    CREATE STREAM l (k STRING, v INT) LATENT;
    CREATE STREAM z (k STRING, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND LULL 5 SECONDS;
    CREATE STREAM p (k STRING, price DECIMAL(8, 2), clock TIMESTAMP_NTZ, tags ARRAY<STRING>,
      user STRUCT<name: STRING, address: STRUCT<zip: INT, seen: ARRAY<TIMESTAMP>, day: DATE>>,
      counts MAP<STRING, DECIMAL(5, 1)>, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;
    CREATE QUERY parts AS SELECT k, tags, user.address, counts['gold'] AS gold, clock, counts,
      user.address.seen[0] AS seen, price * 1.5 AS more FROM p
      WHERE user.address.zip > 2 OR tags[0] = 'web' OR counts['gold'] > 0.5;
    CREATE QUERY exact AS SELECT tags, user.address, sum(price) AS s, avg(counts['gold']) AS a,
      max(clock) AS c FROM p [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY tags, user.address;
    CREATE QUERY met AS SELECT l.counts, r.user, l.price - r.price AS d FROM p l JOIN p r
      ON l.tags = r.tags AND l.price = r.price WITHIN 3 SECONDS;
    CREATE QUERY types AS SELECT k, day, b, ok, max(d) AS d, approx_count_distinct(v) AS n FROM a
      [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k, day, b, ok;
    CREATE QUERY early AS SELECT k, sum(v) AS s FROM b [RANGE 10 SECONDS] GROUP BY k EMIT CHANGES;
    CREATE QUERY numbers AS SELECT k, count(*) AS n FROM c [RANGE 7 SLIDE 3 WA seq] GROUP BY k;
    CREATE QUERY marked AS SELECT k, count(*) AS n FROM m [RANGE 4 SECONDS] GROUP BY k;
    CREATE QUERY stamped AS SELECT k, count(*) AS n FROM i [RANGE 2 SECONDS WA seen] GROUP BY k;
    CREATE QUERY rows AS SELECT sum(v) AS s FROM l [RANGE 4 ROWS SLIDE 2 ROWS];
    CREATE QUERY kept AS SELECT a.k, b.v AS w FROM a LEFT JOIN b ON a.k = b.k WITHIN 4 SECONDS;
    CREATE QUERY lonely AS SELECT a.k, a.v FROM a LEFT ANTI JOIN z ON a.k = z.k WITHIN 2 SECONDS;
    CREATE QUERY latest AS SELECT a.k, a.v, b.v AS w FROM SEQ(a, b) MODE RECENT PARTITION BY k;
    CREATE QUERY in_turn AS SELECT a.k, a.d, z.ts FROM SEQ(a, b, z) MODE CHRONICLE PARTITION BY k
      WITHIN 8 SECONDS;
    CREATE QUERY followed AS SELECT b.v, a.v AS w, a.ts FROM SEQ(b, a) WITHIN 3 SECONDS
      WHERE b.k = a.k AND b.v <= a.v;
    CREATE QUERY sorted AS SELECT k, ts FROM a UNION ALL SELECT k, ts FROM z ORDER BY ts;
    CREATE QUERY sessions AS
      SELECT k, count(*) AS n FROM a GROUP BY k, session_window(ts, '3 seconds');
    CREATE QUERY patterns AS SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, d
      MEASURES LAST(ts) AS t, count(B.*) AS n, max(v) AS v PATTERN (A B{1,4} C?) WITHIN 9 SECONDS
      DEFINE B AS B.v > A.v, C AS v < PREV(v));
"""


def specification() -> str:
    """The streams that the queries of the specification read, and all of them."""
    disorder = {"S0": "SLACK 5 SECONDS", "S1": "PUNCTUATED"}
    streams = [
        f"CREATE STREAM {name} ({PACKETS}) TIMESTAMP BY ts {disorder.get(name, 'SLACK 20 SECONDS')}"
        for name in (*LINKS, *disorder)
    ]
    queries = [f"CREATE QUERY {name.replace('-', '_')} AS {c.sql}" for name, c in QUERIES.items()]
    return ";\n".join([*streams, "DECLARE n = 3 SECONDS", *queries])
