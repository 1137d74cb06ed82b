"""Whatever fails at whichever step of a batch: the answers are the oracle's, every row once.

Three hosts: groups in memory, where all steps of workers meet all faults; a Spark session whose
workers and batches fail and are tried again; and, in the slow campaign, new processes and lost
executors (`fault_runs`), which print what they tried and what came of it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.spark import faults
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    Killed,
    MicroBatch,
    Worker,
)
from penstock.spark.placement.pipeline_groups import assign_pipelines
from penstock.spark.state import segment_cache
from tests.spark.fault_cases import (
    FILES,
    ROWS_ALONE,
    SHAPES,
    STREAMS,
    TOGETHER,
    Difference,
    Shape,
    batch_of,
    differences,
    expected,
    late_of,
    plans,
    write_inputs,
    written,
)
from tests.spark.fault_runs import Case, Fault, finish, write_cases

GROUPS = (2, 0)
#: First attempts at the first batch, and what comes when state is there already.
OCCURRENCES = (1, 4)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = faults.folder()
    faults.use(tmp_path / "faults")
    with (
        patch.object(faults, "kill", Killed.now),
        patch.object(faults, "DELAY", 0),
        patch.object(segment_cache, "WORTH_SHARING", 0),
    ):
        yield tmp_path / "faults"
    faults.use(before)


def batches(shape: Shape) -> list[MicroBatch]:
    rows = [
        {s: [[[*batch_of(s, n), *late_of(shape, s, n)]]] for s in STREAMS} for n in range(FILES)
    ]
    return [*map(MicroBatch, rows), MicroBatch(bounds=dict.fromkeys(STREAMS, END))]


def run_in_memory(shape: Shape, folder: Path) -> dict[str, list[dict[str, object]]]:
    """All batches on two workers that take turns."""
    answers: dict[str, list[dict[str, object]]] = {}
    for share in assign_pipelines(plans(shape)):
        exchange = Exchange(optimize(share.queries), share.keys, GROUPS)
        memory = folder / "exchange"
        memory.mkdir(exist_ok=True)
        pipeline = FakePipeline(exchange, memory)
        one, other = Worker(folder), Worker(folder)
        turns = cycle([one, other, one])
        for batch in batches(shape):
            pipeline.process(batch, lambda group, turns=turns: next(turns))  # type: ignore[misc]
        answers |= {name: pipeline.rows("result", name) for name in share.queries}
        if shape.has_late:
            answers["late"] = [
                {column: row[column] for column in ("k", "v", "ts")}
                for row in pipeline.rows("late", "a")
            ]
    return answers


def check_in_memory(shape: Shape, fault: tuple[str, str, int], folder: Path, shared: Path) -> None:
    point, action, occurrence = fault
    faults.disarm(folder)
    faults.arm(folder, point, action, occurrence=occurrence)
    shared.mkdir()
    answers = run_in_memory(shape, shared)
    assert len(faults.hits(folder)) == 1, fault
    assert not differences(answers, expected(shape)), fault


ALL_FAULTS = [
    (point, action, occurrence)
    for occurrence in OCCURRENCES
    for action in ("fail", "kill", "delay", "repeat")
    for point in (*faults.IN_EXCHANGE, *faults.IN_GROUP)
]


@pytest.mark.parametrize("name", SHAPES)
def test_workers_that_fail_at_some_step_in_memory_give_the_oracles_answers(
    name: str, folder: Path, tmp_path: Path
) -> None:
    # Every point, and other actions in every shape.
    turn = list(SHAPES).index(name)
    for number, fault in enumerate(ALL_FAULTS[turn::17]):
        check_in_memory(SHAPES[name], fault, folder, tmp_path / str(number))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_workers_that_fail_at_any_step_in_memory_give_the_oracles_answers(
    name: str, folder: Path, tmp_path: Path
) -> None:
    for number, fault in enumerate(ALL_FAULTS):
        check_in_memory(SHAPES[name], fault, folder, tmp_path / str(number))


def test_workers_and_batches_that_fail_on_spark_give_the_oracles_answers(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = faults.folder()
    assert place is not None
    write_inputs(TOGETHER, tmp_path)
    armed = [
        ("exchange.packed", "fail", 2),
        ("group.processed", "kill", 3),
        ("state.segment", "repeat", 2),
        ("state.directory", "fail", 6),
        ("deliver.query", "repeat", 1),
        ("deliver.computed", "fail", 2),
        ("deliver.late", "repeat", 1),
    ]
    for point, action, occurrence in armed:
        faults.arm(place, point, action, occurrence=occurrence)
    said = finish(spark, TOGETHER.script(tmp_path))
    hits = faults.hits(place)
    faults.disarm(place)
    assert said == ""
    assert {hit.split()[0] for hit in hits} == {point for point, _, _ in armed}
    assert not differences(written(TOGETHER, tmp_path), expected(TOGETHER))


def test_a_driver_that_fails_without_groups_gives_the_oracles_answers(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = faults.folder()
    assert place is not None
    write_inputs(ROWS_ALONE, tmp_path)
    armed = [
        ("exchange.over", "kill", 2),
        ("rows.processed", "fail", 1),
        ("rows.keep", "repeat", 2),
        ("rows.kept", "fail", 3),
        ("sink.written", "fail", 4),
        ("batch.over", "fail", 2),
    ]
    for point, action, occurrence in armed:
        faults.arm(place, point, action, occurrence=occurrence)
    said = finish(spark, ROWS_ALONE.script(tmp_path))
    hits = faults.hits(place)
    faults.disarm(place)
    assert said == ""
    assert {hit.split()[0] for hit in hits} == {point for point, _, _ in armed}
    assert not differences(written(ROWS_ALONE, tmp_path), expected(ROWS_ALONE))


# --- the slow campaign ---------------------------------------------------------------------------

#: All shapes: those with groups in one engine, where a fault meets all of them at once. A walk
#: for each of them would take hours; in memory each is walked by itself (above).
EVERY = {"together": TOGETHER, "rows": ROWS_ALONE}
SAME_PROCESS, NEW_PROCESS, OTHER_EXECUTOR = "same process", "new process", "other executor"
#: More often than a task is tried: the query ends.
FOR_GOOD = 1000
ROOT = Path(__file__).parents[2]


def occurrence_of(point: str) -> int:
    """When a point is hit: in the second batch or the third, where state is there already."""
    if point in faults.IN_CONTROL or point == "deliver.late":
        return 1
    return 4 if point in faults.IN_GROUP else 2


def cases_of(shape: Shape, mode: str, folder: Path) -> list[Case]:
    """Every point of a shape, with an action that suits where it is tried again."""
    made = []
    for number, point in enumerate(shape.points):
        in_worker = point in faults.IN_WORKERS
        actions = ["fail", "kill", "repeat", "delay"] if in_worker else ["fail", "repeat", "delay"]
        action, times = actions[number % len(actions)], 1
        if mode == NEW_PROCESS:
            action = ("fail", "kill")[number % 2 and not in_worker]
            times = FOR_GOOD if in_worker else 1
        elif mode == OTHER_EXECUTOR:
            action = "lose" if in_worker else "fail"
        made.append(
            case_of(
                shape,
                folder / f"{number} {point} {action}",
                [(point, action, occurrence_of(point), times)],
                tried_on=mode != NEW_PROCESS,
            )
        )
    return made


def case_of(shape: Shape, place: Path, armed: list[Fault], *, tried_on: bool) -> Case:
    write_inputs(shape, place)
    return Case(str(place), shape.script(place), armed, tried_on)


def in_processes(cases: list[Case], folder: Path, master: str | None) -> list[Case]:
    """Run cases, in another process whenever one was killed; then what failed to its end.

    Gives those that never came to their fault.
    """
    waiting, rounds = cases, 0
    while waiting:
        start(waiting, folder / f"cases-{rounds}.json", master)
        waiting = [case for case in waiting if not case.status.exists()]
        rounds += 1
        assert rounds <= len(cases), "processes end without having begun a case"
    untouched = [case for case in cases if "hits=0" in case.status.read_text()]
    unfinished = [
        replace(case, faults=(), tried_on=True)
        for case in cases
        if not case.status.read_text().startswith("done")
    ]
    for case in unfinished:
        case.status.unlink()
    if unfinished:
        start(unfinished, folder / "unfinished.json", master)
    return untouched


def start(cases: list[Case], file: Path, master: str | None) -> None:
    """A process that runs these cases, with the words it says beside them."""
    command = [sys.executable, "-m", "tests.spark.fault_runs", str(write_cases(file, cases))]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with file.with_suffix(".txt").open("a") as words:
        subprocess.run(
            [*command, *([master] if master else [])],
            env={**os.environ, "PYTHONPATH": path},
            cwd=ROOT,
            stdout=words,
            stderr=subprocess.STDOUT,
            check=False,
        )


def judge(what: str, shape: Shape, cases: list[Case], capsys: pytest.CaptureFixture[str]) -> None:
    """Say what was tried and what came of it; raise unless all of it is the oracle's answer."""
    total, unlike = Difference(), []
    for case in cases:
        found = differences(written(shape, Path(case.folder)), expected(shape))
        total = sum(found.values(), total)
        if found or not case.status.read_text().startswith("done"):
            unlike.append(f"{case.faults}: {found} {case.status.read_text()}")
    with capsys.disabled():
        print(
            f"\n{what}: {sum(len(case.faults) for case in cases)} faults tried, {len(unlike)} "
            f"wrong answers, {total.lost} rows lost, {total.doubled} doubled, {total.wrong} wrong"
        )
    assert not unlike, "\n".join(unlike)


