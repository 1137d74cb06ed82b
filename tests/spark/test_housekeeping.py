"""What batches that are over have read is deleted; what may be read again stays."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream
from penstock.model.types import Type
from penstock.spark.control.control_stream import KEPT, ControlStream
from penstock.spark.housekeeping import EVERY, Housekeeping, ages

SENT = 3 * KEPT


class Checkpoint:
    """The files of a pipeline whose first source is the control stream, and its second another."""

    def __init__(self, folder: Path) -> None:
        self.spark = folder / "spark"
        self.control = ControlStream(folder / "control")
        self.inputs = folder / "in"
        self.spool = folder / "streams" / "s"
        for place in (self.spark / "offsets", self.inputs, self.spool):
            place.mkdir(parents=True)

    def log(self, source: int, offset: int, files: list[tuple[Any, int]], batch: int) -> None:
        """A batch whose list names these files, with their times."""
        log = self.spark / "sources" / str(source)
        log.mkdir(parents=True, exist_ok=True)
        lines = [
            json.dumps({"path": f"file://{file}", "timestamp": time, "batchId": number})
            for number, (file, time) in enumerate(files)
        ]
        (log / f"{offset}.compact").write_text("\n".join(["v1", *lines]))
        with (self.spark / "offsets" / str(batch)).open("a") as offsets:
            if not offsets.tell():
                offsets.write("v1\n{}")
            offsets.write(f'\n{{"logOffset":{offset}}}')

    def listed(self, source: int) -> set[str]:
        [file] = (self.spark / "sources" / str(source)).glob("*.compact")
        lines = file.read_text().split("\n")[1:]
        return {Path(json.loads(line)["path"]).name for line in lines}

    def housekeeping(self, *streams: Stream) -> Housekeeping:
        return Housekeeping(self.spark, self.control, {"s": self.spool}, streams)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path.resolve())


def stream(path: Path, **options: str) -> Stream:
    origin = Origin("parquet", str(path), tuple(options.items()))
    return Stream("t", (Column("k", Type.BIGINT),), origin=origin)


def test_messages_that_were_read_go_and_the_latest_and_the_unread_stay(
    checkpoint: Checkpoint,
) -> None:
    sent = [checkpoint.control.send({"a": bound}) for bound in range(SENT)]
    checkpoint.log(0, 9, [(file, 0) for file in sent[:KEPT]], batch=4)
    house = checkpoint.housekeeping()
    house.clean_up(4)
    left = {file.name for file in checkpoint.control.folder.iterdir()}
    assert left == {file.name for file in sent[KEPT:]}
    assert checkpoint.listed(0) == set()
    (checkpoint.spark / "sources" / "0" / "9.compact").unlink()
    checkpoint.log(0, 19, [(file, 0) for file in sent], batch=5)
    house.clean_up(5)
    left = {file.name for file in checkpoint.control.folder.iterdir()}
    assert left == checkpoint.listed(0) == {file.name for file in sent[-KEPT:]}


def test_files_of_a_spool_are_told_of_and_listed_while_they_are_there(
    checkpoint: Checkpoint,
) -> None:
    files = [checkpoint.spool / f"{number:012d}.parquet" for number in range(3)]
    for file in files:
        file.write_bytes(b"")
    files[0].unlink()
    files[1].rename(files[1].with_name(f".{files[1].name}"))  # about to be deleted
    checkpoint.log(0, 9, [(file, 0) for file in files], batch=4)
    house = checkpoint.housekeeping()
    house.clean_up(4)
    assert house.read["s"] == {file.name for file in files}
    assert checkpoint.listed(0) == {file.name for file in files[1:]}


def test_files_of_a_user_are_forgotten_only_by_the_age_that_is_declared(
    checkpoint: Checkpoint,
) -> None:
    files = [(checkpoint.inputs / f"{second}.parquet", 1000 * second) for second in range(100)]
    checkpoint.log(0, 9, files, batch=4)
    checkpoint.housekeeping(stream(checkpoint.inputs)).clean_up(4)
    assert len(checkpoint.listed(0)) == 100
    checkpoint.housekeeping(stream(checkpoint.inputs, maxFileAge="30s")).clean_up(4)
    assert checkpoint.listed(0) == {f"{second}.parquet" for second in range(69, 100)}


def test_ages_are_those_that_spark_goes_by() -> None:
    assert ages([stream(Path("/in"), MAXFILEAGE="1h")]) == {"/in": 3_600_000}
    assert ages([stream(Path("/in"), maxFileAge="1h", latestFirst="true")]) == {}
    assert ages([stream(Path("/in"))]) == {}


def test_it_is_done_now_and_then_and_a_failure_stops_nothing(
    checkpoint: Checkpoint, caplog: pytest.LogCaptureFixture
) -> None:
    house = checkpoint.housekeeping()
    nobody: Any = None  # it is not asked before files are seen to
    for batch in (0, 1, EVERY - 1, EVERY + 1):
        house.before(batch, nobody, nobody)
    with caplog.at_level(logging.WARNING, "penstock"):
        house.before(EVERY, nobody, nobody)  # there is no log of the batch before
        house.before(2 * EVERY, nobody, nobody)
    [said] = caplog.records
    assert "cannot be deleted" in said.getMessage()
