"""A batch whose state was written and which then failed runs again, and the checkpoint lives on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.spark import faults
from penstock.spark.delivery.batch_sink import FilesSink
from penstock.spark.engine import Engine
from penstock.spark.session import LOCAL_TUNING
from penstock.spark.state.program_log import ProgramLog
from tests.spark.packets import QUERIES, by_local_engine, same, script, write_packets

MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing."
NAMES = ("sliding", "large")


@pytest.mark.parametrize(
    "manager",
    ["FileSystemBased", "FileContextBased"],
    ids=["our file manager", "Spark's file manager"],
)
def test_a_batch_that_failed_after_its_state_was_written_does_not_spoil_the_checkpoint(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manager: str
) -> None:
    queries = {name: QUERIES[name] for name in NAMES}
    text = script(tmp_path / "in", queries, tmp_path / "out")
    written = FilesSink.write
    has_room = False

    def write(sink: FilesSink, batch: int, rows: pl.DataFrame, staged: Any = ()) -> None:
        if batch == 1 and not has_room:
            raise OSError(28, "No space left on device")
        written(sink, batch, rows, staged)

    monkeypatch.setattr(FilesSink, "write", write)
    monkeypatch.setitem(LOCAL_TUNING, MANAGER, f"{CHECKPOINTING}{manager}CheckpointFileManager")
    write_packets(tmp_path / "in", range(2), rows=200)
    with pytest.raises(HostError, match="No space left"):
        run(spark, text)
    has_room = True
    write_packets(tmp_path / "in", range(2, 3), rows=200)
    run(spark, text)
    in_a_new_process(tmp_path / "out")
    write_packets(tmp_path / "in", range(3, 5), rows=200)
    run(spark, text, finish=True)
    [state] = (tmp_path / "out").rglob("state/0/0")
    assert any("_" in file.name for file in state.glob("*.changelog"))
    expected = by_local_engine(script(tmp_path / "in", queries))
    for name in queries:
        answer = pl.read_parquet(tmp_path / "out" / name / "*.parquet")
        assert same(answer, expected.query(name).results()), name


def test_a_batch_that_fails_after_a_query_was_altered_is_repeated_by_its_own_program(
    spark: SparkSession, tmp_path: Path
) -> None:
    queries = {"sliding": QUERIES["sliding"]}
    text = script(tmp_path / "in", queries, tmp_path / "out")
    write_packets(tmp_path / "in", range(3), rows=2000)
    place = faults.folder()
    assert place is not None
    engine = Engine(spark)
    engine.sql(text)
    altered: list[int] = []

    def alter(rows: pl.DataFrame) -> None:
        if not altered:
            altered.append(rows.height)
            engine.sql("ALTER QUERY sliding SET (aggregation = wid)")

    engine.query("sliding").subscribe(alter)
    faults.arm(place, "batch.over", "fail")
    try:
        with pytest.raises(HostError, match=r"batch\.over"):
            engine.start()
            engine.process_available()
    finally:
        faults.disarm(place)
        engine.stop()
    assert altered
    log = ProgramLog(next((tmp_path / "out").rglob("programs")).parent)
    before = log.of(0)
    run(spark, text)
    assert log.of(0) == before  # and of no other, in its second attempt
    run(spark, text, finish=True)
    answer = pl.read_parquet(tmp_path / "out" / "sliding" / "*.parquet")
    expected = by_local_engine(script(tmp_path / "in", queries))
    assert same(answer, expected.query("sliding").results())


def run(spark: SparkSession, text: str, *, finish: bool = False) -> None:
    engine = Engine(spark)
    engine.sql(text)
    engine.start()
    try:
        engine.process_available()
        if finish:
            engine.finish()
    finally:
        engine.stop()


def in_a_new_process(folder: Path) -> None:
    """Have workers take the query for one they have never seen: what they keep is by its id."""
    for file in folder.rglob("spark/metadata"):
        file.write_text(json.dumps({"id": str(uuid4())}))
        file.with_name(".metadata.crc").unlink(missing_ok=True)
