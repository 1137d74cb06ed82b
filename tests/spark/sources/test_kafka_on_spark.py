"""FROM kafka on Spark, against a real broker: to files, to topics, and what goes wrong."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.errors import HostError, NotExecutable, PenstockError
from penstock.io.sources.kafka_source import KafkaSource, lost_messages
from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine
from penstock.spark.sources.packages import way_to
from tests.kafka_jars import connector_jars
from tests.pages import ROOT
from tests.servers import PASSWORD, Server
from tests.spark.sources.test_sources import declared, told
from tests.topics import PATIENCE, Topic, once

Topics = Callable[..., Topic]

JOINED = (
    "SELECT b.item, b.price, a.price AS asked FROM bids [RANGE 10 SECONDS] AS b, "
    "asks [RANGE 10 SECONDS] AS a WHERE b.item = a.item AND b.price >= a.price"
)
COLUMNS = "(item STRING, price INT, ts TIMESTAMP)"


@pytest.fixture
def topic(kafka: Server, request: pytest.FixtureRequest) -> Topics:
    """Makes topics that nobody else has."""
    return lambda name="t", *rest, **more: Topic(
        kafka, f"{request.node.name}.{name}", *rest, **more
    )


def stream(name: str, topic: Topic, more: str = "") -> str:
    return (
        f"CREATE STREAM {name} {COLUMNS} FROM kafka '{topic.brokers}' "
        f"OPTIONS (topic '{topic.name}'{more}) TIMESTAMP BY ts SLACK 5 SECONDS;"
    )


def bid(number: int, price: Any = 1) -> dict[str, Any]:
    return {"item": f"i{number % 3}", "price": price, "ts": f"2026-01-01 00:00:{number:02}"}


def rows_of(seed: int) -> list[dict[str, Any]]:
    """Bids out of order by less than the slack."""
    dice = random.Random(seed)
    found = [bid(n, dice.randrange(10)) for n in range(60)]
    return sorted(found, key=lambda row: int(row["ts"][-2:]) + dice.randrange(5))


def expected(select: str, **rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What this process computes of rows that are pushed."""
    engine = LocalEngine()
    for name in rows:
        engine.sql(f"CREATE STREAM {name} {COLUMNS} TIMESTAMP BY ts SLACK 5 SECONDS")
    query = engine.sql(select)
    for name, given in rows.items():
        engine.push(name, given)
    engine.finish()
    return sorted(query.results().rows())


@contextmanager
def running(spark: SparkSession, text: str, checkpoint: Path | None = None) -> Iterator[Engine]:
    engine = Engine(spark, checkpoint=checkpoint)
    try:
        engine.sql(text)
        engine.start()
        engine.process_available()
        yield engine
    finally:
        engine.stop()


def test_topics_are_joined_into_files_and_into_a_topic(
    spark: SparkSession, tmp_path: Path, topic: Topics
) -> None:
    bids, asks, out = topic("bids", 3), topic("asks", 2), topic("out", 2)
    given = {"bids": rows_of(1), "asks": rows_of(2)}
    # Of each stream one partition has nothing, and holds nothing back.
    for place, row in enumerate(given["bids"]):
        bids.send([row], place % 2)
    asks.send(given["asks"], 1)
    odd = ["nonsense", "[1, 2]", '{"item": "a", "price": "dear"}', None, ""]
    bids.send(odd)
    text = (
        stream("bids", bids)
        + stream("asks", asks)
        + f"CREATE QUERY filed INTO parquet '{tmp_path}/out' AS {JOINED};"
        + f"CREATE QUERY sent INTO kafka '{out.brokers}' OPTIONS (topic '{out.name}', key 'item') "
        + f"AS {JOINED}"
    )
    with running(spark, text, tmp_path / "checkpoint") as engine:
        engine.process_available()
        before = len(out.read())
        engine.finish()
        counts = engine.counts("bids")
        assert (counts.rows, counts.late, counts.malformed) == (60, 0, len(odd))
        assert counts.reasons == {"no row": 4, "price is not a valid INT": 1}
        texts = {r for each in engine.rejected_rows for r in each.rows["reason"]}
        assert {"no row: (no value)", "no row: (empty)", "no row: nonsense"} < texts
    wanted = expected(JOINED, **given)
    assert len(wanted) > 10
    assert sorted(pl.read_parquet(f"{tmp_path}/out/*.parquet").rows()) == wanted
    sent = once(out.read())
    assert sorted(tuple(row.values()) for row in sent) == wanted
    assert before > 0, "results come out before the end of the run"


