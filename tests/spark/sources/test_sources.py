"""Sources by name: options reach Spark as they were written, lines become rows, and what Spark
lacks is named."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import BadSetting, HostError, MalformedRow
from penstock.io.sources.registry import source_of
from penstock.model.streams import Stream
from penstock.spark.engine import Engine
from penstock.spark.sources.sources import read_stream
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import CreateStream

KAFKA = """CREATE STREAM s (value STRING, timestamp TIMESTAMP) FROM kafka
OPTIONS (kafka.bootstrap.servers 'one:9092,two:9092', subscribe 'bids', startingOffsets 'earliest')
TIMESTAMP BY timestamp"""


class Reader:
    """Writes down what a reader of Spark is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.readStream = self

    def format(self, name: str) -> Reader:
        self.told.append(name)
        return self

    def schema(self, columns: str) -> Reader:
        self.told.append(columns)
        return self

    def options(self, **options: str) -> Reader:
        self.told.append(options)
        return self

    def load(self, *path: str) -> Any:
        self.told.append(path)
        raise EOFError


def declared(text: str) -> Stream:
    [statement] = parse(text)
    assert isinstance(statement, CreateStream)
    return statement.stream


def told(stream: Stream) -> list[Any]:
    """What Spark is told of a stream that is to be read."""
    reader: Any = Reader()
    with pytest.raises(EOFError):
        read_stream(reader, stream)
    return list(reader.told)


def test_the_options_of_a_format_reach_spark_unchanged() -> None:
    assert told(declared(KAFKA)) == [
        "kafka",
        {
            "kafka.bootstrap.servers": "one:9092,two:9092",
            "subscribe": "bids",
            "startingOffsets": "earliest",
        },
        (None,),
    ]


@pytest.mark.parametrize(
    ("written", "headers"),
    [
        ("", {"header": "true"}),
        (", header 'false'", {"header": "false"}),
        (", HEADER 'false'", {"HEADER": "false"}),
    ],
)
def test_csv_that_spark_checks_has_a_header_unless_told_otherwise_in_whatever_case(
    tmp_path: Path, written: str, headers: dict[str, str]
) -> None:
    text = f"CREATE STREAM s (k INT) FROM csv '{tmp_path}' OPTIONS (Mode 'FAILFAST'{written})"
    [options] = [each for each in told(declared(text)) if isinstance(each, dict)]
    assert {name: options[name] for name in options if name.lower() == "header"} == headers


@pytest.mark.parametrize(("options", "finite"), [("ROWS '9'", True), ("rate '9'", False)])
def test_a_workload_with_rows_is_finite_in_whatever_case(options: str, finite: bool) -> None:
    text = f"CREATE STREAM s (srcIP STRING) FROM workload 'packets' OPTIONS ({options})"
    stream = declared(text)
    assert source_of(stream.origin).is_finite(stream) is finite


def test_options_that_make_no_sense_are_refused_before_spark_starts() -> None:
    engine = Engine()
    engine.sql("CREATE STREAM s (srcIP STRING) FROM workload 'packets' OPTIONS (step '0 seconds')")
    with pytest.raises(BadSetting, match="the workload would never move"):
        engine.sql("SELECT srcIP FROM s")
    assert engine._spark is None


def started(spark: SparkSession, text: str) -> Engine:
    engine = Engine(spark)
    engine.sql(text)
    engine.start()
    return engine


def test_a_format_that_spark_lacks_is_named_with_its_package(spark: SparkSession) -> None:
    with pytest.raises(HostError, match=r"(?s)no format `avro`.*spark-avro_2.13:4"):
        started(spark, "CREATE STREAM t (v INT) FROM avro 'somewhere'; SELECT v FROM t")
    with pytest.raises(HostError, match=r"(?s)no format `carrier_pigeon`.*check the spelling"):
        started(spark, "CREATE STREAM t (v INT) FROM carrier_pigeon; SELECT v FROM t")


def test_lines_of_what_has_no_lines_are_refused(spark: SparkSession) -> None:
    with pytest.raises(MalformedRow, match="cannot be read as lines of xml"):
        started(spark, "CREATE STREAM t (v INT) FROM rate OPTIONS (lines 'xml'); SELECT v FROM t")


def test_lines_of_a_socket_are_rows_and_rows_an_iterator(spark: SparkSession) -> None:
    lines = [
        "lamp,1,2026-01-01 12:00:00",
        '"a, b",2,2026-01-01 12:00:01',
        "sofa,dear,2026-01-01 12:00:02",
        "no row at all",
        "sofa,,2026-01-01 12:00:03",
    ]
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        over = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall("".join(line + "\n" for line in lines).encode())
                over.wait(120)

        threading.Thread(target=serve, daemon=True).start()
        engine = started(
            spark,
            "CREATE STREAM wire (item STRING, price INT, ts TIMESTAMP) FROM socket "
            f"OPTIONS (host 'localhost', port '{port}', lines 'csv') TIMESTAMP BY ts;"
            "CREATE QUERY every AS SELECT item, price FROM wire",
        )
        rows = iter(engine.query("every"))
        found = [next(rows) for _ in range(3)]
        engine.stop()
        assert list(rows) == []
        over.set()
    assert sorted((row["item"], row["price"]) for row in found if row["price"]) == [
        ("a, b", 2),
        ("lamp", 1),
    ]
    assert {"item": "sofa", "price": None} in found
    reasons = [r for each in engine.rejected_rows for r in each.rows["reason"]]
    assert sorted(reasons) == ["no row: no row at all", "price: 'dear' is not a valid INT"]
