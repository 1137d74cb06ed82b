"""Spark's state store as dicts, with what pyspark's own handle hands out: tuples of binary values.

A `FakeStateStore` is what is committed for one group. An attempt at a batch works on a `copy` of
it, which takes its place when the batch is committed and is thrown away when it failed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

from penstock.spark.state.spark_state_store import DIRECTORY


@dataclass
class FakeStateStore:
    """One group's state variables, and how often each segment was written and read."""

    maps: dict[str, dict[int, bytes]] = field(default_factory=dict)
    writes: Counter[int] = field(default_factory=Counter)
    bytes_written: int = 0
    bytes_read: int = 0

    def copy(self) -> FakeStateStore:
        maps = {name: dict(entries) for name, entries in self.maps.items()}
        return replace(self, maps=maps, writes=Counter(self.writes))

    @property
    def directory(self) -> bytes:
        return self.maps["state"][DIRECTORY[0]]

    @property
    def segments(self) -> dict[int, bytes]:
        entries = self.maps.get("state", {})
        return {key: value for key, value in entries.items() if (key,) != DIRECTORY}

    def handle(self) -> StatefulProcessorHandle:
        return cast(StatefulProcessorHandle, FakeHandle(self))

    def map(self, name: str) -> MapState:
        return cast(MapState, FakeMap(self, self.maps.setdefault(name, {})))


@dataclass
class FakeHandle:
    """What `StatefulProcessor.init` gets."""

    store: FakeStateStore

    def getMapState(self, name: str, key_schema: Any, value_schema: Any) -> MapState:
        return self.store.map(name)


@dataclass
class FakeMap:
    store: FakeStateStore
    entries: dict[int, bytes]

    def getValue(self, key: tuple[int]) -> tuple[bytearray] | None:
        found = self.entries.get(key[0])
        if key != DIRECTORY:
            self.store.bytes_read += len(found or b"")
        return None if found is None else (bytearray(found),)

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        [self.entries[key[0]]] = value
        if key != DIRECTORY:
            self.store.writes[key[0]] += 1
        self.store.bytes_written += len(value[0])

    def removeKey(self, key: tuple[int]) -> None:
        del self.entries[key[0]]
