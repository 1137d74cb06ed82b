"""INTO kafka: a topic, to which every row is sent as a message with a JSON object as its value.

    OPTIONS (topic 'name')          the topic, which must be there
    key 'item'                      the column that is the key of messages, as text; of several
                                    columns ('item, day') a JSON object
    kafka.…                         options of the client (librdkafka), such as
                                    kafka.security.protocol, kafka.sasl.username

A row is there at least once. A batch is over when Kafka has acknowledged all of its messages
(`acks` of all replicas, an idempotent producer); one that fails before is sent again as a whole
after a restart. So that consumers can drop repeats, every message says what it is in headers:

    penstock-application    which query of which checkpoint has sent it
    penstock-batch          the number of its batch; batches are sent in order
    penstock-row            its number within the batch

Messages that are repeated have the same three, and go to the same partition, as long as the topic
has as many. Rows are numbered in the order of their values, because a batch that is computed again
may have them in another order; they are sent in the order in which they were computed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from penstock.errors import HostError, NotExecutable
from penstock.io.address import plain_cause
from penstock.io.extras import check_installed, imported
from penstock.io.json_text import no_json
from penstock.io.kafka_address import brokers_of, check_topic, client_options, kafka_options
from penstock.io.results import as_text
from penstock.io.sinks.sink_kind import SinkKind, Target, writing
from penstock.io.sinks.tables import key_columns, text_of
from penstock.model.schema import Schema
from penstock.model.streams import Place, Sink
from penstock.redaction import redacted

_WHAT = "INTO kafka"
_NEEDS = (_WHAT, "confluent_kafka", "kafka")
_OPTIONS = ("topic", "key")

#: Options of the client that promises to consumers rest on.
_OURS = (
    *("bootstrap.servers", "enable.idempotence", "acks", "request.required.acks"),
    *("max.in.flight", "max.in.flight.requests.per.connection", "transactional.id"),
)
#: What Java's client has instead of these.
_JAVA_ONLY = {
    "sasl.jaas.config": "kafka.sasl.username and kafka.sasl.password",
    "ssl.truststore.location": "kafka.ssl.ca.location, a file in PEM",
}

#: Milliseconds for which brokers are waited for, and the names of the option.
PATIENCE = 60_000
_PATIENCE = ("delivery.timeout.ms", "message.timeout.ms")
#: Bytes of a message, unless the client is told otherwise, and what surrounds key and value.
_MOST_BYTES = 1_000_000
_AROUND = 512
_REPEATED = "with a checkpoint, a restart sends the batch again, and no row is lost"
#: Messages between two looks at what was delivered.
_AT_ONCE = 1000


class KafkaTopics(SinkKind):
    """`INTO kafka 'host:port' OPTIONS (topic 'name', key 'column')`."""

    def check(self, sink: Sink, schema: Schema) -> None:
        brokers_of(sink, _WHAT)
        given = kafka_options(sink, _WHAT, _OPTIONS)
        check_topic(given.get("topic"), _WHAT)
        for column in schema:
            if why := no_json(column.type):
                raise NotExecutable(
                    f"{_WHAT} has no place for `{column.name}`, which is {column.type}: {why}",
                    hint=f"select text instead, such as {as_text(column.name, column.type)}",
                )
        key = key_columns(given.get("key"), schema, _WHAT)
        if len(key) == 1 and schema[key[0]].type.is_nested:
            raise NotExecutable(
                f"{_WHAT}: `{key[0]}` cannot be the key of messages: it is {schema[key[0]].type}",
                hint="name a column without parts",
            )
        for name, value in client_options(sink).items():
            _check_client_option(name.lower(), value)
        check_installed(*_NEEDS)

    def place(self, sink: Place) -> str:
        given = sink.lowercase_options
        return f"{redacted(str(sink.path))} topic {given.get('topic')}"

    def open(self, target: Target) -> KafkaWriter:
        return KafkaWriter(target, self.place(target.sink))


def _check_client_option(name: str, value: str) -> None:
    if name in _OURS:
        raise NotExecutable(
            f"{_WHAT}: the option `kafka.{name}` cannot be set",
            hint="brokers stand after INTO kafka; the other options are what `at least once` and "
            "the order of batches rest on",
        )
    if name in _JAVA_ONLY:
        raise NotExecutable(
            f"{_WHAT}: `kafka.{name}` is an option of Java's client, and librdkafka writes here",
            hint=f"use {_JAVA_ONLY[name]}",
        )
    if name in _PATIENCE and not (value.isdecimal() and int(value) > 0):
        raise NotExecutable(
            f"{_WHAT}: the option `kafka.{name}` cannot be '{value}'",
            hint=f"milliseconds, such as '{PATIENCE}'",
        )


@dataclass(frozen=True)
class _Message:
    """A row as it is sent; `number` is its own within the batch."""

    number: int
    key: str | bytes | None
    value: str


class KafkaWriter:
    """Sends batches to one topic; the client is made again after a failure."""

    def __init__(self, target: Target, place: str) -> None:
        with imported(*_NEEDS):
            import confluent_kafka
            from confluent_kafka import admin
        self._kafka: Any = confluent_kafka
        self._admin: Any = admin
        self._target = target
        self._place = place
        given = kafka_options(target.sink, _WHAT, _OPTIONS)
        self._topic = check_topic(given.get("topic"), _WHAT)
        self._key = key_columns(given.get("key"), target.schema, _WHAT)
        options = {name.lower(): v for name, v in client_options(target.sink).items()}
        patience = next((options.pop(name) for name in _PATIENCE if name in options), PATIENCE)
        self._patience = int(patience) / 1000
        self._settings: dict[str, Any] = {
            "partitioner": "murmur2_random",  # as Java's clients do
            "message.max.bytes": _MOST_BYTES,
            "log_level": 0,  # what is wrong stands in errors
            **options,
            "bootstrap.servers": brokers_of(target.sink, _WHAT),
            "message.timeout.ms": int(patience),
            "delivery.report.only.error": True,
            "enable.idempotence": True,
            "error_cb": self._note,
        }
        self._producer: Any = None
        self._partitions = 0
        #: What clients said last of brokers that they cannot use.
        self._said = ""
        with writing(target, place):
            self._connect()

    def write(self, batch: int, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        with writing(self._target, self._place):
            messages = list(messages_of(rows, self._key))
            self._check_sizes(messages)
            try:
                if self._producer is None:
                    self._connect()
                self._send(batch, messages)
            except BaseException:
                self.close()  # nothing of the batch is sent later, behind others
                raise

    def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()

    def _note(self, error: Any) -> None:
        self._said = self._plain(error)

    def _connect(self) -> None:
        """A client for the topic, which must be there: a broker might make it by itself."""
        self._said = ""
        try:
            self._producer = self._kafka.Producer(self._settings)
            admin = self._admin.AdminClient({**self._settings, "enable.idempotence": False})
        except self._kafka.KafkaException as cause:
            # Of an option that the client does not know, or whose value it does not take.
            raise HostError(f"{self._where}: {self._plain(cause.args[0])}") from None
        asked = admin.describe_topics(
            self._kafka.TopicCollection([self._topic]), request_timeout=self._patience
        )[self._topic]
        end = time.monotonic() + self._patience
        while not asked.done():
            self._producer.poll(0.05)  # which hears what is wrong
            if time.monotonic() > end:
                raise self._unanswered()
        try:
            self._partitions = len(asked.result().partitions)
        except self._kafka.KafkaException as cause:
            raise self._failure(cause.args[0]) from None

    def _check_sizes(self, messages: list[_Message]) -> None:
        """Refuse a message that is too large before the first one of its batch is sent."""
        most = int(self._settings["message.max.bytes"])
        for message in messages:
            size = len(message.value.encode()) + len(message.key or "") + _AROUND
            if size > most:
                raise self._too_large(f"a row of {size:,} bytes, and the client sends {most:,}")

    def _send(self, batch: int, messages: list[_Message]) -> None:
        failures: list[Any] = []

        def failed(error: Any, _: Any) -> None:
            failures.append(error)

        producer, topic, partitions = self._producer, self._topic, self._partitions
        common = [
            ("penstock-application", self._target.application),
            ("penstock-batch", str(batch)),
        ]
        for place, message in enumerate(messages):
            headers = [*common, ("penstock-row", str(message.number))]
            to = {} if message.key is not None else {"partition": message.number % partitions}
            while True:
                try:
                    producer.produce(
                        topic,
                        message.value,
                        message.key,
                        headers=headers,
                        on_delivery=failed,
                        **to,
                    )
                    break
                except BufferError:  # so many wait already
                    producer.poll(0.1)
            if place % _AT_ONCE == 0:
                producer.poll(0)
                if failures:
                    break
        while not failures and producer.flush(0.1):
            pass
        if failures:
            raise self._failure(failures[0])

    def _failure(self, error: Any) -> HostError:
        """What an error of the client means."""
        codes = self._kafka.KafkaError
        match error.code():
            case codes.UNKNOWN_TOPIC_OR_PART | codes._UNKNOWN_TOPIC | codes._UNKNOWN_PARTITION:
                return HostError(
                    f"{self._where}: there is no topic `{self._topic}`",
                    hint=f"create it: kafka-topics.sh --bootstrap-server "
                    f"{self._settings['bootstrap.servers']} --create --topic {self._topic}",
                )
            case codes.MSG_SIZE_TOO_LARGE:
                return self._too_large("a row that is larger than the topic takes")
            case codes._MSG_TIMED_OUT | codes._TIMED_OUT | codes._TRANSPORT:
                return self._unanswered()
        return HostError(f"{self._where}: {self._plain(error)}", hint=_REPEATED)

    def _plain(self, error: Any) -> str:
        """What the client says, without secrets."""
        return plain_cause(Exception(error.str()), self._target.sink)[0]

    def _unanswered(self) -> HostError:
        why = f": {self._said}" if self._said else ""
        return HostError(
            f"{self._where}: no broker answered within {self._patience:g} s{why}",
            hint=f"{_REPEATED}; kafka.delivery.timeout.ms is how long brokers are waited for",
        )

    def _too_large(self, what: str) -> HostError:
        return HostError(
            f"{self._where}: {what}",
            hint=f"allow more, by the option kafka.message.max.bytes and by max.message.bytes of "
            f"the topic `{self._topic}`, or select less; then a restart sends the batch",
        )

    @property
    def _where(self) -> str:
        return f"{self._target.whose}: cannot write into kafka `{self._place}`"


def messages_of(rows: pl.DataFrame, key: tuple[str, ...] = ()) -> Iterator[_Message]:
    """Rows as messages, in their order.

    >>> rows = pl.DataFrame({"k": ["b", "a"], "n": [1, None]})
    >>> [(m.number, m.key, m.value) for m in messages_of(rows, ("k",))]
    [(1, 'b', '{"k":"b","n":1}'), (0, 'a', '{"k":"a","n":null}')]
    """
    # Not `splitlines`, which takes other signs for ends of lines, too.
    values = pl.Series(rows.write_ndjson().split("\n")[:-1], dtype=pl.String)
    numbers = values.rank("ordinal") - 1
    yield from map(_Message, numbers, _keys(rows, key), values)


def _keys(rows: pl.DataFrame, key: tuple[str, ...]) -> Iterable[Any]:
    if not key:
        return [None] * rows.height
    if len(key) > 1:
        return rows.select(key).write_ndjson().split("\n")[:-1]
    return rows.select(text_of(key[0], rows.schema[key[0]])).to_series()