def test_a_streaming_dataframe_of_kafka_is_joined_into_a_topic(
    spark: SparkSession, tmp_path: Path, topic: Topics
) -> None:
    bids, asks, out = topic("bids"), topic("asks"), topic("out")
    given = {"bids": rows_of(3), "asks": rows_of(4)}
    engine = Engine(spark, checkpoint=tmp_path / "checkpoint")
    for name, place in (("bids", bids), ("asks", asks)):
        place.send(given[name])
        reader = spark.readStream.format("kafka").option("subscribe", place.name)
        reader = reader.option("kafka.bootstrap.servers", place.brokers)
        frame = reader.option("startingOffsets", "earliest").load()
        row = F.from_json(frame.value.cast("string"), "item STRING, price INT, ts TIMESTAMP")
        engine.stream(name, frame.select(row.alias("r")).select("r.*"), timestamp="ts", slack="5 s")
    engine.sql(
        f"CREATE QUERY q INTO kafka '{out.brokers}' OPTIONS (topic '{out.name}') AS {JOINED}"
    )
    engine.start()
    engine.finish()
    assert sorted(tuple(row.values()) for row in once(out.read())) == expected(JOINED, **given)


ALL = "CREATE QUERY q AS SELECT item, price FROM s"


def test_messages_that_were_deleted_are_named_and_passed_over_if_one_says_so(
    spark: SparkSession, tmp_path: Path, topic: Topics
) -> None:
    there = topic("bids", 2)
    text = stream("s", there) + f"CREATE QUERY q INTO csv '{tmp_path}/out' AS SELECT ts FROM s"
    there.send(map(bid, range(10)), 1)
    with running(spark, text, tmp_path / "checkpoint"):
        pass
    there.send(map(bid, range(10, 20)), 1)
    there.delete_below(15, 1)
    with (
        pytest.raises(HostError, match=f"topic `{there.name}`, partition 1: .* 10 to 19") as failed,
        running(spark, text, tmp_path / "checkpoint"),
    ):
        pass
    assert "failOnDataLoss 'false'" in str(failed.value)
    goes_on = text.replace(f"'{there.name}'", f"'{there.name}', failOnDataLoss 'false'")
    with running(spark, goes_on, tmp_path / "checkpoint"):
        pass
    found = pl.read_csv(f"{tmp_path}/out/*.csv")["ts"].to_list()
    assert sorted(int(text[17:19]) for text in found) == [*range(10), *range(15, 20)]


def test_a_topic_that_is_not_there_is_named_and_one_that_comes_later_is_found_by_a_pattern(
    spark: SparkSession, tmp_path: Path, topic: Topics
) -> None:
    later = topic("later", partitions=0)
    with (
        pytest.raises(HostError, match=f"stream `s`: kafka .* has no topic `{later.name}`"),
        running(spark, stream("s", later) + ALL),
    ):
        pass
    text = (stream("s", later) + ALL).replace(
        f"topic '{later.name}'",
        f"subscribePattern '{later.name[:-5]}.*', kafka.metadata.max.age.ms '100'",
    )
    with running(spark, text) as engine:
        later.create()
        later.send(map(bid, range(5)))
        end = time.monotonic() + PATIENCE
        while engine.query("q").results().height < 5:
            engine.process_available()
            assert time.monotonic() < end
        later.grow(2)
        later.send(map(bid, range(3)), 1)
        while engine.query("q").results().height < 8:
            engine.process_available()
            assert time.monotonic() < end
        assert engine.query("q").results().height == 8


def test_brokers_that_do_not_answer_are_named_and_no_password_is(
    spark: SparkSession, topic: Topics
) -> None:
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    more = (
        ", kafka.default.api.timeout.ms '1000', kafka.request.timeout.ms '1000', "
        f'kafka.sasl.jaas.config \'{jaas} username="ada" password="hunter2";\''
    )
    gone = topic("gone", partitions=0)
    gone.brokers = "127.0.0.1:1"
    with (
        pytest.raises(HostError, match=r"stream `s`: cannot read from kafka `127.0.0.1:1`: ") as f,
        running(spark, stream("s", gone, more) + ALL),
    ):
        pass
    assert "hunter2" not in str(f.value) and "is a broker running there" in str(f.value)


