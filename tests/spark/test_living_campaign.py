"""Queries come, change, are altered and go in a running pipeline; its processes are killed.

Every query gives the oracle's answer over the batches of its life, as the log of programs tells it,
and FROM START over all before them, too: nothing is lost, nothing is there twice. What each batch
has read, a query tells that is always there. A query writes to a directory of its own each time
that it is declared. Somebody reads all directories meanwhile, and never sees a part of a batch.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.catalog.catalog import Catalog
from penstock.model.timestamps import END
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.spark import faults
from penstock.spark.engine import Engine
from tests.spark.living_runs import STREAM, Life
from tests.spark.polling_reader import PollingReader
from tests.sql.declared import execute, plan_of

ROOT = Path(__file__).parents[2]
SECOND = 1_000_000
WINDOWS = [
    "SELECT k, count(*) AS n FROM a [RANGE 6 SECONDS, SLIDE 2 SECONDS] GROUP BY k",
    "SELECT k, sum(v) AS s FROM a [RANGE 4 SECONDS] GROUP BY k",
    "SELECT k, max(v) AS m FROM a [RANGE 9 SECONDS, SLIDE 3 SECONDS] WHERE v % 2 = 0 GROUP BY k",
]
PAIRS = ["SELECT x.v AS v, y.v AS w FROM a x JOIN a y ON x.k = y.k AND x.v < y.v WITHIN 2 SECONDS"]
LEFT = [
    "SELECT x.v AS v, y.v AS w FROM a x LEFT JOIN a y ON x.k = y.k AND y.v % 3 = 0 AND x.v < y.v "
    "WITHIN 1 SECOND"
]
#: The same with the time of the left row.
TIMED = LEFT[0].replace("SELECT ", "SELECT x.ts AS t, ")
#: Joins of three, whose shape changes while they run.
MANY = [
    "SELECT x.v AS v, y.v AS w, z.v AS u FROM a x JOIN a y ON x.k = y.k AND x.v < y.v "
    "WITHIN 2 SECONDS JOIN a z ON y.k = z.k AND y.v < z.v WITHIN 2 SECONDS",
    "SELECT x.v AS v, y.v AS w, z.v AS u FROM a x JOIN a y ON x.k = y.k AND y.v % 2 = 0 "
    "WITHIN 1 SECOND JOIN a z ON x.k = z.k AND x.v + 1 = z.v WITHIN 2 SECONDS",
]
#: What aggregates and joins may be altered to: they hand over to each other.
AGGREGATIONS = [f"aggregation = {each}" for each in ("auto", "wid", "paned")]
SHAPES = [
    f"join = {join}, join_order = {order}, migration = {migration}"
    for join, order in (
        ("mjoin", "auto"),
        ("oa", "auto"),
        ("oa", "'((x, z), y)'"),
        ("oa", "'(x, (z, y))'"),
    )
    for migration in ("ms", "pt")
]
TEXTS = WINDOWS + PAIRS + LEFT + MANY + MANY


@dataclass
class Lived:
    """A query, and the batches of its life."""

    text: str
    place: str
    begin: str
    batches: set[int] = field(default_factory=set)


def steps(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Steps with rows in order of time, and some changes in each."""
    found: list[dict[str, Any]] = []
    queries: dict[str, list[str]] = {}
    time, v, places = 1_700_000_000 * SECOND, 0, 0
    for _ in range(count):
        queries = {name: query for name, query in queries.items() if chance.random() > 0.15}
        new: set[str] = set()
        for name in [*(n for n in queries if chance.random() < 0.2), f"q{len(found)}"]:
            if len(queries) < 8 or name in queries:
                places += 1
                text = chance.choice(TEXTS)
                queries[name] = [
                    text,
                    f"place{places}",
                    chance.choice(SHAPES if text in MANY else AGGREGATIONS),
                    chance.choice(["NOW", "NOW", "START"]),
                ]
                new.add(name)
        for name in queries:
            text, place, _, begin = queries[name]
            if name in new or text in PAIRS + LEFT:
                continue
            if chance.random() < (0.5 if text in MANY else 0.15):
                settings = chance.choice(SHAPES if text in MANY else AGGREGATIONS)
                queries[name] = [text, place, settings, begin]
        rows = []
        for _ in range(chance.randrange(1, 9)):
            time, v = time + chance.randrange(SECOND), v + 1
            rows.append([chance.choice("xyz"), v, time])
        found.append({"queries": dict(queries), "rows": rows})
    return found


def run(
    folder: Path, chance: random.Random, kills: int, module: str = "tests.spark.living_runs"
) -> int:
    """Start the process until it gets to its end; gives how many faults it ran into.

    At each of the first so many starts three steps are armed; it gets to its end in spite of them,
    or is started again.
    """
    changes = (*faults.IN_CHANGE, *faults.IN_CATCHING_UP)
    points = [
        *((point, "kill") for point in (*faults.IN_DRIVER, *changes, *faults.IN_CONTROL)),
        *((point, "fail") for point in (*faults.IN_DRIVER, *changes)),
        *((point, "kill") for point in (*faults.IN_EXCHANGE, *faults.IN_GROUP)),
    ]
    place, hit = folder / "faults", 0
    place.mkdir()
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = [sys.executable, "-m", module, str(folder)]
    for number in range(3 * kills + 3):
        faults.disarm(place)
        for point, action in chance.sample(points, 3 if number < kills else 0):
            faults.arm(place, point, action, occurrence=chance.randrange(1, 12))
        with (folder / "words").open("a") as words:
            ended = subprocess.run(
                command,
                env={**os.environ, "PYTHONPATH": path},
                cwd=ROOT,
                stdout=words,
                stderr=subprocess.STDOUT,
                check=False,
            )
        hit += len(faults.hits(place))
        if ended.returncode == 0:
            return hit
    raise AssertionError((folder / "words").read_text()[-3000:])


