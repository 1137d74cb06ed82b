"""What explain says of Spark: by what streams are spread, and whether there is state."""

from __future__ import annotations

from penstock.spark.engine import Engine

PACKETS = """
CREATE STREAM packets (src STRING, dst STRING, len INT, ts TIMESTAMP)
  FROM {format} 'x' TIMESTAMP BY ts {late};
"""
TUMBLING = "SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY src"


def pipelines(*queries: str, format: str = "parquet", late: str = "") -> str:
    """What is said of the first query's pipeline; nothing is started."""
    engine = Engine()
    engine.sql(PACKETS.format(format=format, late=late))
    first, *_ = [engine.sql(query) for query in queries]
    return str(first.explain()).split("\n\n")[-1]


def test_rows_that_become_fewer_are_aggregated_where_they_are_read() -> None:
    said = pipelines(TUMBLING)
    assert said.startswith("Pipeline of query_1\n  packets: partitioned by src; ")
    assert "packets: partitioned by src; rows are aggregated where they are read" in said


def test_queries_that_share_are_spread_by_the_keys_they_have_in_common() -> None:
    both = TUMBLING.replace("GROUP BY src", "GROUP BY src, dst")
    said = pipelines(TUMBLING, both)
    assert said.startswith("Pipeline of query_1, query_2\n")
    assert "packets: partitioned by src" in said


def test_rows_without_a_key_in_common_meet_in_one_group() -> None:
    assert "packets: not partitioned" in pipelines(
        "SELECT count(*) AS n FROM packets [RANGE 2 MINUTES SLIDE 1 MINUTE]"
    )


def test_rows_that_no_operator_brings_together_need_no_partitioning_and_no_state() -> None:
    said = pipelines("SELECT src, len FROM packets WHERE len > 10")
    assert said.endswith(
        "  no state: all queries look at single rows, and tasks that read them compute the results"
    )
    said = pipelines("SELECT src, ts FROM packets ORDER BY ts", late="SLACK 1 SECOND")
    assert "packets: no partitioning needed\n  state: rows of `packets` are kept" in said
