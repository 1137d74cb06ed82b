"""What the groups of a pipeline say of its joins: the same as one process, over all of them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from penstock.checkpoint.layout import FORMAT, Layout
from penstock.local.engine import LocalEngine
from penstock.optimizer.adaptation.plan_memory import PlanMemory
from penstock.optimizer.join_figures import GUESSED, REMEMBERED, join_figures
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.joins.graph_of import graph_of
from penstock.optimizer.joins.join_tree import left_deep
from penstock.optimizer.joins.pareto import Limits
from penstock.optimizer.joins.shape_of import join_key
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan.nodes import Node
from penstock.spark.engine import Engine
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.measured import Measured
from penstock.spark.placement.partitioning import partitioning
from penstock.spark.state.remembered import remembered, remembered_plans
from tests.runtime.test_measuring import CHAIN, STREAMS, R, engine, join_of, rows, run

#: Rows of all groups meet by one key.
KEYED = f"""
    SELECT a.t AS at, b.t AS bt, c.t AS ct FROM a {R}, b {R}, c {R}
    WHERE a.k = b.k AND b.k = c.k AND a.v < c.v"""


def in_groups(
    found: LocalEngine,
    streams: dict[str, pl.DataFrame],
    place: Path,
    seconds: int = 10,
    workers: int = 1,
    begins: int = 0,
) -> Measured:
    """What a pipeline of four groups measures of the same rows, a batch for so many seconds.

    Groups go from worker to worker, and batches before the first of a driver are not heard of.
    """
    plan = found.catalog.entry("query_1").plan
    queries: dict[str, Node] = {"query_1": plan}
    program = optimize(queries, Options())
    pipeline = FakePipeline(Exchange(program, partitioning(plan), range(4)))
    there, measured = [Worker(None) for _ in range(workers)], Measured(place)
    for batch in range(110 // seconds):
        now = (pl.col("ts") // (seconds * 1_000_000)) == batch
        tasks = {name: [[each.filter(now).to_dicts()]] for name, each in streams.items()}
        turned = there[batch // 2 % workers :] + there[: batch // 2 % workers]
        at = dict(zip(range(4), turned * 4, strict=False))
        pipeline.process(MicroBatch(tasks, {"a": 0}), at.__getitem__)
        if batch < begins:
            continue
        said = [output.report().joins for output in pipeline.outputs[-1].values()]
        assert len(json.dumps(said)) < 4 * 30_000
        measured.note(batch, said, program)
        assert not measured.note(batch, said, program)  # a batch that is repeated
    return measured


def streams() -> dict[str, pl.DataFrame]:
    return {n: rows(i, 1000 * i, 40 * i, 110) for i, n in enumerate("abc", 1)}


@pytest.mark.parametrize("query", [CHAIN, KEYED])
@pytest.mark.parametrize(
    ("seconds", "workers", "begins"), [(10, 1, 0), (10, 3, 0), (5, 3, 0), (5, 2, 5)]
)
def test_groups_add_up_to_what_one_process_measures(
    query: str, seconds: int, workers: int, begins: int, tmp_path: Path
) -> None:
    found, brought = engine(query), streams()
    run(found, brought, ends=False)
    here = found._statistics.joins
    there = in_groups(found, brought, tmp_path, seconds, workers, begins).joins
    assert there.inputs.keys() == here.inputs.keys() and there.pairs.keys() == here.pairs.keys()
    for key, figures in here.inputs.items():
        assert there.inputs[key].rate == pytest.approx(figures.rate, rel=0.1)
    for key, by_width in here.pairs.items():
        for width, pair in by_width.items():
            one, other = pair.selectivity, there.pairs[key][width].selectivity
            assert one is not None and pair.error is not None
            assert other == pytest.approx(one, abs=6 * pair.error, rel=0.15)


def statistics_file(folder: Path) -> Path:
    return Path(str(Layout(folder).statistics))


def test_is_remembered_and_forgotten_if_damaged(tmp_path: Path) -> None:
    found, brought = engine(KEYED), streams()
    measured = in_groups(found, brought, tmp_path)
    measured.write()
    statistics = statistics_file(tmp_path)
    assert statistics.stat().st_size < 4000
    assert remembered([tmp_path]) == measured.joins == Measured(tmp_path).remembered
    for damaged in ("", "{}", "[1]", f'{{"format": {FORMAT}, "inputs": 3, "pairs": {{}}}}'):
        statistics.write_text(damaged)
        assert remembered([tmp_path]) == JoinStatistics() and remembered_plans(tmp_path) == {}


def test_plans_are_remembered_and_forgotten_if_damaged(tmp_path: Path) -> None:
    found = engine(KEYED)
    measured = in_groups(found, streams(), tmp_path)
    join = join_of(found, "query_1")
    graph = graph_of(join, join_figures(join, Statistics(joins=measured.joins)))
    memory = PlanMemory(left_deep(3), graph, ((graph, left_deep(3)),), (1.0,), Limits(2, 1000))
    measured.plans = {"query_1": {join_key(join): memory}}
    measured.write()
    assert Measured(tmp_path).plans == measured.plans
    statistics = statistics_file(tmp_path)
    written = statistics.read_text()
    for right, damaged in (
        ('"rates": [', '"rates": [NaN, '),
        ('"rates": [', '"rates": ["many", '),
        ('"rates": [', '"rates": [[], '),
        ('"tree": {', '"tree": {"inputs": [0, 1], "was": {}, "then": {'),
        ('"inputs": [{', '"inputs": [1, {'),
        ('"limits"', '"limit"'),
        ('"plans": {', '"plan": {'),
        ('"plans": [', '"plans": [' + "[" * 5000),
        (f'"format": {FORMAT}', '"format": 2'),
    ):
        assert right in written, right
        statistics.write_text(written.replace(right, damaged, 1))
        assert remembered_plans(tmp_path) == {}, damaged
    statistics.write_text(written.replace('"windows"', '"window"'))
    assert remembered([tmp_path]) == measured.joins  # which is whole


def test_a_declaration_knows_what_its_checkpoint_remembers(tmp_path: Path) -> None:
    found = engine(KEYED)
    in_groups(found, streams(), tmp_path).write()
    place = tmp_path / "checkpoints" / "q"
    place.mkdir(parents=True)
    Layout(tmp_path).statistics.rename(Layout(place).statistics)
    for checkpoint, source in ((place.parent, REMEMBERED), (tmp_path / "elsewhere", GUESSED)):
        later = Engine(checkpoint=checkpoint)  # nothing starts, so there is no Spark
        later.sql(STREAMS + f"CREATE QUERY q AS {KEYED}")
        assert join_figures(join_of(later, "q"), later._known()).source == source
