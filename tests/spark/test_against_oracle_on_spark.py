"""Queries on Spark against the oracle and DuckDB: those of the query files, and random ones.

Starting a Spark query takes seconds, so everything that can goes into one: the streams of all query
files are read by a single pipeline, each under a name of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from pyspark.sql import SparkSession

from penstock.kernel.types import polars_type
from penstock.local.engine import LocalEngine
from penstock.model.streams import Origin, Stream, TimestampKind
from penstock.model.timestamps import END
from penstock.model.types import Type
from penstock.optimizer.optimize import optimize
from penstock.optimizer.physical import Program
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan import nodes
from penstock.plan.graph import rewrite, walk
from penstock.spark.control.attempts import Attempts
from penstock.spark.delivery.delivery import RESULT, OutputRows
from penstock.spark.engine import Engine
from penstock.spark.pipeline import Pipeline
from penstock.spark.placement.partitioning import partitioning
from penstock.spark.sources.sources import open_stream
from penstock.spark.state.checkpoint import Checkpoint
from tests.engine.draw import Seeded
from tests.engine.duckdb_plans import duckdb_answer
from tests.engine.query_files import FILES, in_ticks, load
from tests.engine.random_queries import queries
from tests.engine.random_streams import arrivals, declarations, numbered, pushed
from tests.engine.running import rows_of
from tests.spark.packets import write_file
from tests.sql.declared import plan_of
from tests.sql.specification import QUERIES

Rows = Sequence[Mapping[str, Any]]


def write_stream(folder: Path, stream: Stream, rows: Rows, files: int) -> Stream:
    """The rows as files, one a trigger, and the stream that reads them."""
    folder.mkdir(parents=True)
    schema = {column.name: polars_type(column.type) for column in stream.columns}
    frame = pl.DataFrame(
        [{name: row[name] for name in schema} for row in rows], schema=schema, orient="row"
    ).with_columns(
        pl.col(c.name).cast(pl.Datetime("us", "UTC"))
        for c in stream.columns
        if c.type is Type.TIMESTAMP
    )
    step = max(1, -(-frame.height // files))
    for number in range(files):
        write_file(folder / f"{number}.parquet", frame[number * step : (number + 1) * step], number)
    options = (("maxFilesPerTrigger", "1"),)
    return replace(stream, origin=Origin("parquet", str(folder), options))


def moved(node: nodes.Node, streams: Mapping[str, Stream]) -> nodes.Node:
    """The plan over other streams."""
    return rewrite(
        node, lambda n: nodes.Source(streams[n.stream.name]) if isinstance(n, nodes.Source) else n
    )


def files_with_streams() -> Iterator[tuple[str, LocalEngine, dict[str, list[dict[str, Any]]]]]:
    for file in FILES:
        engine, rows = load(yaml.safe_load(file.read_text()))
        kinds = {entry.stream.kind for entry in engine.catalog.streams}
        if TimestampKind.INTERNAL not in kinds:  # stamped with the time of day: nothing to compare
            yield file.stem, engine, rows


def test_the_query_files_have_the_oracles_answers(spark: SparkSession, tmp_path: Path) -> None:
    plans: dict[str, nodes.Node] = {}
    inputs: dict[str, list[dict[str, Any]]] = {}
    streams: dict[str, Stream] = {}
    for name, engine, rows in files_with_streams():
        mine = {}
        for stream in (entry.stream for entry in engine.catalog.streams):
            full = f"{name}_{stream.name}"
            arrived = [{k: in_ticks(v) for k, v in row.items()} for row in rows[stream.name]]
            inputs[full] = numbered(arrived)
            renamed = replace(stream, name=full)
            mine[stream.name] = write_stream(tmp_path / "in" / full, renamed, arrived, 1)
        streams |= {stream.name: stream for stream in mine.values()}
        for query in engine.queries:
            plans[f"{name}_{query.name}"] = moved(query.plan, mine)
    program = optimize(plans)
    answers = run(spark, program, tmp_path / "checkpoint")
    assert len(plans) >= 20
    for name, plan in plans.items():
        ours = answers.get(name, [])
        assert same_rows(ours, evaluate(plan, inputs)), f"{name}: not the oracle's answer"
        assert same_rows(ours, duckdb_answer(plan, inputs)), f"{name}: not DuckDB's answer"


def test_the_queries_of_the_specification_have_the_oracles_answers(
    spark: SparkSession, tmp_path: Path
) -> None:
    plans = {name: plan_of(case.sql) for name, case in QUERIES.items()}
    chance = random.Random(5)
    inputs: dict[str, list[dict[str, Any]]] = {}
    streams: dict[str, Stream] = {}
    for plan in plans.values():
        for node in walk(plan):
            if isinstance(node, nodes.Source) and node.stream.name not in streams:
                arrived = packets(chance, 40)
                inputs[node.stream.name] = numbered(arrived)
                folder = tmp_path / "in" / node.stream.name
                streams[node.stream.name] = write_stream(folder, node.stream, arrived, 1)
    over_files = {name: moved(plan, streams) for name, plan in plans.items()}
    answers = run(spark, optimize(over_files), tmp_path / "checkpoint")
    for name, plan in plans.items():
        expected = evaluate(plan, inputs)
        assert same_rows(answers.get(name, []), expected), f"{name}: not the oracle's answer"
    assert sum(map(bool, answers.values())) >= 20


def packets(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Packets in order of time, between few hosts, so that joins find partners."""
    times = sorted(chance.randrange(20 * 60) * 1_000_000 for _ in range(count))
    hosts = ("202.101.0.0", "202.101.0.1")
    return [
        {
            "srcIP": chance.choice(hosts),
            "srcPort": chance.choice((80, 81)),
            "destIP": chance.choice(hosts),
            "destPort": chance.choice((80, 81)),
            "len": chance.randrange(100),
            "length": chance.randrange(100),
            "ts": 1_700_000_400_000_000 + time,
        }
        for time in times
    ]