def test_one_logs_in_with_the_same_options_to_read_and_to_write(
    spark: SparkSession, kafka: Server, tmp_path: Path, topic: Topics
) -> None:
    there, out = topic("bids"), topic("out")
    there.send(map(bid, range(5)))
    there.brokers = out.brokers = f"127.0.0.1:{kafka.login_port}"
    login = (
        ", kafka.security.protocol 'SASL_PLAINTEXT', kafka.sasl.mechanism 'PLAIN', "
        f"kafka.sasl.username 'ada', kafka.sasl.password '{PASSWORD}'"
    )
    text = stream("s", there, login) + (
        f"CREATE QUERY q INTO kafka '{out.brokers}' OPTIONS (topic '{out.name}'{login}) AS "
        "SELECT item FROM s"
    )
    with running(spark, text, tmp_path / "checkpoint") as engine:
        assert len(out.read()) == 5
        assert PASSWORD not in engine.sql("DESCRIBE s")
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) > 5
    assert not any(PASSWORD.encode() in file.read_bytes() for file in written)
    text, wrong = text.replace(PASSWORD, "wrong1"), "wrong1"
    with (
        pytest.raises(HostError, match=r"stream `s`: cannot read from kafka .*uthenticat") as said,
        running(spark, text),
    ):
        pass
    assert wrong not in str(said.value)


def test_a_micro_batch_has_as_many_messages_as_one_says(spark: SparkSession, topic: Topics) -> None:
    there = topic("bids", 2)
    there.send(map(bid, range(20)))
    there.send(map(bid, range(20)), 1)
    with running(spark, stream("s", there, ", maxOffsetsPerTrigger '10'") + ALL) as engine:
        query = engine.query("q")
        assert query.results().height == 40
        taken = [batch["numInputRows"] for batch in query.recentProgress]
        assert sum(taken) >= 40 and max(taken) <= 11  # and a line of control


def test_csv_is_read_where_lines_are_csv(spark: SparkSession, topic: Topics) -> None:
    there = topic()
    there.send(["a,1,2026-01-01 00:00:01", "b,x,2026-01-01 00:00:02"])
    with running(spark, stream("s", there, ", lines 'csv'") + ALL) as engine:
        assert engine.query("q").results().rows() == [("a", 1)]
        assert engine.counts("s").malformed == 1


TOPIC = "topic 'a'"
READ = "CREATE STREAM s (v INT) FROM kafka 'one:9092, two:9092' OPTIONS ({})"


def test_sparks_connector_is_told_of_topics_and_of_what_holds_by_default() -> None:
    given = "topic 'a, b', kafka.security.protocol 'SSL', startingOffsets 'latest'"
    format_, options, path = told(declared(READ.format(given)))
    assert (format_, path) == ("kafka", (None,))
    assert options == {
        "kafka.bootstrap.servers": "one:9092,two:9092",
        "subscribe": "a,b",
        "kafka.security.protocol": "SSL",
        "startingOffsets": "latest",
        "maxOffsetsPerTrigger": "1000000",
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("lines 'csv'", "needs the name of a topic"),
        ("topic 'a', subscribePattern 'b'", "takes one of topic, subscribepattern"),
        ("topic 'a b'", "cannot be the name of a topic"),
        ("topic 'a', kafka.bootstrap.servers 'h:1'", "leave the option out"),
    ],
)
def test_what_makes_no_sense_is_refused(options: str, words: str) -> None:
    with pytest.raises(NotExecutable, match=words):
        told(declared(READ.format(options)))
    with pytest.raises(PenstockError, match="not a list of brokers") as refused:
        told(declared("CREATE STREAM s (v INT) FROM kafka 'u:hunter2@h:1' OPTIONS (topic 'a')"))
    assert "hunter2" not in str(refused.value)


