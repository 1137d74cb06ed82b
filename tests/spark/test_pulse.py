"""The pulse: what the driver promises reaches every group, each promise once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.model.timestamps import BEGINNING, END
from penstock.spark.exchange import SCHEMA
from penstock.spark.pulse import PULSE, Pulse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_promise_is_a_file_of_its_own(tmp_path: Path) -> None:
    first = Pulse(tmp_path / "pulse").send({"a": 5, "b": END})
    second = Pulse(tmp_path / "pulse").send({"a": 7})  # also after a restart
    assert (first.name, second.name) == ("000001.json", "000002.json")
    assert json.loads(first.read_text()) == {"a": 5, "b": END}
    assert sorted(file.name for file in first.parent.iterdir()) == [first.name, second.name]


def test_every_group_hears_every_promise(spark: SparkSession, tmp_path: Path) -> None:
    pulse = Pulse(tmp_path / "pulse")
    heard: list[dict[str, Any]] = []
    query = (
        pulse.lines(spark, [2, 0])
        .writeStream.foreachBatch(lambda frame, _: heard.extend(frame.toArrow().to_pylist()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    pulse.send({"a": 5})
    pulse.send({"b": END})
    deadline = time.monotonic() + 60
    while len(heard) < 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    query.stop()
    assert sorted((line["g"], line["payload"]) for line in heard) == [
        (group, json.dumps(promise).encode())
        for group in (0, 2)
        for promise in ({"a": 5}, {"b": END})
    ]
    for line in heard:
        assert list(line) == SCHEMA.names
        assert (line["stream"], line["newest"], line["rows"]) == (PULSE, BEGINNING, 0)
