"""Small segments of many queries are few values of Spark's store, and come back as they were."""

from __future__ import annotations

import json
import random
from typing import Any

import polars as pl

from penstock.kernel.stacks import stacked
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.pipeline_groups import assign_pipelines
from penstock.spark.state.bundles import (
    Values,
    bundled,
    places_in,
    still_good,
    told_of,
    values_in,
)
from tests.engine.random_streams import Declared
from tests.spark.group_pipelines import GROUPS, plans_of

QUERIES = 30


def segment(number: int, rows: int) -> pl.DataFrame:
    return pl.DataFrame({"of": [number] * rows})


def kept(values: Values, segments: dict[int, pl.DataFrame]) -> dict[int, pl.DataFrame]:
    """What would be in the store."""
    return {v: stacked([segments[n] for n, _ in parts]) for v, parts in values.items()}


def test_segments_that_come_and_go_are_found_and_values_are_never_mostly_gone() -> None:
    rng = random.Random(5)
    ever: dict[int, pl.DataFrame] = {}
    live: set[int] = set()
    store: dict[int, pl.DataFrame] = {}
    values: Values = {}
    written = gone = 0
    for _ in range(60):
        for number in rng.sample(sorted(live), len(live) // rng.choice((2, 3, 9))):
            live.remove(number)
            gone += ever[number].height
        for number in range(len(ever) + 1, len(ever) + 1 + rng.randrange(9)):
            ever[number] = segment(number, rng.randrange(1, 6))
            live.add(number)
        values = still_good(values, live)
        there = {number for parts in values.values() for number, _ in parts}
        new = dict(bundled({n: ever[n] for n in sorted(live - there)}))
        written += sum(ever[n].height for parts in new.values() for n, _ in parts)
        assert not new.keys() & store.keys()
        values |= new
        store = {v: rows for v, rows in store.items() if v in values} | kept(new, ever)
        values = values_in(json.loads(json.dumps(told_of(values))))
        places = places_in(values)
        assert live <= places.keys()
        for number in live:
            place = places[number]
            rows = store[place.value]
            found = rows if place.rows is None else rows.slice(place.first, place.rows)
            assert found.equals(ever[number])
        alive = sum(ever[number].height for number in live)
        assert sum(rows.height for rows in store.values()) <= 2 * alive
    assert written <= sum(rows.height for rows in ever.values()) + gone


def pipeline_of_many() -> FakePipeline:
    texts = [
        f"SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS, SLIDE 5 SECONDS, WA ts] "
        f"WHERE v >= {number} GROUP BY k"
        for number in range(QUERIES)
    ]
    [share] = assign_pipelines(plans_of([Declared("a", 0)], texts))
    return FakePipeline(Exchange(optimize(share.queries), share.keys, GROUPS[:1]))


def batch(number: int) -> MicroBatch:
    rows = [
        {"k": f"key {k}", "v": k, "d": 0.5, "ts": 2_000_000 * number + k} for k in range(QUERIES)
    ]
    return MicroBatch({"a": [[rows]]})


def answers(pipeline: FakePipeline) -> list[list[dict[str, Any]]]:
    by = ("window_end", "k")
    return [
        sorted(pipeline.rows("result", f"q{n}"), key=lambda row: [row[c] for c in by])
        for n in range(QUERIES)
    ]


def test_many_queries_write_few_values_and_send_few_messages() -> None:
    pipeline, remembers = pipeline_of_many(), Worker(None)
    forgetful = pipeline_of_many()
    for number in range(12):
        [store] = pipeline.stores.values()
        before = len(store.writes)
        pipeline.process(batch(number), lambda group: remembers)
        forgetful.process(batch(number), lambda group: Worker(None))
        [store] = pipeline.stores.values()
        assert len(store.writes) - before <= 2
        assert len(store.segments) <= 12
        [output] = pipeline.outputs[-1].values()
        assert len(output.messages) <= 3
    for each in (pipeline, forgetful):
        each.process(MicroBatch(bounds={"a": END}), lambda group: Worker(None))
        [store] = each.stores.values()
        assert store.segments == {}
    assert answers(pipeline) == answers(forgetful)
    assert all(answers(pipeline))
