"""A group's kernel state inside Spark's state store.

One map, because every variable costs each task some 20 ms a batch:

    DIRECTORY     JSON: what there is, and of which segments (`runtime/snapshot.py`)
    value id      Arrow IPC: a segment under its own id, or a bundle of small ones (`bundles`)

A segment is written once, under an id drawn at random when it was made, and removed when nothing
refers to it any more; so what a batch writes is what is new in it. Reading from Spark's store is
slow: `SegmentCache` keeps what was read decoded.

An id names one content for ever, committed or not. Only ids of a committed directory are ever asked
for, so whatever became of other attempts, what the caches hold under them is right.

That the store holds them is Spark's part: directory and segments of one attempt must stay together.
They do in the second format of its checkpoints, where every attempt writes files of its own and the
commit names those that count (`session`); so retries, speculation, lost executors, failing sinks
and restarts need no further care. In the first, attempts at a batch share a file, and the state in
an executor's memory may be another attempt's than the one on disk.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl
from pyspark.sql.streaming.stateful_processor import MapState

from penstock.errors import HostError
from penstock.kernel.segments import Segment
from penstock.kernel.stacks import stacked
from penstock.kernel.state import from_ipc, to_ipc
from penstock.optimizer.physical import Program
from penstock.runtime.snapshot import describe, restore
from penstock.spark.catching_up.group_hosts import BEHIND, GroupHosts, together
from penstock.spark.faults import reach, step
from penstock.spark.state.bundles import (
    SegmentPlace,
    bundled,
    places_in,
    still_good,
    told_of,
    values_in,
)
from penstock.spark.state.segment_cache import SegmentCache
from penstock.spark.state.spark_files import DAMAGED

#: The key of the directory; no segment has it for an id.
DIRECTORY = (0,)


class SparkStateStore:
    """The state variable of one group's processor."""

    def __init__(self, map: MapState, cache: SegmentCache) -> None:
        self._map = map
        self._cache = cache
        #: By segment of the directory that is restored, where it is.
        self._places: dict[int, SegmentPlace] = {}

    def read(self) -> dict[str, Any] | None:
        """The committed directory; None in a group's first batch."""
        kept = self._map.getValue(DIRECTORY)
        if kept is None:
            return None
        return dict(json.loads(bytes(kept[0])))

    def restored(self, program: Program, directory: dict[str, Any]) -> GroupHosts:
        """The graphs of a program with a directory's state."""
        directory, have_joined = together(directory, program.catching_up)
        hosts = GroupHosts(program, directory)
        self._places = places_in(values_in(directory))
        for change, host in hosts.hosts():
            kept = directory.get(BEHIND, {}).get(change) if change else directory
            if kept is None:
                continue  # its queries have just come
            restore(host.states(), host.graph, kept, self._segment)
            if have_joined and not change:
                host.take_in()
            elif any(name not in kept["states"] for name, _ in host.states()):
                host.repeat_bounds()
        return hosts

    def write(self, hosts: GroupHosts, token: str, before: dict[str, Any] | None) -> None:
        """Keep a group's state; what is kept already is not written again."""
        directory: dict[str, Any] = {"token": token, BEHIND: {}}
        segments: dict[int, Segment] = {}
        for change, host in hosts.hosts():
            found, more = describe(host.states(), host.graph)
            found |= {"changed": host.changed, "handed": host.handed}
            found |= {"migrating": host.migrating, "measured": host.measured}
            segments |= more
            if change:
                directory[BEHIND][change] = found
            else:
                directory |= found
        known = {} if before is None else values_in(before)
        values = still_good(known, segments.keys())
        written = {number for parts in values.values() for number, _ in parts}
        new = {n: segment.whole for n, segment in segments.items() if n not in written}
        for value, parts in bundled(new):
            rows = stacked([new[number] for number, _ in parts])
            # Compressed: Spark's store takes about as long for a byte as LZ4 for ten.
            data = to_ipc(rows, compression="lz4")
            for _ in step("state.segment"):
                self._map.updateValue((value,), (data,))
            self._cache.put(value, rows, data)
            values[value] = parts
        reach("state.segments")
        for value in known.keys() - values.keys():
            self._map.removeKey((value,))
            self._cache.drop(value)
        directory |= told_of(values)
        for _ in step("state.directory"):
            self._map.updateValue(DIRECTORY, (json.dumps(directory).encode(),))

    def _segment(self, number: int, purged: int) -> Segment:
        place = self._places[number]
        rows = self._value(place.value)
        if place.rows is not None:
            rows = rows.slice(place.first, place.rows)
        return Segment(rows, number, purged)

    def _value(self, number: int) -> pl.DataFrame:
        rows = self._cache.get(number)
        if rows is None:
            kept = self._map.getValue((number,))
            if kept is None:
                raise HostError(
                    f"the checkpoint is damaged: segment {number} of its state is missing",
                    hint=DAMAGED,
                )
            data = bytes(kept[0])
            rows = from_ipc(data)
            self._cache.put(number, rows, data)
        return rows
