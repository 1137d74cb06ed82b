"""Joins change all the time on real Spark while its processes are killed, and no result tells.

Ten random queries run in one engine, which is one process; each is a case of the law that
`tests/runtime/test_migrating.py` has in this process. Another query adapts by itself.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw, Seeded
from tests.engine.random_many_joins import ManyJoins, any_streams, many_joins, skewed_arrivals
from tests.engine.random_streams import Declared, Row, pushed
from tests.runtime import test_adapting as adapting
from tests.runtime.test_migrating import any_shape
from tests.spark import test_living_campaign as living
from tests.spark.group_pipelines import plans_of
from tests.spark.test_migrating_groups import batches_of

CASES, STEPS, KILLS = 10, 8, 5
#: Of a load whose selectivities swap: seconds in each step, and how many steps there are.
SECONDS, FILES, SWAPS = 10, 20, (60, 130)


def any_settings(draw: Draw, asked: ManyJoins) -> str:
    migration = draw.choose(["auto", "ms", "pt", "pt", "pt_published"])
    return ", ".join([*any_shape(draw, asked), f"migration = {migration}"])


def is_passed(stream: Declared, bound: int, rows: Sequence[Row]) -> bool:
    """Whether the rows of a file say more than a bound: one between them comes after all of them.

    It would be refused, for bounds may only rise.
    """
    times = (row["ts"] for row in rows)
    return stream.slack is not None and any(time - stream.slack > bound for time in times)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_migrating_changes_no_result_while_drivers_and_workers_are_killed(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = Seeded(seed)
    declared = any_streams(draw)
    asked = {f"q{n}": many_joins(draw, declared=declared) for n in range(CASES)}
    events = skewed_arrivals(draw, declared, blocks=3 * STEPS)
    steps, changes = [], 0
    for batch in batches_of(draw, events):
        altered = {n: any_settings(draw, q) for n, q in asked.items() if draw.choose([True, False])}
        changes += len(altered)
        rows = {each.name: batch.arrived(each.name) for each in declared}
        brought = {name: each for name, each in rows.items() if each}
        bounds = {
            each.name: bound
            for each in declared
            if (bound := batch.bounds.get(each.name)) is not None
            and not is_passed(each, bound, rows[each.name])
        }
        steps.append({"altered": altered, "rows": brought, "bounds": bounds})
    for each in declared:
        (tmp_path / "in" / each.name).mkdir(parents=True)
    case = {
        "streams": [
            each.sql.replace(") TIMESTAMP", f") FROM parquet '{tmp_path}/in/{each.name}' TIMESTAMP")
            for each in declared
        ],
        "queries": {name: [each.text, any_settings(draw, each)] for name, each in asked.items()},
        "steps": steps,
    }
    (tmp_path / "case.json").write_text(json.dumps(case))
    hit = living.run(tmp_path, random.Random(seed), KILLS, "tests.spark.migrating_runs")
    plans = plans_of(declared, [each.text for each in asked.values()])
    inputs = pushed(declared, events)
    wrong = [
        name
        for name, plan in plans.items()
        if not same_rows(living.written(tmp_path / name), evaluate(plan, inputs))
    ]
    with capsys.disabled():
        print(f"\nseed {seed}: {CASES} queries, {changes} changes, {hit} faults: {wrong} wrong")
    assert not wrong, [asked[name].text for name in wrong]
    assert hit, "nothing was killed, so this shows nothing"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_adapting_changes_no_result_while_drivers_and_workers_are_killed(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts: dict[str, list[pl.DataFrame]] = {}
    for name, some in adapting.load(SECONDS * FILES, SWAPS):
        parts.setdefault(name, []).append(some)
    rows = {name: pl.concat(each) for name, each in parts.items()}
    columns, text = "k STRING, v INT, d DOUBLE, ts TIMESTAMP", adapting.QUERY.partition(" AS ")[2]
    for name in rows:
        (tmp_path / "in" / name).mkdir(parents=True)
    case = {
        "streams": [
            f"CREATE STREAM {name} ({columns}) FROM parquet '{tmp_path}/in/{name}' TIMESTAMP BY ts"
            for name in rows
        ],
        "queries": {"q": [text.replace(".id", ".d").rstrip(";"), "adapt = on"]},
        "steps": [
            {"altered": {}, "bounds": {}, "rows": {n: part(r, step) for n, r in rows.items()}}
            for step in range(FILES)
        ],
    }
    (tmp_path / "case.json").write_text(json.dumps(case))
    hit = living.run(tmp_path, random.Random(seed), KILLS, "tests.spark.migrating_runs")
    programs = [int(each.stem) for each in tmp_path.rglob("programs/*.json")]
    with capsys.disabled():
        print(f"\nseed {seed}: {max(programs)} changes of the program, {hit} faults")
    assert max(programs) >= 2 and hit
    files = sorted((tmp_path / "q").glob("*.parquet"))
    found = pl.concat(map(pl.read_parquet, files)).cast(pl.Int64).sort("a", "b", "c")
    assert found.equals(adapting.meaning(rows))


def part(rows: pl.DataFrame, step: int) -> list[list[Any]]:
    """The rows of a step, as the process is to bring them."""
    now = rows.filter(pl.col("ts") // 1_000_000 // SECONDS == step)
    return [[str(k), v, float(id), ts] for k, v, id, ts in now.rows()]
