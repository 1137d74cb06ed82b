"""Queries that run as Spark SQL alone: the kernel's answers, and Penstock's bounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.catalog.catalog import Catalog
from penstock.catalog.settings import Settings
from penstock.errors import NotExecutable
from penstock.kernel.rejected import Reason
from penstock.kernel.types import polars_type
from penstock.local.engine import LocalEngine
from penstock.model.assignments import Value
from penstock.model.expressions import Expression, Literal, Named, Ref
from penstock.model.timestamps import to_ticks
from penstock.model.types import Type
from penstock.optimizer.options import Options
from penstock.oracle.evaluate import close
from penstock.oracle.expressions import value_of
from penstock.plan.nodes import Project
from penstock.spark.engine import Engine
from penstock.spark.native import expressions
from penstock.spark.native.choice import choose
from penstock.spark.native.folding import source_of
from penstock.spark.native.lowering import aggregate_of, objection
from tests.kernel import random_expressions
from tests.spark.packets import (
    by_local_engine,
    same,
    script,
    write_file,
    write_packets,
)
from tests.sql.declared import execute, plan_of

QUERIES = {
    "subset": "SELECT srcIP, destIP, max(len) AS m, min(len + 0.5) AS l FROM packets "
    "[RANGE 4 SECONDS] WHERE srcPort <> 80 OR len > 1000 GROUP BY srcIP, destIP",
    "all": "SELECT count(*) AS n, stddev(len) AS s, avg(len) AS a, sum(len) * 2 AS b "
    "FROM packets [RANGE 2 SECONDS] HAVING count(*) > 20",
    "twice": "SELECT srcIP, count(*) AS n FROM packets UNION packets [RANGE 10 SECONDS] "
    "GROUP BY srcIP",
    "renamed": "SELECT who, count(*) AS n FROM (SELECT srcIP AS who, ts AS at FROM packets "
    "WHERE len > 700) [RANGE 3 SECONDS, SLIDE 3 SECONDS, WA at] GROUP BY who",
    "sliding": "SELECT srcIP, count(*) AS n, sum(len) AS s, avg(len) AS a, min(len) AS l, "
    "max(srcPort) AS h FROM packets [RANGE 5 SECONDS, SLIDE 2 SECONDS] WHERE len > 100 "
    "GROUP BY srcIP",
    "overlapping": "SELECT count(*) AS n FROM packets UNION packets "
    "[RANGE 3 SECONDS, SLIDE 500 MILLISECONDS]",
    "distinct": "SELECT srcIP, approx_count_distinct(len) AS d FROM packets "
    "[RANGE 6 SECONDS, SLIDE 3 SECONDS] GROUP BY srcIP",
    "few": "SELECT srcIP, approx_count_distinct(CASE WHEN len > 900 THEN 'long' WHEN len > 500 "
    "THEN '' END) AS d, variance(len) AS v FROM packets [RANGE 5 SECONDS] GROUP BY srcIP",
}
#: By another sketch than the kernel's: about the same.
SKETCHED = {"distinct"}
#: Each is a query of Spark's own, which takes seconds. What these have, others have as well: a
#: union is `overlapping`, the rest is folded where it is read (below).
COVERED = {"subset", "all", "twice", "sliding", "renamed", "few"}


@pytest.mark.parametrize(
    "names",
    [QUERIES.keys() - COVERED, pytest.param(COVERED, marks=pytest.mark.slow)],
    ids=["some", "others"],
)
def test_native_queries_give_the_local_engines_answers(
    spark: SparkSession, tmp_path: Path, names: set[str]
) -> None:
    write_packets(tmp_path / "in", range(2), rows=1500)
    text = script(tmp_path / "in", {name: QUERIES[name] for name in sorted(names)})
    engine = Engine(spark)
    engine.sql("SET lowering = native;" + text)
    engine.start()
    engine.finish()
    expected = by_local_engine(text)
    for name in names - SKETCHED:
        assert same(engine.query(name).results(), expected.query(name).results()), name
    for name in names & SKETCHED:
        answers = (each.query(name).results() for each in (engine, expected))
        ours, theirs = (answer.sort("window_end", "srcIP") for answer in answers)
        assert ours.drop("d").equals(theirs.drop("d"))
        assert ((ours["d"] - theirs["d"]).abs() <= 1 + 0.05 * theirs["d"]).all()
    assert engine.counts("packets").rows == 3000


FOLDED = {
    "tumbling": "SELECT k, t, count(*) AS n, count(v) AS c, count(1) AS o, sum(v) AS s, "
    "sum(i) AS i, avg(v) AS a, min(v) AS l, max(v) AS h, min(t) AS b, max(ts) AS w, "
    "sum(i * 2 + 1) AS d, max(7) AS m, sum(2) AS e, sum(i) * 2 AS f FROM s [RANGE 10 SECONDS] "
    "GROUP BY k, t",
    "sliding": "SELECT k, count(*) AS n, count(v) AS c, sum(v) AS s, sum(i) AS i, avg(i) AS a, "
    "min(i) AS l, max(v) AS h FROM s [RANGE 10 SECONDS, SLIDE 4 SECONDS] "
    "WHERE i IS NULL OR i > 3 GROUP BY k HAVING count(*) > 8",
    "nobody": "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] WHERE i > 100",
    "times": "SELECT ts, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY ts",
}


@pytest.mark.parametrize(
    "names",
    [{"tumbling", "sliding"}, pytest.param({"nobody", "times"}, marks=pytest.mark.slow)],
    ids=["some", "others"],
)
def test_folded_rows_give_the_local_engines_answers(
    spark: SparkSession, tmp_path: Path, names: set[str]
) -> None:
    draw = Random(5)
    for number in range(3):
        seconds = sorted(draw.choices(range(number * 20, number * 20 + 25), k=200))
        rows = pl.DataFrame(
            {
                "k": draw.choices([0.0, -0.0, 1.5, float("nan"), None], k=200),
                "t": draw.choices(["a", "b", None], k=200),
                "i": draw.choices([None, *range(8)], k=200),
                "v": draw.choices([None, float("nan"), -1.0, 0.5, 7.25], k=200),
                "ts": [None if s % 17 == 0 else s * 1_000_000 for s in seconds],
            },
            schema={
                "k": pl.Float64,
                "t": pl.String,
                "i": pl.Int32,
                "v": pl.Float64,
                "ts": pl.Datetime("us", "UTC"),
            },
        )
        write_file(tmp_path / f"{number}.parquet", rows, number)
    text = (
        "CREATE STREAM s (k DOUBLE, t STRING, i INT, v DOUBLE, ts TIMESTAMP) "
        f"FROM parquet '{tmp_path}' OPTIONS (maxFilesPerTrigger '2') "
        "TIMESTAMP BY ts SLACK 30 SECONDS;"
    ) + "".join(f"CREATE QUERY {name} AS {FOLDED[name]};" for name in sorted(names))
    engine = Engine(spark)
    engine.sql("SET lowering = native;" + text)
    engine.start()
    assert all(source_of(aggregate_of(query.plan)) is not None for query in engine.catalog.queries)
    engine.finish()
    expected = by_local_engine(text)
    for name in names:
        assert same(engine.query(name).results(), expected.query(name).results()), name
    counts, wanted = engine.counts("s"), expected.counts("s")
    assert (counts.rows, counts.malformed) == (wanted.rows, wanted.malformed)


def test_a_native_query_continues_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(2), rows=1000)
    text = script(tmp_path / "in", {"subset": QUERIES["subset"]}, tmp_path / "out")
    first = Engine(spark)
    first.sql(text)
    first.start()
    first.process_available()
    first.stop()
    write_packets(tmp_path / "in", range(2, 4), rows=1000)
    second = Engine(spark)
    second.sql(text)
    second.start()
    second.finish()
    answer = pl.read_parquet(tmp_path / "out" / "subset" / "*.parquet")
    expected = by_local_engine(script(tmp_path / "in", {"subset": QUERIES["subset"]}))
    assert same(answer, expected.query("subset").results())


def test_rows_that_do_not_go_in_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    def row(second: int | None) -> dict[str, Any]:
        at = None if second is None else datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)
        return {"k": 1, "ts": at}

    files: list[list[int | None]] = [[1, 2, None], [30], [31], [32, 3]]
    for number, seconds in enumerate(files):
        rows = pl.DataFrame([row(s) for s in seconds])
        if number == 3:  # what is no number does not fit
            rows = pl.concat([rows.cast({"k": pl.String}), pl.DataFrame([row(33) | {"k": "x"}])])
        write_file(tmp_path / f"{number}.parquet", rows, number)
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path}' "
        "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 5 SECONDS;"
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    engine.start()
    engine.finish()
    assert sorted(engine.query("q").results()["n"]) == [2, 3]
    counts = engine.counts("s")
    assert (counts.rows, counts.late, counts.malformed) == (5, 1, 2)


def test_both_ends_of_time_and_late_rows_are_as_in_the_kernel(
    spark: SparkSession, tmp_path: Path
) -> None:
    begin = datetime(1960, 1, 1, tzinfo=timezone.utc)
    end = datetime(9999, 12, 31, 12, 0, 1, tzinfo=timezone.utc)

    def after(seconds: float) -> datetime:
        return begin + timedelta(seconds=seconds)

    # The bound after 26.0005 is 21.0005: a microsecond less is late, though its window is open.
    files = [[after(1), after(26.0005)], [after(21.000499), after(21.0005)], [end]]
    for number, times in enumerate(files):
        rows = pl.DataFrame({"k": [7] * len(times), "ts": times})
        write_file(tmp_path / f"{number}.parquet", rows, number)
    expected = [(1, begin), (2, after(20)), (1, datetime(9999, 12, 31, 12))]
    # Spark SQL alone takes rows of any time.
    for lowering, far in (("native", ""), ("auto", "SET max_jump = unlimited;")):
        engine = Engine(spark)
        engine.sql(
            f"SET lowering = {lowering};{far}"
            f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path}' "
            "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 5 SECONDS;"
            "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS]"
        )
        engine.start()
        assert engine.query("q").explain().count("native:") == (lowering == "native")
        engine.finish()
        answer = engine.query("q").results().select("n", "window_start").rows()
        assert answer == [(n, start.replace(tzinfo=None)) for n, start in expected], lowering
        counts = engine.counts("s")
        assert (counts.rows, counts.late, counts.malformed) == (4, 1, 0)
        [late] = engine.rejected_rows
        assert late.reason is Reason.LATE
        assert late.rows.get_column("ts").to_list() == [to_ticks(after(21.000499))]
        progress = engine.query("q").lastProgress
        assert progress is not None and progress["penstock"]["rows"] == {"s": 0}


def test_native_where_spark_reads_the_rows_has_both_ends_of_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = pl.DataFrame(
        {"k": [1, 3, 5], "ts": [datetime(1960, 1, 1, 0, 0, s) for s in (1, 2, 3)]}
    ).vstack(pl.DataFrame({"k": [9], "ts": [datetime(9999, 12, 31, 12, 0, 1)]}))
    rows = rows.with_columns(pl.col("ts").dt.replace_time_zone("UTC"))
    write_file(tmp_path / "0.parquet", rows, 0)
    engine = Engine(spark)
    engine.sql(
        "SET lowering = native;"
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path}' TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT stddev(k) AS d, max(ts) AS m FROM s UNION s [RANGE 10 SECONDS] "
        "WHERE k <> 3"
    )
    engine.start()
    engine.finish()
    answer = engine.query("q").results().select("d", "m", "window_start").rows()
    first = (pytest.approx(2.309401), datetime(1960, 1, 1, 0, 0, 3), datetime(1960, 1, 1))
    assert answer == [first, (0.0, datetime(9999, 12, 31, 12, 0, 1), datetime(9999, 12, 31, 12))]


def plan(sql: str, stream: str = "TIMESTAMP BY ts SLACK 5 SECONDS") -> Any:
    engine = LocalEngine()
    engine.sql(
        f"CREATE STREAM s (k BIGINT, t STRING, ts TIMESTAMP) {stream}; CREATE QUERY q AS {sql}"
    )
    return engine.catalog.queries[0].plan


@pytest.mark.parametrize(
    ("sql", "stream", "reason"),
    [
        ("SELECT k FROM s", "", "one window aggregate"),
        ("SELECT count(*) AS n FROM s [RANGE ALL, SLIDE 5 SECONDS]", "", "copy or store"),
        (
            "SELECT count(*) AS n FROM s [RANGE 5 SECONDS, SLIDE 9 SECONDS]",
            "",
            "has gaps between windows",
        ),
        (
            "SELECT stddev(k) AS n FROM s [RANGE 5 SECONDS, SLIDE 1 SECOND]",
            "",
            "of sliding windows",
        ),
        ("SELECT count(*) AS n FROM s [RANGE 10 ROWS]", "", "copy or store"),
        (
            "SELECT count(*) AS n FROM s [RANGE 10 MICROSECONDS]",
            "",
            "finer than Spark's milliseconds",
        ),
        ("SELECT count(*) AS n FROM s [RANGE 10 SECONDS] WHERE t LIKE 'a%'", "", "`like`"),
        ("SELECT count(*) AS n FROM s [RANGE 10 SECONDS] WHERE row_num > 3", "", "numbered"),
        (
            "SELECT count(*) AS n FROM s [RANGE 10 SECONDS]",
            "TIMESTAMP BY ts SLACK 5 MICROSECONDS",
            "number of milliseconds",
        ),
        (
            "SELECT count(*) AS n FROM s [RANGE 10, SLIDE 10, WA k]",
            "TIMESTAMP BY k",
            "not a TIMESTAMP",
        ),
    ],
)
def test_what_spark_cannot_do_by_itself_has_a_reason(sql: str, stream: str, reason: str) -> None:
    found = objection(plan(sql, stream or "TIMESTAMP BY ts SLACK 5 SECONDS"))
    assert found is not None and reason in found


def test_queries_that_share_are_not_native() -> None:
    files = "FROM parquet 'x' TIMESTAMP BY ts SLACK 5 SECONDS"
    one = plan("SELECT count(*) AS n FROM s [RANGE 10 SECONDS]", files)
    assert choose({"a": one, "b": one}, Options(lowering="native")).lowering == "kernel"
    assert choose({"a": one}, Options(lowering="kernel")).lowering == "kernel"


def test_queries_are_native_only_where_that_is_wanted() -> None:
    for sql, stream in (
        ("SELECT count(*) AS n FROM s [RANGE 10 SECONDS]", "FROM rate TIMESTAMP BY ts"),
        ("SELECT count(*) AS n FROM s [RANGE 10 SECONDS]", "FROM parquet 'x' TIMESTAMP BY ts"),
        ("SELECT count(*) AS n FROM s [RANGE 10 SECONDS, SLIDE 5 SECONDS]", "TIMESTAMP BY ts"),
    ):
        assert choose({"a": plan(sql, stream)}, Options(lowering="auto")).lowering == "kernel"
        assert choose({"a": plan(sql, stream)}, Options(lowering="native")).lowering == "native"


def test_native_is_refused_where_it_is_not_possible() -> None:
    landmark = plan("SELECT count(*) AS n FROM s [RANGE ALL, SLIDE 5 SECONDS]")
    with pytest.raises(NotExecutable, match="cannot run as Spark SQL alone"):
        choose({"a": landmark}, Options(lowering="native"))


@pytest.mark.parametrize(
    ("name", "value"), [("strategy", "bfs"), ("rows_per_step", 7), ("aggregation", "paned")]
)
def test_a_setting_of_the_kernel_is_honoured_there_and_refused_elsewhere(
    name: str, value: Value
) -> None:
    one = {
        "a": plan(
            "SELECT count(*) AS n FROM s [RANGE 10 SECONDS]", "FROM parquet 'x' TIMESTAMP BY ts"
        )
    }
    options = Settings().with_value(name, value).options
    assert choose(one, options).lowering == "kernel"
    assert f"`SET {name}` needs the kernel" in choose(one, options).reason
    with pytest.raises(NotExecutable, match=f"`SET {name}` needs the kernel"):
        choose(one, replace(options, lowering="native"))
    merging = Options(lowering="native", union="merge")
    assert choose(one, merging).lowering == "native"  # it has no union


# -- expressions ---------------------------------------------------------------------------------

#: Columns of rows that native expressions can read.
LEFT_OUT = {Type.INTERVAL, Type.BINARY, Type.DATE, Type.TIMESTAMP_NTZ, *random_expressions.DECIMALS}
READ = [t for t in random_expressions.TYPES if t not in LEFT_OUT]
COLUMNS = ", ".join(f"`{t.name.lower()}` {t.name}" for t in READ)


def listed() -> tuple[list[Expression], list[dict[str, Any]]]:
    """Expressions that between them call every function with every type, and rows to read."""
    read = json.loads((Path(__file__).parent / "native" / "expressions.json").read_text())
    catalog = Catalog()
    execute(catalog, f"CREATE STREAM s ({COLUMNS}, at TIMESTAMP) TIMESTAMP BY at ORDERED")
    projects = [plan_of(f"SELECT {text} AS x FROM s", catalog) for text in read["expressions"]]
    return [p.columns[0].value for p in projects if isinstance(p, Project)], read["rows"]


def drawn() -> tuple[list[Expression], list[dict[str, Any]]]:
    """Random ones."""
    found: list[Expression] = []
    rows: list[dict[str, Any]] = []

    @settings(
        max_examples=1500,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(READ).flatmap(random_expressions.expressions), random_expressions.rows())
    def draw(expression: Expression, some: list[dict[str, Any]]) -> None:
        if expressions.objection(expression) is None and not isinstance(expression, Ref | Literal):
            found.append(expression)
            rows.extend(some)

    draw()
    return list(dict.fromkeys(found)), rows[:40]


@pytest.mark.parametrize("source", [listed, pytest.param(drawn, marks=pytest.mark.slow)])
def test_spark_computes_expressions_as_the_definition_does(
    spark: SparkSession, source: Callable[[], tuple[list[Expression], list[dict[str, Any]]]]
) -> None:
    found, rows = source()
    assert len(found) >= 80
    frame = pl.DataFrame(
        {t.name.lower(): [row[t.name.lower()] for row in rows] for t in READ},
        schema={t.name.lower(): polars_type(t) for t in READ},
    ).with_columns(pl.col("timestamp").cast(pl.Datetime("us", "UTC")))
    spark_frame = spark.createDataFrame(frame.to_arrow())
    for first in range(0, len(found), 40):
        part = found[first : first + 40]
        columns = [expressions.column(Named(f"c{n}", e)) for n, e in enumerate(part)]
        shown = [
            F.unix_micros(c) if e.type is Type.TIMESTAMP else c
            for e, c in zip(part, columns, strict=True)
        ]
        answers = [list(row) for row in spark_frame.select(*shown).collect()]
        for number, expression in enumerate(part):
            for row, answer in zip(rows, answers, strict=True):
                expected = value_of(expression, row)
                assert close(answer[number], expected, 1e-6), (str(expression), row)
