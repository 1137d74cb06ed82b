"""Different spellings of the same thing give the same plan."""

from __future__ import annotations

import pytest

from tests.sql.declared import PACKETS, declared, execute, plan_of

COUNT = "SELECT count(*) [{}] FROM M"

SAME = [
    # The window clause: commas, order, case, words.
    (
        COUNT.format("RANGE 10 minutes, SLIDE 1 minute, WA ts"),
        COUNT.format("RANGE 10 minutes SLIDE 1 minute WA ts"),
        COUNT.format("WATTR ts, SLIDE 60 s RANGE 600 SECONDS"),
        COUNT.format("wa M.ts slide interval '1' minute range interval 10 minutes"),
        COUNT.format("RANGE '10 minutes', SLIDE 60000 ms"),
        COUNT.format("RATTR ts RANGE 600000000 us, SLIDE 1 min"),
        "SELECT count(*) FROM M [RANGE 10 minutes, SLIDE 1 minute]",
        "SELECT count(*) FROM M [RANGE 10 minutes, SLIDE 1 minute] AS x",
        "SELECT count(*) FROM M x [RANGE 10 minutes, SLIDE 1 minute]",
        "SELECT count(*) FROM (M) [RANGE 10 minutes, SLIDE 1 minute]",
        "SELECT count(*) FROM M GROUP BY window(ts, '10 minutes', '1 minute')",
        "SELECT count(*) FROM HOP(TABLE M, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' "
        "MINUTES) GROUP BY window_start, window_end",
    ),
    # Tumbling windows.
    (
        COUNT.format("RANGE 1 day"),
        COUNT.format("RANGE 24 hours, SLIDE 1 day"),
        COUNT.format("RANGE TUMBLING 1440 minutes"),
        COUNT.format("RANGE 23 hours 59 minutes 60 seconds"),
        "SELECT count(*) FROM M GROUP BY window(ts, '1 day')",
        "SELECT count(*) FROM TUMBLE(TABLE M, DESCRIPTOR(ts), INTERVAL 1 DAY) GROUP BY window_end",
        "SELECT count(*) FROM TABLE(TUMBLE(SIZE => INTERVAL 1 DAY, DATA => TABLE M, "
        "TIMECOL => DESCRIPTOR(ts))) GROUP BY window_start, window_end",
        "SELECT count(*) FROM M [RANGE 1 day] GROUP BY window_start, window_end",
    ),
    # Rows.
    (
        COUNT.format("RANGE 10 ROWS, SLIDE 2 ROWS, WA row-num"),
        COUNT.format("RANGE 10 tuples SLIDE 2 tuples"),
        COUNT.format("RANGE 10 rows, SLIDE 2 rows, WA seq-num"),
        COUNT.format("RANGE 10, SLIDE 2, WA row_num"),
    ),
    # Partitions.
    (
        COUNT.format("RANGE 10 rows, PA srcIP, srcPort, SLIDE 2 rows"),
        COUNT.format("PA (srcIP, srcPort) RANGE 10 rows SLIDE 2 rows"),
        COUNT.format("RANGE 10 rows SLIDE 2 rows PA srcip, m.srcport WA row-num"),
    ),
    # Functions of text, as the standard writes them.
    (
        "SELECT btrim(srcIP, 'x') AS a, substring(srcIP, 2, 3) AS b, substr(srcIP, len + 1) AS c, "
        "trim(srcIP) AS d, ltrim(srcIP) AS e FROM M",
        "SELECT trim(BOTH 'x' FROM srcIP) AS a, substring(srcIP FROM 2 FOR 3) AS b, "
        "substr(srcIP FROM len + 1) AS c, trim(BOTH FROM srcIP) AS d, "
        "trim(leading from srcIP) AS e FROM M",
        "SELECT trim('x' FROM srcIP) AS a, substring(srcIP FROM 2 FOR 3) AS b, "
        "substring(srcIP FROM len + 1) AS c, TRIM( srcIP ) AS d, ltrim(srcIP) AS e FROM M",
    ),
    # Groups.
    (
        "SELECT srcIP, count(*) FROM M [RANGE 1 s] GROUP BY srcIP",
        "SELECT srcIP, count(*) FROM M [RANGE 1 s] GROUP-BY srcIP",
        "SELECT srcIP, count(*) FROM M [RANGE 1 s] groupby M.SRCIP",
        "SELECT srcIP, count(*) FROM M [RANGE 1 s] GROUP BY 1",
        "SELECT srcIP, count(*) FROM M [RANGE 1 s] GROUP BY srcIP, srcIP",
    ),
    # Unions of streams.
    (
        "SELECT len FROM A UNION B UNION C",
        "SELECT len FROM A ∪ B ∪ C",
        "SELECT len FROM A union all B union all C",
        "SELECT len FROM (A UNION (B UNION C))",
        "SELECT len FROM ((A)∪(B)) UNION C AS x",
        "SELECT x.len FROM (A UNION B UNION C) x",
    ),
    # Joins.
    (
        "SELECT a.len FROM A a [RANGE 5 s], B b [RANGE 5 s] WHERE a.srcIP = b.srcIP",
        "SELECT a.len FROM A [RANGE 5 s] a JOIN B [RANGE 5 s] AS b ON a.srcIP = b.srcIP",
        "SELECT a.len FROM A a INNER JOIN B b ON b.srcIP = a.srcIP WITHIN 5 SECONDS",
        "SELECT a.len FROM A a CROSS JOIN B b WITHIN 5 SECONDS WHERE a.srcIP = b.srcIP",
        "SELECT a.len FROM A a, B b WHERE a.srcIP = b.srcIP AND "
        "a.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts + INTERVAL '5' SECOND",
        "SELECT a.len FROM A a, B b WHERE (a.ts >= b.ts - INTERVAL 5 SECONDS AND "
        "(a.srcIP = b.srcIP)) AND b.ts + INTERVAL 5 SECONDS >= a.ts",
        "SELECT a.len FROM A a JOIN B b ON a.ts - b.ts <= INTERVAL 5 SECONDS AND "
        "b.ts - a.ts <= INTERVAL 5 SECONDS AND a.srcIP = b.srcIP",
        "SELECT a.len FROM A a JOIN B b ON a.srcIP = b.srcIP AND TRUE AND "
        "b.ts < a.ts + INTERVAL '5.000001' SECONDS AND b.ts > a.ts - INTERVAL 5000001 us",
    ),
    # Expressions.
    (
        "SELECT len FROM M WHERE NOT (len = 1) AND len IS NOT NULL",
        "SELECT len FROM M WHERE NOT len = 1 AND NOT len IS NULL",
        "SELECT LEN FROM m WHERE (NOT len == 1) AND (len is not null)",
    ),
    # Subqueries.
    (
        "SELECT len FROM (SELECT len FROM M WHERE len > 1) AS x WHERE len < 5",
        "WITH x AS (SELECT len FROM M WHERE len > 1) SELECT len FROM x WHERE len < 5",
        "WITH y AS (SELECT len FROM M WHERE len > 1), x AS (SELECT * FROM y) "
        "SELECT x.* FROM x WHERE x.len < 5",
    ),
]


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0])
def test_spellings_of_the_same_query_give_the_same_plan(spellings: tuple[str, ...]) -> None:
    first, *others = map(plan_of, spellings)
    for text, other in zip(spellings[1:], others, strict=True):
        assert other == first, text


