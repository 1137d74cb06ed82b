"""Python workers: what they leave out when they collect garbage, and their environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.spark import processor, running_queries, shipped_programs, worker
from penstock.spark.alive_graphs import AliveGraphs
from penstock.spark.session import WORKERS

SCRIPT = """
import gc
from penstock.spark.worker import leave_out_modules

leave_out_modules()
frozen = gc.get_freeze_count()
assert frozen > 1000, frozen

class Graph:
    def __init__(self):
        self.me = self  # as a graph's nodes know each other

Graph()
leave_out_modules()
assert gc.get_freeze_count() <= frozen
assert gc.collect() >= 1
"""


def test_modules_are_left_out_once_and_what_comes_later_is_collected() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


def test_workers_have_their_environment(spark: SparkSession) -> None:
    names = list(WORKERS)

    def environment(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"v": [os.environ.get(name) for name in names]})

    found = spark.range(1).mapInArrow(environment, "v STRING").toArrow()
    assert found.column("v").to_pylist()[: len(names)] == list(WORKERS.values())


def test_what_is_kept_of_queries_that_have_ended_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Garbage is looked for among it after every task, of whatever query."""
    alive = AliveGraphs()
    caches: dict[str, Any] = {"a": Any, "b": Any, "": Any}
    known: dict[str, Any] = {}
    early: dict[bytes, Any] = {}
    for query in ("a", "b", ""):
        alive.leave(query, 0, "token", Any)  # type: ignore[arg-type]
        known[f"program of {query}"] = early[query.encode()] = (query, Any)
    monkeypatch.setattr(worker, "_running", ())
    monkeypatch.setattr(processor, "_ALIVE", alive)
    monkeypatch.setattr(processor, "_CACHES", caches)
    monkeypatch.setattr(shipped_programs, "_KNOWN", known)
    monkeypatch.setattr(shipped_programs, "_EARLY", early)
    worker.forget_ended([])  # nothing is said
    assert len(alive) == len(caches) == len(known) == len(early) == 3
    worker.forget_ended(["b", "c"])
    assert alive.take("a", 0, "token") is None
    assert alive.take("b", 0, "token") is not None
    assert caches.keys() == {"b", ""}
    assert known.keys() == {"program of b", "program of "} and early.keys() == {b"b", b""}


def test_a_query_that_was_stopped_runs_no_more() -> None:
    before = running_queries.begins(None)
    assert running_queries.begins("a query") == [*before, "a query"]
    assert running_queries.begins("a query") == [*before, "a query"]
    running_queries.ends("a query")
    assert running_queries.begins("") == before
