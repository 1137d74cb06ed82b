"""The control stream: what the driver sends reaches every group, each message once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import HostError
from penstock.model.timestamps import END
from penstock.spark.control.control_stream import END_OF_RUN, KEPT, ControlStream
from penstock.spark.exchange.messages import CONTROL, SCHEMA, ControlLine, Record, message_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_each_message_is_a_file_of_its_own(tmp_path: Path) -> None:
    first = ControlStream(tmp_path / "control").send({"a": 5, "b": END})
    second = ControlStream(tmp_path / "control").send({"a": 7})  # also after a restart
    assert (first.name[:7], second.name[:7]) == ("000001-", "000002-")
    assert json.loads(first.read_text()).items() >= {"a": 5, "b": END}.items()
    assert sorted(file.name for file in first.parent.iterdir()) == [first.name, second.name]


def test_the_latest_messages_stay_however_many_were_sent(tmp_path: Path) -> None:
    control = ControlStream(tmp_path)
    control.send({"a": 1}).rename(tmp_path / "999990-00000000.json")
    sent = [control.send({"a": bound, END_OF_RUN: 1}).name for bound in range(2, 12 + KEPT)]
    assert sent[-1].startswith("1000016-")  # which sorts before the others as text
    control.forget(time.time() + 60)
    assert {file.name for file in tmp_path.iterdir()} == set(sent[-KEPT:])


def test_messages_are_not_forgotten_while_another_one_is_sent(tmp_path: Path) -> None:
    control = ControlStream(tmp_path)
    for bound in range(2 * KEPT):
        control.send({"a": bound})
    forgetting = Thread(target=control.forget, args=(time.time() + 60,))
    with control._writing:  # it looks at each of them
        forgetting.start()
        forgetting.join(0.05)
        assert len(list(tmp_path.iterdir())) == 2 * KEPT
    forgetting.join(10)
    assert len(list(tmp_path.iterdir())) == KEPT


def test_a_message_that_was_changed_is_refused_at_the_next_start(tmp_path: Path) -> None:
    file = ControlStream(tmp_path).send({"a": 1_700_000_000, "b": END})
    ControlStream(tmp_path)
    whole = file.read_bytes()
    for left in (b"", whole[:9], whole.replace(b"17", b"16"), whole.replace(b'"a"', b'"c"')):
        Path(str(file)).write_bytes(left)
        with pytest.raises(HostError, match=f"damaged: .*{file.name}"):
            ControlStream(tmp_path)


def test_a_name_never_comes_twice_even_if_the_last_file_is_gone(tmp_path: Path) -> None:
    first = ControlStream(tmp_path).send({"a": 1})
    first.unlink()
    assert ControlStream(tmp_path).send({"a": 2}).name != first.name


def test_a_clock_that_is_set_back_makes_no_message_look_old(tmp_path: Path) -> None:
    first = ControlStream(tmp_path / "control").send({"a": 5})
    ahead = time.time() + 1_000_000  # the clock was wrong then
    os.utime(str(first), (ahead, ahead))
    second = ControlStream(tmp_path / "control").send({"a": 7})
    assert second.stat().st_mtime_ns >= first.stat().st_mtime_ns


def test_every_group_hears_every_message(spark: SparkSession, tmp_path: Path) -> None:
    control = ControlStream(tmp_path / "control")
    heard: list[dict[str, Any]] = []
    query = (
        control.messages(spark, [2, 0])
        .writeStream.foreachBatch(lambda frame, _: heard.extend(frame.toArrow().to_pylist()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    control.send({"a": 5})
    control.send({"b": END})
    query.processAllAvailable()
    query.stop()
    messages = [(line["g"], json.loads(line["payload"])) for line in heard]
    assert sorted((group, said.get("a", 0), said.get("b", 0)) for group, said in messages) == [
        (0, 0, END),
        (0, 5, 0),
        (2, 0, END),
        (2, 5, 0),
    ]
    for line in heard:
        assert list(line) == SCHEMA.names
        assert message_of(Record(**line)) == ControlLine(CONTROL, 0, payload=line["payload"])
