"""A pipeline that deletes what it has read goes on as if it had not, also after a restart."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.spark import housekeeping
from penstock.spark.control.control_stream import KEPT
from penstock.spark.engine import Engine

START = datetime(2026, 1, 1)
#: Spark makes a list of files every ten batches.
BATCHES = 45


class Source:
    """An iterable that gives a row now and then, as long as it is asked to."""

    def __init__(self) -> None:
        self.given = 0
        self.over = threading.Event()

    def __call__(self, skip: int) -> Iterator[dict[str, Any]]:
        self.given = skip
        while not self.over.wait(0.12):
            yield {"k": self.given, "ts": START + timedelta(seconds=self.given)}
            self.given += 1


def run(spark: SparkSession, folder: Path, batches: int) -> int:
    """So many batches, then everything to its end; gives how many rows there were so far."""
    source = Source()
    engine = Engine(spark, checkpoint=folder / "checkpoint")
    engine.stream("s", source, columns="k BIGINT, ts TIMESTAMP", timestamp="ts")
    engine.sql(
        f"CREATE QUERY parts INTO parquet '{folder / 'out'}' AS "
        "SELECT k % 3 AS part, count(*) AS n, sum(k) AS total FROM s [RANGE 4 SECONDS] "
        "GROUP BY part"
    )
    engine.start()
    query = engine.spark_query("parts")
    assert query is not None
    first = last = -1
    while first < 0 or last < first + batches:
        engine.check()
        if (latest := query.lastProgress) is not None:
            last = latest["batchId"]
            first = last if first < 0 else first
            # Each makes a batch of its own, and leaves a message.
            newest = START + timedelta(seconds=max(0, source.given - 2))
            engine.punctuate("s", newest)
        time.sleep(0.1)
    source.over.set()
    seen = [
        each.seenFiles().size()
        for each in _sources(query)
        if "control" in each.toString() or "streams" in each.toString()
    ]
    assert min(seen) < written(folder), "Spark remembers files that are gone"
    engine.process_available()
    engine.stop()
    return source.given


def written(folder: Path) -> int:
    """How many messages were ever sent: numbers are never used again."""
    last = max(file.name for file in (folder / "checkpoint/parts/control").glob("[0-9]*.json"))
    return int(last.partition("-")[0])


def _sources(query: Any) -> Iterator[Any]:
    sources = query._jsq.streamingQuery().uniqueSources().keysIterator()
    while sources.hasNext():
        yield sources.next()


@pytest.mark.slow
def test_what_was_read_is_deleted_and_nothing_is_read_twice_or_missed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "EVERY", 5)
    checkpoint = tmp_path / "checkpoint" / "parts"
    for batches in (BATCHES, BATCHES, 3):
        given = run(spark, tmp_path, batches)
        assert not (checkpoint / "streams" / "s" / f"{0:012d}.parquet").exists()
        assert len(list((checkpoint / "control").iterdir())) < BATCHES + KEPT
        for source in (checkpoint / "spark" / "sources").iterdir():
            lists = sorted(source.glob("*.compact"), key=lambda file: int(file.stem))
            _, *lines = lists[-1].read_text().splitlines()
            assert all(json.loads(line)["batchId"] > 0 for line in lines), "files that are gone"
    engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
    engine.stream("s", lambda skip: (), columns="k BIGINT, ts TIMESTAMP", timestamp="ts")
    engine.sql(
        f"CREATE QUERY parts INTO parquet '{tmp_path / 'out'}' AS "
        "SELECT k % 3 AS part, count(*) AS n, sum(k) AS total FROM s [RANGE 4 SECONDS] "
        "GROUP BY part"
    )
    engine.start()
    engine.finish()
    answer = pl.read_parquet(tmp_path / "out" / "*.parquet")
    late = engine.counts("s").total.late
    assert answer["n"].sum() + late == given
    if not late:
        assert answer["total"].sum() == sum(range(given))
