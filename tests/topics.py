"""A topic of a Kafka broker, for tests: made, filled, read and emptied."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from tests.servers import Server

#: Seconds in which the broker must have done something.
PATIENCE = 60.0


class Sent(NamedTuple):
    """A message that somebody has sent."""

    partition: int
    key: str | None
    value: Any
    headers: dict[str, str]

    @property
    def identity(self) -> tuple[str, int, int]:
        """What consumers know repeats by."""
        of = self.headers
        return of["penstock-application"], int(of["penstock-batch"]), int(of["penstock-row"])


class Topic:
    """One topic, which nobody else has."""

    def __init__(self, server: Server, name: str, partitions: int = 1, **settings: str) -> None:
        self.name = re.sub(r"[^\w.-]", "_", name)[:200]
        self.brokers = f"127.0.0.1:{server.port}"
        self._settings: dict[str, Any] = {"bootstrap.servers": self.brokers, "log_level": 0}
        if partitions:
            self.create(partitions, **settings)

    def create(self, partitions: int = 1, **settings: str) -> None:
        config = {name.replace("_", "."): value for name, value in settings.items()}
        new = NewTopic(self.name, partitions, 1, config=config)
        admin = AdminClient(self._settings)
        admin.create_topics([new])[self.name].result(PATIENCE)
        _until(lambda: len(self._partitions()) == partitions)

    def grow(self, partitions: int) -> None:
        admin = AdminClient(self._settings)
        [done] = admin.create_partitions([NewPartitions(self.name, partitions)]).values()
        done.result(PATIENCE)
        _until(lambda: len(self._partitions()) == partitions)

    def delete(self) -> None:
        admin = AdminClient(self._settings)
        admin.delete_topics([self.name])[self.name].result(PATIENCE)
        _until(lambda: not self._partitions())

    def delete_below(self, offset: int, partition: int = 0) -> None:
        """As retention does in time."""
        place = TopicPartition(self.name, partition, offset)
        admin = AdminClient(self._settings)
        [done] = admin.delete_records([place]).values()
        assert done.result(PATIENCE).low_watermark == offset

    def send(self, values: Iterable[Any], partition: int = 0) -> None:
        """Messages of JSON; text and bytes are sent as they are, None without a value."""
        producer = Producer(self._settings)
        for value in values:
            raw = value if value is None or isinstance(value, str | bytes) else json.dumps(value)
            producer.produce(self.name, raw, partition=partition)
        assert producer.flush(PATIENCE) == 0

    def read(self) -> list[Sent]:
        """All messages that are there now, of each partition in order."""
        settings = {"group.id": "t", "enable.auto.commit": False, "fetch.wait.max.ms": 10}
        consumer = Consumer({**self._settings, **settings})
        try:
            places = [TopicPartition(self.name, p, OFFSET_BEGINNING) for p in self._partitions()]
            left = {}
            for place in places:
                low, high = consumer.get_watermark_offsets(place, timeout=PATIENCE)
                if low < high:
                    left[place.partition] = high
            consumer.assign(places)
            found = list(_up_to(consumer, left))
        finally:
            consumer.close()
        return sorted(found, key=lambda message: message.partition)

    def _partitions(self) -> list[int]:
        try:
            found = AdminClient(self._settings).list_topics(timeout=PATIENCE).topics.get(self.name)
        except KafkaException:
            return []
        return sorted(found.partitions) if found is not None else []


def _up_to(consumer: Consumer, left: dict[int, int]) -> Iterator[Sent]:
    """What comes until each partition has come to an offset."""
    end = time.monotonic() + PATIENCE
    while left:
        message: Any = consumer.poll(0.2)
        assert time.monotonic() < end, left
        if message is None:
            continue
        partition, offset = message.partition(), message.offset()
        if partition in left:
            yield _sent(message)
            if offset + 1 >= left[partition]:
                del left[partition]


def _sent(message: Any) -> Sent:
    key, value = message.key(), message.value()
    headers = {name: text.decode() for name, text in message.headers() or []}
    return Sent(
        message.partition(),
        None if key is None else bytes(key).decode(),
        None if value is None else json.loads(value),
        headers,
    )


def once(messages: Iterable[Sent]) -> list[Any]:
    """The values without repeats, as a consumer drops them; no batch comes behind a later one."""
    seen: dict[tuple[str, int, int], Any] = {}
    latest: dict[tuple[int, str], int] = {}
    for message in messages:
        application, batch, _ = message.identity
        before = latest.setdefault((message.partition, application), batch)
        assert before <= batch, "batches are sent in order"
        latest[message.partition, application] = batch
        assert seen.setdefault(message.identity, message.value) == message.value
    return list(seen.values())


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)