def run(spark: SparkSession, program: Program, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What every query of a program has put out once all streams have ended."""
    batches: dict[int, Sequence[OutputRows]] = {}
    checkpoint = Checkpoint(folder, program)
    frames = {stream.name: open_stream(spark, stream) for stream in program.streams}
    keys = partitioning(*program.queries.values())
    pipeline = Pipeline(
        spark,
        program,
        keys,
        frames,
        checkpoint,
        batches.__setitem__,
        lambda report: None,
        lambda batch: {},
    )
    attempts = Attempts("test", lambda: pipeline.start("0 seconds"))
    attempts.begin()
    try:
        attempts.process_available()
        pipeline.control.send({stream.name: END for stream in program.streams})
        attempts.process_available()
    finally:
        attempts.settle()
        attempts.query.stop()
        checkpoint.release()
    found: dict[str, list[dict[str, Any]]] = {}
    for lines in batches.values():
        for _, name, kind, rows in lines:
            assert kind == RESULT, f"{name}: {kind} rows"
            found.setdefault(name, []).extend(rows.to_dicts())
    return found


def check_random_queries(spark: SparkSession, folder: Path, seed: int, count: int) -> None:
    """Random queries over the same three random streams."""
    draw = Seeded(seed)
    declared = declarations(draw)
    events = arrivals(draw, declared, blocks=12, rows=20)
    inputs = pushed(declared, events)
    local = LocalEngine()
    local.sql("; ".join(s.sql for s in declared))
    engine = Engine(spark)
    for each in declared:
        stream = local.declared_stream(each.name).stream
        engine.catalog.add_stream(
            write_stream(folder / each.name, stream, inputs[each.name], files=2)
        )
    standing = [engine.sql(queries(draw, declared[0].time)) for _ in range(count)]
    engine.start()
    engine.finish()
    for query in standing:
        expected = evaluate(query.plan, inputs)
        assert same_rows(rows_of(query.to_polars()), expected), query.explain()


def test_random_queries_have_the_oracles_answers(spark: SparkSession, tmp_path: Path) -> None:
    check_random_queries(spark, tmp_path, seed=1, count=12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_random_queries_have_the_oracles_answers(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_random_queries(spark, tmp_path, seed, count=40)
