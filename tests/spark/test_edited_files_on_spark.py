"""`penstock run` of a file that was edited, over the checkpoint that it was run with before."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.cli.run import run_on_spark
from penstock.errors import HostError
from tests.spark.packets import by_local_engine, same, script, write_packets

COUNTS = "SELECT srcIP, count(*) AS n FROM packets [RANGE 4 SECONDS] GROUP BY srcIP"
SUMS = "SELECT srcIP, sum(len) AS s FROM packets [RANGE 4 SECONDS] GROUP BY srcIP"


def test_it_says_what_changes_and_asks_before_state_is_forgotten(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(queries: dict[str, str], *, dry_run: bool = False, yes: bool = False) -> str:
        text = script(tmp_path / "in", queries, tmp_path / "out")
        run_on_spark(text, None, str(tmp_path / "kept"), None, True, dry_run=dry_run, yes=yes)
        return capsys.readouterr().err

    write_packets(tmp_path / "in", range(1), rows=4000)
    assert "no checkpoint found: all queries start from scratch" in run({"a": COUNTS}, dry_run=True)
    assert not (tmp_path / "kept").exists()
    assert "added" not in run({"a": COUNTS, "b": SUMS, "c": COUNTS})
    edited = {"a": COUNTS, "b": SUMS.replace("4 SECONDS", "2 SECONDS"), "d": SUMS}
    said = run(edited, dry_run=True)
    # What `c` counts is counted for `a` as well; `d` is new, and begins without rows of `b`.
    lines = ["kept             a", "added            d", "changed          b", "dropped          c"]
    assert said.splitlines()[1:] == [f"  {line}" for line in (*lines, "state discarded  b")]
    with pytest.raises(HostError, match=r"would discard the saved state of b\n"):
        run(edited)
    capsys.readouterr()
    write_packets(tmp_path / "in", range(1, 2), rows=4000)
    assert "dropped          c" in run(edited, yes=True)
    # Nothing has changed since, and nothing is asked.
    assert "kept" not in run(edited).splitlines()[0]
    assert pl.read_parquet(tmp_path / "out" / "a" / "*.parquet").height > 0


def test_the_report_is_what_is_done(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed HAVING keeps its state, and a query that gets a pipeline of its own is named."""

    def run(queries: dict[str, str], *, keep_open: bool = True) -> str:
        text = script(tmp_path / "in", queries, tmp_path / "out")
        run_on_spark(text, None, None, None, keep_open)
        return capsys.readouterr().err

    write_packets(tmp_path / "in", range(1), rows=4000)
    run({"a": f"{COUNTS} HAVING n > 0"})
    write_packets(tmp_path / "in", range(1, 2), rows=4000)
    apart = "SELECT destIP, count(*) AS n FROM packets [RANGE 4 SECONDS] GROUP BY destIP"
    said = run({"a": f"{COUNTS} HAVING n > 1 OR n = 1", "apart": apart}, keep_open=False)
    assert said.startswith(f"{tmp_path}/out/a/_checkpoint:\n  changed  a\n")
    assert "added  apart\n" in said and "discard" not in said
    expected = by_local_engine(script(tmp_path / "in", {"a": COUNTS})).query("a").results()
    assert same(pl.read_parquet(tmp_path / "out" / "a" / "*.parquet"), expected)


def test_queries_may_only_be_added_without_a_word(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(1), rows=200)
    for queries in ({"a": COUNTS}, {"a": COUNTS, "b": SUMS}):
        text = script(tmp_path / "in", queries, tmp_path / "out")
        engine, _ = run_on_spark(text, None, None, None, True)
        assert {query.name for query in engine.queries} == queries.keys()


def test_a_stream_that_is_declared_otherwise_is_refused_with_the_way_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_packets(tmp_path / "in", range(1), rows=200)
    text = script(tmp_path / "in", {"a": COUNTS}, tmp_path / "out")
    run_on_spark(text, None, None, None, True)
    other = text.replace("SLACK 3 SECONDS", "SLACK 1 MINUTE")
    assert other != text
    with pytest.raises(HostError, match="stream packets changed") as caught:
        run_on_spark(other, None, None, None, True, yes=True)
    assert "start over with another checkpoint" in str(caught.value)
