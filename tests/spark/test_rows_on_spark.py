"""Queries over single rows on a real Spark: no state, and everything else as in this process."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.local.engine import LocalEngine
from penstock.runtime.counts import StreamCounts
from penstock.spark.engine import Engine
from tests.spark.packets import write_file

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) {} TIMESTAMP BY ts {}"
SELECT = "SELECT k, v * 2 AS w, ts FROM s WHERE v > 2"
TABLE = "CREATE TABLE t (k BIGINT, times BIGINT) FROM csv '{}'"
#: Of all files but one no row has a partner.
JOIN = "SELECT s.k, s.v * t.times AS w, s.ts FROM s JOIN t ON s.k = t.k"
FILES = 3


def file_of(number: int) -> pl.DataFrame:
    """Ten rows a second apart; in all files but the first one of the first second, and no time."""
    times: list[int | None] = [(10 * number + n) * 1_000_000 for n in range(10)]
    if number:
        times[0], times[5] = number, None
    return pl.DataFrame(
        {
            "k": [number] * 10,
            "v": list(range(10))[::-1],
            "ts": pl.Series(times).cast(pl.Datetime("us", "UTC")),
        }
    )


def write(folder: Path, numbers: range) -> str:
    """Files of a stream; gives its source."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        write_file(folder / f"{number}.parquet", file_of(number), number)
    return f"FROM parquet '{folder}' OPTIONS (maxFilesPerTrigger '1')"


def counted(counts: StreamCounts) -> tuple[int, ...]:
    return (counts.rows, counts.late, counts.passed, counts.malformed, counts.lateness)


def figures(engine: Engine | LocalEngine) -> dict[str, tuple[int, int]]:
    """By operator, the rows that it has read and put out."""
    operators = engine.status().operators
    return {each.name.split("-")[0]: (each.rows_in, each.rows_out) for each in operators}


@pytest.mark.parametrize(("late", "select"), [("drop", SELECT), ("keep", JOIN)], ids=str)
def test_results_and_counts_are_those_of_this_process_without_any_state(
    spark: SparkSession, tmp_path: Path, late: str, select: str
) -> None:
    source = write(tmp_path / "in", range(FILES))
    (tmp_path / "t.csv").write_text("k,times\n1,2\n")
    table = TABLE.format(tmp_path / "t.csv")
    local = LocalEngine()
    with Engine(spark) as engine:
        for each, where in ((local, ""), (engine, source)):
            stream = STREAM.format(where, "")
            each.sql(f"SET late = {late}; {stream}; {table}; CREATE QUERY q AS {select}")
        told = engine.query("q").explain()
        engine.start()
        engine.process_available()
        progress = engine.query("q").lastProgress
        for number in range(FILES):
            local.push("s", file_of(number))
        bounds = [each.status().streams["s"].bound for each in (engine, local)]
        engine.finish()
        local.finish()
        ours, theirs = engine.query("q").results(), local.query("q").results()
        assert counted(engine.counts("s")) == counted(local.counts("s"))
        assert figures(engine) == figures(local)
        assert bounds[0] == bounds[1]
    assert "no state: all queries look at single rows" in told
    assert progress is not None
    assert progress["stateOperators"] == []
    assert_frame_equal(ours.sort("k", "w"), theirs.sort("k", "w"))


def test_a_run_goes_on_with_what_earlier_ones_knew(spark: SparkSession, tmp_path: Path) -> None:
    found, late = [], []
    for number in range(FILES):
        source = write(tmp_path / "in", range(number, number + 1))
        with Engine(spark, checkpoint=tmp_path / "checkpoint") as engine:
            engine.sql(
                f"{STREAM.format(source, '')}; CREATE QUERY q INTO parquet '{tmp_path}/out' "
                f"AS {SELECT}"
            )
            engine.start()
            engine.process_available()
            found.append(engine.query("q").total_rows)
            late.append(engine.counts("s").total.late)
    assert late == [0, 1, 2]
    assert found == [7, 13, 19]
    [rows] = (tmp_path / "checkpoint").glob("*/rows")
    assert sorted(file.name for file in rows.iterdir()) == ["1.json", "2.json", "3.json"]
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").height == 19


def test_a_query_that_needs_state_runs_beside_a_checkpoint_without(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = write(tmp_path / "in", range(FILES))
    counts = "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"
    for queries in ([SELECT], [SELECT, counts]):
        with Engine(spark, checkpoint=tmp_path / "checkpoint") as engine:
            engine.sql(STREAM.format(source, ""))
            for number, query in enumerate(queries):
                engine.sql(f"CREATE QUERY q{number} INTO csv '{tmp_path}/{number}' AS {query}")
            engine.start()
            engine.finish()
    assert pl.read_csv(tmp_path / "0" / "*.csv").height == 19
    assert pl.read_csv(tmp_path / "1" / "*.csv").sort("k")["n"].to_list() == [10, 8, 8]


def test_a_row_is_put_out_once_although_its_sink_has_failed(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, out = write(tmp_path / "in", range(1)), tmp_path / "out"
    script = f"{STREAM.format(source, '')}; CREATE QUERY q INTO json '{out}' AS {SELECT}"
    with Engine(spark) as engine:
        engine.sql(script)
        engine.start()
        engine.process_available()
        (out / "part-00000001.json").mkdir()  # where the next batch would be written
        (out / "part-00000001.json" / "x").touch()
        write(tmp_path / "in", range(1, FILES))
        with pytest.raises(PenstockError, match="cannot write results"):
            engine.process_available()
    (out / "part-00000001.json" / "x").unlink()
    (out / "part-00000001.json").rmdir()
    with Engine(spark) as engine:
        engine.sql(script)
        engine.start()
        engine.process_available()
        total = engine.counts("s").total
    assert (total.rows, total.late, total.malformed) == (28, 2, 2)
    found = pl.concat(pl.read_ndjson(file) for file in sorted(out.glob("part-*.json")))
    first = range(6, 20, 2)
    assert sorted(found["w"].to_list()) == sorted([*first, *2 * [w for w in first if w != 8]])
