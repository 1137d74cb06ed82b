"""State in Spark's store: what a batch writes is what is new in it, and it comes back as it was."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import pytest

from penstock.errors import HostError
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from penstock.spark.alive_graphs import AliveGraphs
from penstock.spark.catching_up.group_hosts import GroupHosts
from penstock.spark.in_memory.micro_batches import FakePipeline, MicroBatch, Worker
from penstock.spark.in_memory.state_store import FakeStateStore
from penstock.spark.state.segment_cache import SegmentCache
from penstock.spark.state.spark_state_store import SparkStateStore
from tests.engine.random_streams import Declared
from tests.spark.group_pipelines import pipeline_of

OPEN = "SELECT k, count(*) AS n, sum(v) AS s FROM a [RANGE 1 DAYS, SLIDE 1 DAYS, WA ts] GROUP BY k"
MERGED = "SELECT k, ts FROM a UNION b"


def rows(keys: range, ts: int) -> list[dict[str, Any]]:
    return [{"k": f"key {k}", "v": k, "d": 0.5, "ts": ts + n} for n, k in enumerate(keys)]


def of_a(*each: dict[str, Any]) -> MicroBatch:
    return MicroBatch({"a": [[list(each)]]})


def only_store(pipeline: FakePipeline) -> FakeStateStore:
    [store] = pipeline.stores.values()
    return store


def open_window(batches: int, size: int, fresh_keys: bool) -> tuple[FakePipeline, list[int]]:
    """A tumbling window that stays open; gives the bytes that each batch wrote."""
    pipeline = pipeline_of(OPEN, Declared("a", 0), groups=1)
    worker, written = Worker(None), []
    for n in range(batches):
        before = only_store(pipeline).bytes_written
        first = n * size if fresh_keys else 0
        pipeline.process(of_a(*rows(range(first, first + size), n * size)), lambda group: worker)
        written.append(only_store(pipeline).bytes_written - before)
    return pipeline, written


def test_what_a_batch_writes_does_not_grow_with_the_state() -> None:
    pipeline, written = open_window(batches=64, size=50, fresh_keys=True)
    kept = sum(map(len, only_store(pipeline).segments.values()))
    assert kept > 12 * median(written[:16])
    assert median(written[-16:]) < 1.5 * median(written[:16])
    # Now and then small segments are merged; each row is rewritten a few times at most.
    assert sum(written) < 6 * kept


def test_a_window_over_the_same_keys_stays_as_large_as_they_are() -> None:
    pipeline, written = open_window(batches=40, size=50, fresh_keys=False)
    assert len(only_store(pipeline).segments) < 10
    assert max(written[-10:]) <= 1.5 * max(written[:10])


def test_segments_are_written_once_and_go_when_nothing_refers_to_them() -> None:
    pipeline, _ = open_window(batches=20, size=10, fresh_keys=True)
    store = only_store(pipeline)
    assert set(store.writes.values()) == {1}
    assert set(json.loads(store.directory)["segments"]) == set(store.segments)
    assert len(store.writes) > len(store.segments)
    pipeline.process(MicroBatch(bounds={"a": END}), lambda group: Worker(None))
    assert only_store(pipeline).segments == {}


def test_a_batch_without_rows_writes_no_segment() -> None:
    pipeline, _ = open_window(batches=3, size=10, fresh_keys=True)
    before = dict(only_store(pipeline).writes)
    pipeline.process(MicroBatch(bounds={"a": 1}), lambda group: Worker(None))
    assert only_store(pipeline).writes == before


def test_segments_that_the_cache_has_are_not_read_from_the_store() -> None:
    pipeline = pipeline_of(OPEN, Declared("a", 0), groups=1)
    worker = Worker(None)
    for n in range(4):
        worker.alive = AliveGraphs()  # the graph is gone, the cache is not
        pipeline.process(of_a(*rows(range(5), 10 * n)), lambda group: worker)
    assert only_store(pipeline).bytes_read == 0
    pipeline.process(of_a(*rows(range(5), 90)), lambda group: Worker(None))
    assert only_store(pipeline).bytes_read > 0


def test_rows_that_wait_for_another_stream_are_kept_once_and_restored() -> None:
    pipeline = pipeline_of(MERGED, Declared("a", 0), Declared("b", 0), groups=1, union="merge")
    for n in range(4):
        pipeline.process(of_a(*rows(range(3), 10 * n)), lambda group: Worker(None))
    assert pipeline.rows("result", "q0") == []
    assert set(only_store(pipeline).writes.values()) == {1}
    assert len(only_store(pipeline).writes) == 4
    pipeline.process(MicroBatch(bounds={"b": 21}), lambda group: Worker(None))
    some = [row["ts"] for row in pipeline.rows("result", "q0")]
    assert some == [0, 1, 2, 10, 11, 12, 20, 21]
    pipeline.process(MicroBatch(bounds={"b": END}), lambda group: Worker(None))
    assert [row["ts"] for row in pipeline.rows("result", "q0")] == [*some, 22, 30, 31, 32]


def test_punctuation_for_some_rows_that_waits_stays_for_some_rows() -> None:
    pipeline = pipeline_of(MERGED, Declared("a", 0), Declared("b", 0), groups=1, union="merge")
    hosts, store = GroupHosts(pipeline.exchange.program), FakeStateStore()
    punctuation = Punctuation("ts", 5, (("k", ("x",)),))
    hosts.live.graph.nodes["a"].output.append_as_is(punctuation)
    SparkStateStore(store.map("state"), SegmentCache(None)).write(hosts, "token", None)
    kept = SparkStateStore(store.map("state"), SegmentCache(None))
    directory = kept.read()
    assert directory is not None
    again = kept.restored(hosts.program, directory)
    assert again.live.graph.nodes["a"].output.items == [punctuation]


def test_a_fresh_graph_restored_is_the_graph_that_was_kept() -> None:
    pipeline, _ = open_window(batches=5, size=10, fresh_keys=True)
    store = only_store(pipeline)
    kept = SparkStateStore(store.map("state"), SegmentCache(None))
    directory = kept.read()
    assert directory is not None
    hosts = kept.restored(pipeline.exchange.program, directory)
    again = store.copy()
    SparkStateStore(again.map("state"), SegmentCache(None)).write(
        hosts, directory["token"], directory
    )
    assert json.loads(again.directory) == directory
    assert again.segments == store.segments
    assert again.writes == store.writes


def test_a_group_that_has_not_run_has_no_directory() -> None:
    assert SparkStateStore(FakeStateStore().map("state"), SegmentCache(None)).read() is None


def test_a_segment_that_is_missing_is_damage_and_says_so() -> None:
    pipeline, _ = open_window(batches=2, size=5, fresh_keys=True)
    store = only_store(pipeline)
    [lost, *_] = store.segments
    del store.maps["state"][lost]
    kept = SparkStateStore(store.map("state"), SegmentCache(None))
    directory = kept.read()
    assert directory is not None
    with pytest.raises(HostError, match=f"damaged: .*{lost}"):
        kept.restored(pipeline.exchange.program, directory)