def lives(folder: Path, texts: dict[str, list[str]]) -> list[Lived]:
    """By directory, the batches of each query, as the log tells."""
    entries: dict[int, tuple[int, dict[str, str]]] = {}
    for line in (folder / "lives").read_text().splitlines():
        number, batch, places = json.loads(line)
        entries[number] = (batch, places)
    last = max(rows_by_batch(folder), default=0) + 100
    found: dict[str, Lived] = {}
    for batch in range(last):
        current = [places for _, (first, places) in sorted(entries.items()) if first <= batch]
        for place in current[-1].values() if current else ():
            known = Path(place).name
            if known in texts:
                text, place, begin = texts[known]
                found.setdefault(known, Lived(text, place, begin)).batches.add(batch)
    return list(found.values())


def rows_by_batch(folder: Path) -> dict[int, list[dict[str, Any]]]:
    found = {}
    for file in sorted((folder / "everything").glob("part-*.parquet")):
        table = pl.read_parquet(file).with_columns(pl.col("ts").cast(pl.Int64), row_num=1)
        found[int(file.stem.removeprefix("part-"))] = table.to_dicts()
    return found


def written(folder: Path) -> list[dict[str, Any]]:
    tables = [pl.read_parquet(file) for file in sorted(folder.glob("part-*.parquet"))]
    if not tables:
        return []
    times = pl.selectors.datetime().cast(pl.Int64)
    return pl.concat(tables).with_columns(times).to_dicts()


def judge(folder: Path, life: Lived, read: dict[int, list[dict[str, Any]]]) -> bool:
    """Whether a query gave the oracle's answer, without what still waited when it went."""
    is_last = max(life.batches) > max(read)
    before = {batch: rows for batch, rows in read.items() if batch <= max(life.batches)}
    found = written(folder / life.place)
    if life.begin == "START":
        rows = [before[batch] for batch in sorted(before)]
        if is_last:
            return same_rows(found, answer_over(life.text, together(rows), END))
        # One that was dropped while it caught up had come as far as it had.
        parts = (together(rows[:end]) for end in range(len(rows), -1, -1))
        return any(same_rows(found, answer_over(life.text, seen, newest(seen))) for seen in parts)
    seen = [row for batch, rows in before.items() if batch in life.batches for row in rows]
    bound = END if is_last else newest(together(before.values()))
    return same_rows(found, answer_over(life.text, seen, bound))


def together(batches: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return list(chain.from_iterable(batches))


def newest(rows: list[dict[str, Any]]) -> int:
    return max((row["ts"] for row in rows), default=0)


def answer_over(text: str, seen: list[dict[str, Any]], bound: int) -> list[dict[str, Any]]:
    """The oracle's answer over rows, as far as it leaves before a bound."""
    catalog = Catalog()
    execute(catalog, STREAM.format(folder="x"))
    if text in LEFT:
        # A row waits until no partner can come any more.
        answer = evaluate(plan_of(TIMED, catalog), {"a": seen})
        out = [row for row in answer if row["w"] is not None or row["t"] + SECOND < bound]
        return [{"v": row["v"], "w": row["w"]} for row in out]
    answer = evaluate(plan_of(text, catalog), {"a": seen})
    return [row for row in answer if row.get("window_end", 0) <= bound]


def planned(folder: Path, chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Steps, written down for whoever runs them."""
    found = steps(chance, count)
    (folder / "in").mkdir(parents=True)
    (folder / "steps.json").write_text(json.dumps(found))
    return found


def check(folder: Path, plan: list[dict[str, Any]]) -> str:
    """Raise unless every query gave its answer; gives how many there were."""
    texts = {
        place: [text, place, begin]
        for step in plan
        for text, place, _, begin in step["queries"].values()
    }
    read = rows_by_batch(folder)
    expected = [row[1] for step in plan for row in step["rows"]]
    assert [v for batch in sorted(read) for v in sorted(r["v"] for r in read[batch])] == expected
    found = {life.place: judge(folder, life, read) for life in lives(folder, texts)}
    assert found.keys() == texts.keys()
    wrong = [place for place, is_right in found.items() if not is_right]
    assert not wrong, wrong
    return f"{changes(plan)} changes, {len(texts)} queries, all of them judged"


def changes(plan: list[dict[str, Any]]) -> int:
    """How many queries came, went, were replaced or altered."""
    found, before = 0, dict[str, Any]()
    for step in plan:
        now = step["queries"]
        found += sum(before.get(name) != now.get(name) for name in before.keys() | now.keys())
        before = now
    return found


@pytest.mark.slow
def test_every_query_on_spark_gives_the_answer_over_its_life(
    spark: SparkSession, tmp_path: Path
) -> None:
    plan = planned(tmp_path, random.Random(1), 4)
    engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
    try:
        Life(tmp_path).run(engine)
    finally:
        engine.stop()
    check(tmp_path, plan)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_queries_come_and_go_while_drivers_and_workers_are_killed(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    plan = planned(tmp_path, chance, 25)
    with PollingReader(tmp_path) as reader:
        hit = run(tmp_path, chance, kills=8)
    said = check(tmp_path, plan)
    assert not (partial := reader.partial()), partial
    seen = sum(map(len, reader.seen.values()))
    with capsys.disabled():
        print(f"\nseed {seed}: {said}, {hit} faults: 0 wrong; {seen} files read meanwhile, whole")
