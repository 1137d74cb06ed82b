"""Without groups everything is as with them: results, rejected rows, counts and bounds.

Random queries over single rows, on random streams with rows that are late or have no time, in
micro-batches of tasks and blocks; the driver fails, is killed or does a step twice at any point.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

from penstock.errors import HostError
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.spark import faults
from penstock.spark.control import told
from penstock.spark.control.control_stream import about
from penstock.spark.delivery.group_reports import GroupReport
from penstock.spark.exchange.messages import RowBlock
from penstock.spark.group_messages import arrivals
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    Killed,
    MicroBatch,
    Worker,
)
from penstock.spark.in_memory.row_batches import FakeRowPipeline
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.rows import host
from penstock.spark.rows.host import GROUP
from tests.engine.draw import Draw, Seeded, several
from tests.engine.random_streams import (
    Declared,
    Event,
    Push,
    careless_arrivals,
    declarations,
)
from tests.spark.exchange.records import height
from tests.spark.group_pipelines import plans_of

COLUMNS = ("k", "v", "d", "ts", "v * 2", "concat(k, 'x')", "abs(d)", "v > 2")
CONDITIONS = ("v > 2", "k = 'x'", "v IS NULL", "d < 3 AND v <> 1", "false")
LATE = ("keep", "keep", "drop", "consistent")
REASONS = ("late", "closed", "malformed")
SEEDS, MORE_SEEDS = range(20), range(20, 300)


@pytest.fixture
def armed(tmp_path: Path) -> Iterator[Path]:
    before = faults.folder()
    faults.use(tmp_path / "faults")
    with patch.object(faults, "kill", Killed.now), patch.object(faults, "DELAY", 0):
        yield tmp_path / "faults"
    faults.use(before)


def a_query(draw: Draw) -> str:
    chosen = several(draw, 1, 4, lambda draw: draw.choose(COLUMNS))
    columns = ", ".join(f"{column} AS c{n}" for n, column in enumerate(chosen))
    where = draw.choose(["", *(f" WHERE {condition}" for condition in CONDITIONS)])
    return f"SELECT {columns} FROM {draw.choose(['a', 'a', 'b'])}{where}"


def batches_of(draw: Draw, events: list[Event]) -> list[MicroBatch]:
    """Events in batches; the rows of a stream in one of them in up to two tasks of two blocks."""
    batches = []
    while events:
        some, events = events[:2], events[2:]
        rows: dict[str, list[list[list[dict[str, Any]]]]] = {}
        bounds: dict[str, Any] = {}
        for event in some:
            if isinstance(event, Push):
                place = draw.between(0, len(event.rows))
                rows.setdefault(event.stream, []).append([event.rows[:place], event.rows[place:]])
            elif draw.choose([True, True, False]):
                bounds[event.stream] = event.bound
            else:
                bounds |= about(event.stream, event.bound, (("k", ("x",)),))
        batches.append(MicroBatch(rows, bounds))
    return batches


def multiset(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(row, default=str, sort_keys=True) for row in rows)


def without_operators(report: GroupReport) -> bytes:
    return replace(report, operators=()).as_bytes()


def pipelines(
    share: PipelineGroup, late: str, folder: Path
) -> tuple[FakePipeline, FakeRowPipeline]:
    program = optimize(share.queries, Options(late=late))
    assert not share.form(program).has_groups
    return (
        FakePipeline(Exchange(program, share.keys, [GROUP])),
        FakeRowPipeline(Exchange(program, share.keys, [GROUP], has_groups=False), folder),
    )


def check(seed: int, folder: Path, armed: Path) -> None:
    draw = Seeded(seed)
    declared = declarations(draw)
    texts = several(draw, 1, 3, a_query)
    batches = [*batches_of(draw, careless_arrivals(draw, declared)), MicroBatch()]
    batches.append(MicroBatch(bounds=dict.fromkeys("ab", END)))
    batches.append(batches[0])  # when all is over
    late = draw.choose(LATE)
    for number, share in enumerate(assign_pipelines(plans_of(declared, texts))):
        with_groups, without = pipelines(share, late, folder / str(number))
        streams = {stream.name for stream in with_groups.exchange.program.streams}
        worker = repeat(Worker(None))
        for batch in batches:
            mine = {name: tasks for name, tasks in batch.rows.items() if name in streams}
            given = MicroBatch(mine, batch.bounds)
            if not mine and not batch.bounds:
                continue
            faults.disarm(armed)
            with_groups.process(given, lambda group, of=worker: next(of))  # type: ignore[misc]
            point = draw.choose(sorted({**faults.IN_EXCHANGE, **faults.IN_ROWS}))
            faults.arm(armed, point, draw.choose(["fail", "kill", "repeat", "delay"]))
            if draw.choose([False, False, True]):
                without.restart()
            without.process(given)
        faults.disarm(armed)
        for name in share.queries:
            ours, theirs = (each.rows("result", name) for each in (without, with_groups))
            assert multiset(ours) == multiset(theirs), (seed, name)
        for stream in streams:
            for why in REASONS:
                ours, theirs = (each.rows(why, stream) for each in (without, with_groups))
                assert multiset(ours) == multiset(theirs), (seed, stream, why)
        reports = [output[GROUP].report() for output in with_groups.outputs]
        for report, other in zip(without.reports, reports, strict=True):
            assert without_operators(report) == without_operators(other), seed
        read, read_in_groups = map(rows_read, (without.reports, reports))
        assert read == read_in_groups, seed


def rows_read(reports: Iterable[GroupReport]) -> int:
    return sum(each.rows_in for report in reports for each in report.operators)


def check_all(seeds: Iterable[int], folder: Path, armed: Path) -> None:
    for seed in seeds:
        (folder / str(seed)).mkdir()
        check(seed, folder / str(seed), armed)


def test_results_and_counts_are_those_of_groups_whatever_fails(tmp_path: Path, armed: Path) -> None:
    check_all(SEEDS, tmp_path, armed)


@pytest.mark.slow
def test_more_results_and_counts_are_those_of_groups(tmp_path: Path, armed: Path) -> None:
    check_all(MORE_SEEDS, tmp_path, armed)


# --- one thing at a time -------------------------------------------------------------------------

PICKED = "SELECT k, v FROM a WHERE v > 2"


def row(v: int, ts: int | None) -> dict[str, Any]:
    return {"k": "x", "v": v, "d": 0.5, "ts": ts}


def picked(folder: Path) -> FakeRowPipeline:
    [share] = assign_pipelines(plans_of([Declared("a", 0)], [PICKED]))
    return pipelines(share, "keep", folder)[1]


def batch(*rows: dict[str, Any]) -> MicroBatch:
    return MicroBatch({"a": [[list(rows)]]})


def test_late_rows_that_go_in_are_served_where_they_are_read(tmp_path: Path) -> None:
    pipeline = picked(tmp_path)
    pipeline.process(batch(row(3, 50), row(1, 51)))
    with patch.object(host, "arrivals", wraps=arrivals) as arrived:
        pipeline.process(batch(row(4, 20), row(5, 30), row(6, 60), row(7, None)))
    assert pipeline.rows("result", "q0") == [{"k": "x", "v": v} for v in (3, 4, 5, 6)]
    tally = pipeline.reports[-1].tallies["a"]
    assert (tally.passed, tally.late, tally.lateness) == (2, 0, 31)
    # Only the row without a time went to the driver.
    [lines] = [call.args[1] for call in arrived.call_args_list]
    assert [height(line) for line in lines if isinstance(line, RowBlock)] == [1]


def test_many_results_are_written_by_tasks_and_few_are_sent(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    pipeline = picked(tmp_path / "rows")
    sinks = {"q0": ("parquet", str(tmp_path / "out"))}
    with patch.object(told, "STAGED_FROM", 3):
        pipeline.process(MicroBatch({"a": [[[row(3, 1), row(4, 2)], [row(5, 3)]]]}), sinks=sinks)
    assert pipeline.rows("result", "q0") == [{"k": "x", "v": v} for v in (3, 4)]
    [staged] = pipeline.rows("staged", "q0")
    assert pl.read_parquet(staged["file"]).to_dicts() == [{"k": "x", "v": 5}]


def test_only_the_last_files_of_state_are_kept(tmp_path: Path) -> None:
    pipeline = picked(tmp_path)
    for number in range(15):
        pipeline.process(batch(row(3, number)))
    assert sorted(int(file.stem) for file in tmp_path.iterdir()) == list(range(6, 16))


@pytest.mark.parametrize("how", ["gone", "changed"])
def test_a_damaged_file_of_state_is_refused(tmp_path: Path, how: str) -> None:
    pipeline = picked(tmp_path)
    pipeline.process(batch(row(3, 1)))
    file = tmp_path / "1.json"
    if how == "gone":
        file.unlink()
    else:
        file.write_text(file.read_text().replace('"bound": 1', '"bound": 0'))
    pipeline.restart()
    with pytest.raises(HostError, match="is gone" if how == "gone" else "was changed"):
        pipeline.process(batch(row(3, 2)))
