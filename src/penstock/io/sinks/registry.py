"""The formats of this room, by the word after INTO."""

from __future__ import annotations

from penstock.io.results import SINK_FORMATS
from penstock.io.sinks.delta import DeltaTables
from penstock.io.sinks.kafka_topics import KafkaTopics
from penstock.io.sinks.postgres import PostgresTables
from penstock.io.sinks.redis_streams import RedisStreams
from penstock.io.sinks.sink_kind import SinkKind
from penstock.io.storage.storage_path import StoragePath, storage_path
from penstock.model.streams import Sink

SINKS: dict[str, SinkKind] = {
    "delta": DeltaTables(),
    "kafka": KafkaTopics(),
    "postgres": PostgresTables(),
    "redis": RedisStreams(),
}


def folder_of(sink: Sink) -> StoragePath | None:
    """The directory that holds what goes into a sink, and may hold a checkpoint."""
    if sink.format in SINKS:
        return SINKS[sink.format].folder(sink)
    return storage_path(str(sink.path)) if sink.format in SINK_FORMATS else None
