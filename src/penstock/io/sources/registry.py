"""All sources, by the word after FROM."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.io.iterables import FORMAT as ITERABLE
from penstock.io.sources.file_source import FileSource
from penstock.io.sources.iterable_source import IterableSource
from penstock.io.sources.kafka_source import KafkaSource
from penstock.io.sources.redis_source import RedisSource
from penstock.io.sources.source_kind import SourceKind
from penstock.io.sources.spark_source import SparkSource
from penstock.io.sources.workload_source import WorkloadSource
from penstock.model.streams import Origin

SOURCES: Mapping[str, SourceKind] = {
    "avro": SparkSource("org.apache.spark:spark-avro_2.13"),
    "csv": FileSource(),
    ITERABLE: IterableSource(),
    "json": FileSource(),
    "kafka": KafkaSource(),
    "orc": FileSource(is_local=False),
    "parquet": FileSource(),
    "redis": RedisSource(),
    "text": FileSource(is_local=False),
    "workload": WorkloadSource(),
}

#: Those that this process reads.
LOCAL_SOURCES = [name for name, kind in SOURCES.items() if kind.is_local]


def source_of(origin: Origin) -> SourceKind:
    """How streams from somewhere are read; Spark may know formats that are not listed here."""
    return SOURCES.get(origin.format, SparkSource())


def names_files(origin: Origin) -> bool:
    """Whether a source has a path, and it names files, as far as is known."""
    return origin.path is not None and source_of(origin).has_files
