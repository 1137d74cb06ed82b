"""INTO kafka, against a real broker: every row at least once, and repeats can be told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

from penstock.errors import HostError, PenstockError
from penstock.io.sinks.kafka_topics import KafkaTopics, messages_of
from penstock.io.sinks.sink_kind import SinkWriter
from penstock.local.engine import LocalEngine
from penstock.model.schema import Column, Schema
from penstock.model.streams import Sink
from penstock.model.types import Type
from tests.io.sinks.rows import PARTS, SMALL, small, target, with_parts
from tests.servers import Server
from tests.topics import Topic, once

Topics = Callable[..., Topic]


@pytest.fixture
def topic(kafka: Server, request: pytest.FixtureRequest) -> Topics:
    """Makes topics that nobody else has."""
    return lambda name="t", *rest, **more: Topic(
        kafka, f"{request.node.name}.{name}", *rest, **more
    )


def opened(topic: Topic, schema: Schema = SMALL, brokers: str = "", **options: str) -> SinkWriter:
    sink = Sink("kafka", brokers or topic.brokers, given(topic.name, options))
    KafkaTopics().check(sink, schema)
    return KafkaTopics().open(target(sink, schema))


def given(topic: str, options: dict[str, str]) -> tuple[tuple[str, str], ...]:
    of_client = {"key": "key", **{n: f"kafka.{n.replace('_', '.')}" for n in options if n != "key"}}
    return (("topic", topic), *((of_client[name], value) for name, value in options.items()))


def test_a_row_is_a_message_of_json_with_its_batch_in_the_headers(topic: Topics) -> None:
    there = topic(partitions=2)
    sink = opened(there)
    sink.write(3, small(("b", 1), ("a", None), (None, None)))
    sink.write(4, small())
    sink.close()
    found = there.read()
    assert sorted((m.headers["penstock-row"], m.value["k"], m.value["n"]) for m in found) == [
        ("0", "a", None),
        ("1", "b", 1),
        ("2", None, None),
    ]
    assert {m.identity[:2] for m in found} == {("a1:query q", 3)}
    assert {m.key for m in found} == {None}


def test_what_has_parts_is_json_with_all_digits(topic: Topics) -> None:
    there = topic()
    opened(there, PARTS, key="price").write(0, with_parts())
    first, second, third = there.read()
    assert (first.key, second.key, third.key) == ("1234567890.25", "-0.01", None)
    assert first.value["visits"] == [{"page": "/", "ms": 5}, None]
    assert first.value["user"]["paid"] == "0.10" and first.value["counts"] == {"k": 1, "é": None}
    assert first.value["clock"] == "2026-03-01 12:30:00.123456"
    assert third.value == {**dict.fromkeys(PARTS.names), "id": 3}


def test_rows_of_a_key_are_in_one_partition_in_their_order(topic: Topics) -> None:
    there = topic(partitions=3)
    rows = [(f"k{n % 5}", n) for n in range(50)]
    opened(there, key="K").write(0, small(*rows))
    found = there.read()
    places = {key: {m.partition for m in found if m.key == key} for key in ("k0", "k1", "k2")}
    assert all(len(each) == 1 for each in places.values())
    assert [m.value["n"] for m in found if m.key == "k1"] == list(range(1, 50, 5))
    opened(there, key="n, k").write(1, small(("a", 7)))
    assert [m.key for m in there.read() if m.identity[1] == 1] == ['{"n":7,"k":"a"}']


def test_a_batch_that_is_repeated_is_known_by_its_messages_whatever_the_order_of_rows(
    topic: Topics,
) -> None:
    there = topic(partitions=3)
    rows = [(f"k{n % 7}", n % 11) for n in range(40)]
    first = opened(there)
    first.write(0, small(*rows))
    first.write(1, small(("z", 1)))
    opened(there).write(1, small(("z", 1)))
    assert len(there.read()) == 42
    assert sorted(once(there.read()), key=str) == sorted(
        ({"k": k, "n": n} for k, n in [*rows, ("z", 1)]), key=str
    )
    turned = {(m.number, m.value) for m in messages_of(small(*reversed(rows)))}
    assert turned == {(m.number, m.value) for m in messages_of(small(*rows))}


def test_signs_that_end_lines_elsewhere_stay_in_their_message() -> None:
    odd = "a\nb\u2028c\x85d\x0be"
    [message] = messages_of(pl.DataFrame({"k": [odd]}))
    assert message.value.count("\n") == 0 and "\u2028" in message.value


def test_a_topic_that_is_not_there_is_named_and_not_made(topic: Topics) -> None:
    there = topic(partitions=0)
    for _ in range(2):
        with pytest.raises(HostError, match=f"there is no topic `{there.name}`") as failed:
            opened(there)
    assert f"--create --topic {there.name}" in str(failed.value)
    there.create()
    sink = opened(there)
    there.delete()
    with pytest.raises(HostError, match=there.name):
        opened(there)
    there.create()
    sink.write(0, small(("a", 1)))
    assert [m.value["k"] for m in there.read()] == ["a"]


def test_a_row_that_is_too_large_is_refused_before_others_of_its_batch_are_sent(
    topic: Topics,
) -> None:
    there = topic(max_message_bytes="2000")
    sink = opened(there)
    with pytest.raises(HostError, match=r"a row of 1,5\d\d,\d{3} bytes, and the client sends 1,0"):
        sink.write(0, small(("a", 1), ("x" * 1_500_000, 2)))
    assert there.read() == []
    with pytest.raises(HostError, match="larger than the topic takes") as failed:
        sink.write(0, small(("x" * 5000, 2)))
    assert f"max.message.bytes of the topic `{there.name}`" in str(failed.value)
    sink.write(0, small(("short", 3)))
    assert [m.value["k"] for m in there.read()] == ["short"]


def test_a_broker_that_is_gone_is_named_and_one_that_is_back_is_used(
    kafka: Server, topic: Topics
) -> None:
    there = topic()
    sink = opened(there, delivery_timeout_ms="1500")
    sink.write(0, small(("a", 1)))
    kafka.kill()
    try:
        with pytest.raises(HostError) as failed:
            sink.write(1, small(("b", 2)))
        with pytest.raises(HostError, match=r"no broker answered within 1.5 s: .*refused"):
            opened(there, delivery_timeout_ms="1500")
    finally:
        kafka.start()
    assert f"cannot write into kafka `{there.brokers} topic {there.name}`" in str(failed.value)
    assert "no row is lost" in str(failed.value)
    for batch in (1, 2):
        sink.write(batch, small(("b", batch)))
    assert [row["n"] for row in once(there.read())] == [1, 1, 2]


@pytest.mark.slow
def test_a_broker_that_comes_back_soon_is_waited_for(kafka: Server, topic: Topics) -> None:
    there = topic()
    sink = opened(there)
    sink.write(0, small(("a", 0)))
    kafka.kill()
    kafka.start()
    sink.write(1, small(("a", 1)))
    assert [m.identity[1] for m in there.read()] == [0, 1]


def test_what_nobody_may_see_is_not_shown(topic: Topics) -> None:
    there = topic()
    security: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": "ada",
        "sasl_password": "hunter2",
    }
    with pytest.raises(HostError, match=r"no broker answered within 1 s: .*handshake") as failed:
        opened(there, delivery_timeout_ms="1000", **security)
    assert "hunter2" not in str(failed.value)
    with pytest.raises(HostError) as failed:
        opened(there, sasl_password="hunter2", compression_codec="hunter2")
    assert "compression" in str(failed.value) and "hunter2" not in str(failed.value)


def test_results_of_this_process_go_there_and_so_do_late_rows(topic: Topics) -> None:
    there, aside = topic(), topic("aside")
    engine = LocalEngine()
    engine.sql(
        "CREATE STREAM s (k STRING, ts TIMESTAMP) TIMESTAMP BY ts "
        f"LATE INTO kafka '{aside.brokers}' OPTIONS (topic '{aside.name}');"
        f"CREATE QUERY q INTO kafka '{there.brokers}' OPTIONS (topic '{there.name}', key 'k') AS "
        "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"
    )
    times = ["2026-01-01 12:00:10+02:00", "2026-01-01 10:02:00", "2026-01-01 09:00:00"]
    for time in times:
        engine.push("s", [{"k": "a", "ts": time}])
    engine.finish()
    assert [(m.key, m.value["n"], m.value["window_start"]) for m in there.read()] == [
        ("a", 1, "2026-01-01 10:00:00"),
        ("a", 1, "2026-01-01 10:02:00"),
    ]
    assert [(m.value["why"], m.value["ts"]) for m in aside.read()] == [
        ("late", "2026-01-01 09:00:00")
    ]


TOPIC = {"topic": "t"}


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        (None, TOPIC, "needs the address of a broker"),
        ("localhost", TOPIC, "is not a list of brokers"),
        ("https://ada:hunter2@h:1", TOPIC, "is not a list of brokers"),
        ("h:1", {}, "needs the name of a topic"),
        ("h:1", {"topic": "a b"}, "`a b` cannot be the name of a topic"),
        ("h:1", {**TOPIC, "group": "g"}, "no option `group`"),
        ("h:1", {**TOPIC, "key": "z"}, "names `z`, which the query does not have"),
        ("h:1", {**TOPIC, "kafka.acks": "0"}, r"`kafka.acks` cannot be set"),
        ("h:1", {**TOPIC, "kafka.sasl.jaas.config": "hunter2"}, r"use kafka.sasl.username"),
        ("h:1", {**TOPIC, "kafka.delivery.timeout.ms": "soon"}, "cannot be 'soon'"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(
    path: str | None, options: dict[str, str], words: str
) -> None:
    with pytest.raises(PenstockError, match=words) as refused:
        KafkaTopics().check(Sink("kafka", path, tuple(options.items())), SMALL)
    assert "hunter2" not in str(refused.value)


def test_columns_that_json_has_no_place_for_are_refused_with_a_way_out() -> None:
    sink = Sink("kafka", "h:1", (("topic", "t"),))
    with pytest.raises(PenstockError, match=r"(?s)no place for `x`.*bytes.*base64\(x\)"):
        KafkaTopics().check(sink, Schema.of([Column("x", Type.BINARY)]))
    nested = Sink("kafka", "h:1", (("topic", "t"), ("key", "words")))
    with pytest.raises(PenstockError, match="`words` cannot be the key"):
        KafkaTopics().check(nested, PARTS)


def test_without_the_package_the_extra_is_named() -> None:
    with (
        patch("penstock.io.extras.find_spec", return_value=None),
        pytest.raises(HostError, match=r"penstock\[kafka\]"),
    ):
        KafkaTopics().check(Sink("kafka", "h:1", (("topic", "t"),)), SMALL)


def test_results_are_not_written_where_their_stream_reads() -> None:
    engine = LocalEngine()
    place = "kafka 'h:1' OPTIONS (topic 'a')"
    engine.sql(f"CREATE STREAM s (k STRING) FROM {place}")
    with pytest.raises(PenstockError, match="would be read as rows"):
        engine.sql(f"CREATE QUERY q INTO {place} AS SELECT k FROM s")