def test_who_one_is_reaches_javas_client_as_it_takes_it() -> None:
    said = {"kafka.sasl.username": 'a"da', "kafka.sasl.password": r"x\\y"}  # in SQL, so x\y
    given = ", ".join(f"{name} '{value}'" for name, value in said.items())
    options = told(declared(READ.format(f"{TOPIC}, {given}")))[1]
    assert options["kafka.sasl.jaas.config"].endswith(r'username="a\"da" password="x\\y";')
    assert not said.keys() & options.keys()
    scram = told(declared(READ.format(f"{TOPIC}, {given}, kafka.sasl.mechanism 'SCRAM-SHA-256'")))
    assert "ScramLoginModule" in scram[1]["kafka.sasl.jaas.config"]


def test_a_topic_that_is_missing_is_known_before_spark_starts() -> None:
    engine = Engine()
    engine.sql(READ.format("lines 'csv'"))
    with pytest.raises(NotExecutable, match="stream `s`: FROM kafka needs the name of a topic"):
        engine.sql("SELECT v FROM s")
    assert engine._spark is None


def test_the_package_is_named_for_every_kind_of_session() -> None:
    said = way_to(KafkaSource.package)
    assert said.count("org.apache.spark:spark-sql-kafka-0-10_2.13:4") == 3
    assert "SparkSession.builder" in said and "--packages" in said


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "Could not read records in offset [10, 20) for topic partition a-b-3\nwith consumer "
            "group spark-kafka-source-1.",
            "topic `a-b`, partition 3: of the offsets 10 to 19",
        ),
        (
            "Partition a-0 offset was changed from 10 to 3.\nThis could be",
            "topic `a`, partition 0: it was read up to offset 10 and ends at 3 now",
        ),
        ("Added partition a-1 starts from 5 instead of 0. SQLSTATE: X", "added partition a-1 st"),
    ],
)
def test_messages_that_are_gone_are_named(reason: str, words: str) -> None:
    said = "Some data may have been lost because they are not available in Kafka any more;\neither"
    found = lost_messages(f"{said} the data was aged out\nReason: {reason}")
    assert found is not None and words in found.message
    assert lost_messages(f"Reason: {reason}") is None


@pytest.mark.slow
def test_no_row_is_lost_or_doubled_when_driver_and_broker_are_killed(
    kafka: Server, tmp_path: Path, topic: Topics
) -> None:
    bids, out = topic("bids", 3), topic("out", 2)
    select = (
        "SELECT item, sum(price) AS s, count(*) AS n FROM bids [RANGE 10 SECONDS] GROUP BY item"
    )
    file = tmp_path / "file.sql"
    file.write_text(
        stream("bids", bids, ", maxOffsetsPerTrigger '50'")
        + f"CREATE QUERY sent INTO kafka '{out.brokers}' OPTIONS (topic '{out.name}') AS {select};"
        + f"CREATE QUERY filed INTO parquet '{tmp_path}/out' AS {select}"
    )
    command = [sys.executable, "-m", "penstock", "run", "--follow", str(file)]
    command += ["--checkpoint", str(tmp_path / "checkpoint")]
    command += ["--conf", f"spark.jars={','.join(map(str, connector_jars()))}"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    begin = int(time.time()) // 10 * 10
    given: list[dict[str, Any]] = []

    def send(count: int) -> None:
        for _ in range(count):
            number = len(given)
            row = {"item": f"i{number % 3}", "price": number, "ts": clock(begin + number)}
            given.append(row)
            bids.send([row], number % 3)

    @contextmanager
    def driver() -> Iterator[None]:
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=tmp_path, env=environ, stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield
            assert process.poll() is None, (tmp_path / "log").read_text()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def wait_for(rows: int) -> None:
        end = time.monotonic() + 3 * PATIENCE
        while len(once(out.read())) < rows:
            assert time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.3)

    for round in range(3):
        with driver():
            send(200)
            wait_for(round * 60 + 20)
            if round == 1:
                kafka.kill()
                time.sleep(2)
                kafka.start()
                send(50)
                wait_for(round * 60 + 60)
    send(20)  # what all windows but the last two wait for
    closed = [row for row in expected(select, bids=given) if closes(row) <= begin + len(given) - 6]
    with driver():
        wait_for(len(closed))
    found = once(out.read())
    assert sorted((r["item"], r["s"], r["n"]) for r in found) == sorted(r[:3] for r in closed)
    assert sorted(pl.read_parquet(f"{tmp_path}/out/*.parquet").rows()) == closed


def clock(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(second))


def closes(row: tuple[Any, ...]) -> int:
    """When a window ends."""
    return int(row[-1].timestamp())