STREAMS = [
    (
        "TIMESTAMP BY ts SLACK 5 SECONDS",
        "timestamp by TS slack interval '5' second",
        "TIMESTAMP BY ts SLACK '5 seconds'",
    ),
    ("TIMESTAMP BY ts", "TIMESTAMP BY ts ORDERED", "TIMESTAMP BY ts SLACK 0 SECONDS"),
    ("", "LATENT"),
    (
        "TIMESTAMP BY ts SLACK 5 SECONDS SKEW 1 SECOND MAX AHEAD 1 MINUTE, INTERNAL",
        "SKEW 1 SECOND TIMESTAMP BY ts SLACK 5 SECONDS MAX AHEAD 1 MINUTE, INTERNAL",
        "SKEW 1 SECOND MAX AHEAD 1 MINUTE TIMESTAMP BY ts SLACK 5 SECONDS, INTERNAL",
    ),
]


@pytest.mark.parametrize("clauses", STREAMS, ids=lambda clauses: clauses[0])
def test_spellings_of_the_same_timing_give_the_same_stream(clauses: tuple[str, ...]) -> None:
    plans = []
    for clause in clauses:
        catalog = declared()
        execute(catalog, f"CREATE STREAM s ({PACKETS}) {clause}")
        plans.append(plan_of("SELECT * FROM s", catalog))
    assert all(plan == plans[0] for plan in plans)


@pytest.mark.parametrize(
    ("marks", "clause"),
    [
        ("WATERMARK FOR ts AS ts - INTERVAL '5' SECOND", "TIMESTAMP BY ts SLACK 5 SECONDS"),
        (
            "WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS, WATERMARK FOR len AS len - 10",
            "TIMESTAMP BY ts SLACK 5 SECONDS, len SLACK 10",
        ),
    ],
)
def test_a_watermark_is_a_slack(marks: str, clause: str) -> None:
    streams = []
    for text in (
        f"CREATE STREAM s ({PACKETS}, {marks})",
        f"CREATE STREAM s ({PACKETS}) {clause}",
    ):
        catalog = declared()
        execute(catalog, text)
        streams.append(catalog.get("s"))
    assert streams[0] == streams[1]
    assert streams[0] is not None