CLUSTER = "local-cluster[2,1,1024]"


@pytest.mark.slow
@pytest.mark.parametrize("mode", [SAME_PROCESS, NEW_PROCESS, OTHER_EXECUTOR])
@pytest.mark.parametrize("name", EVERY)
def test_a_campaign_of_faults_at_every_point_gives_the_oracles_answers(
    name: str, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = cases_of(EVERY[name], mode, tmp_path)
    untouched = in_processes(cases, tmp_path, CLUSTER if mode == OTHER_EXECUTOR else None)
    judge(f"{name}, {mode}", EVERY[name], cases, capsys)
    assert not [case.faults for case in untouched]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mode", [SAME_PROCESS, NEW_PROCESS, OTHER_EXECUTOR])
@pytest.mark.parametrize("name", EVERY)
def test_runs_that_meet_faults_at_all_points_give_the_oracles_answers(
    name: str, mode: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shape, chance = EVERY[name], random.Random(f"{name} {mode} {seed}")
    in_tasks = {OTHER_EXECUTOR: ["lose", "fail"]}.get(mode, ["fail", "kill", "delay", "repeat"])
    in_driver = {NEW_PROCESS: ["kill"]}.get(mode, ["fail", "repeat"])
    armed = [
        (point, chance.choice(in_tasks if point in faults.IN_WORKERS else in_driver), when, 1)
        for point in shape.points
        for when in [1 if occurrence_of(point) == 1 else chance.randint(1, 7)]
    ]
    case = case_of(shape, tmp_path / "case", armed, tried_on=True)
    file, master = tmp_path / "cases.json", CLUSTER if mode == OTHER_EXECUTOR else None
    start([case], file, master)
    for _ in armed:
        if case.status.read_text() != "begun":
            break
        start([replace(case, faults=())], file, master)
    judge(f"{name}, {mode}, seed {seed}", shape, [case], capsys)
