"""A log of rows as a Spark source, such as a workload: batches between positions are its rows, each
once, in its order."""

from __future__ import annotations

import time
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.errors import BadSetting, UnknownName
from penstock.io.sources import workload_source
from penstock.io.sources.workload_source import WorkloadLog, workload_of
from penstock.kernel.types import polars_type
from penstock.model.streams import Origin, Stream
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.spark.sources.row_logs import LogReader
from penstock.workloads import WORKLOADS

OPTIONS = {"rate": "700", "rows": "2000", "disorder": "2 seconds"}


def origin(options: dict[str, str], name: str = "packets") -> Origin:
    return Origin("workload", name, tuple(options.items()))


def reader_of(options: dict[str, str], name: str = "packets") -> LogReader:
    return LogReader(Stream("s", (), origin=origin(options, name)))


def read(reader: LogReader, start: dict[str, Any], end: dict[str, Any]) -> list[pa.Table]:
    return [pa.Table.from_batches(reader.read(part)) for part in reader.partitions(start, end)]


def run(reader: LogReader) -> list[pa.Table]:
    """Batch after batch until the offset stays."""
    found, start = [], reader.initialOffset()
    while (end := reader.latestOffset(start)) != start:
        found += read(reader, start, end)
        start = end
    return found


def as_ticks(options: dict[str, str], tables: list[pa.Table]) -> pl.DataFrame:
    frame = pl.from_arrow(pa.concat_tables(tables))
    assert isinstance(frame, pl.DataFrame)
    return frame.cast({c.name: polars_type(c.type) for c in workload_of(origin(options)).columns})


def test_all_batches_together_are_the_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_source, "ROWS_PER_TASK", 300)
    tables = run(reader_of(OPTIONS))
    assert max(table.num_rows for table in tables) == 300
    assert as_ticks(OPTIONS, tables).equals(workload_of(origin(OPTIONS)).rows(0, 2000))


def test_a_batch_made_again_is_the_same() -> None:
    start, end = {"tick": workload_of(origin(OPTIONS)).arrivals.start}, {"tick": 10**18}
    one, other = (read(reader_of(OPTIONS), start, end) for _ in range(2))
    assert one == other
    assert sum(table.num_rows for table in one) == 2000


def test_steps_of_any_length_give_the_same_rows() -> None:
    small = {**OPTIONS, "step": "300 milliseconds"}
    assert as_ticks(small, run(reader_of(small))).equals(workload_of(origin(OPTIONS)).rows(0, 2000))


def test_a_workload_that_is_over_stays_where_it_is() -> None:
    reader = reader_of(OPTIONS)
    over = {"tick": reader.initialOffset()["tick"] + 3600 * SECOND}
    assert reader.latestOffset(over) == over


def test_a_paced_one_follows_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    reader = reader_of({"pace": "2"})
    start = reader.initialOffset()
    assert reader.latestOffset(start) == start
    now = 103.0
    later = reader.latestOffset(start)
    assert later == {"tick": start["tick"] + 6 * SECOND}
    now = 102.0  # a clock that goes back does not take offsets back
    assert reader.latestOffset(later) == later


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_rows_have_the_types_that_spark_is_told(name: str) -> None:
    options = {"rows": "50"}
    [table, *_] = run(reader_of(options, name))
    told = {c.name: str(c.type) for c in WorkloadLog(origin(options, name)).columns}
    arrow = {
        str(Type.TIMESTAMP): pa.timestamp("us", "UTC"),
        "STRING": pa.string(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "SMALLINT": pa.int16(),
        "TINYINT": pa.int8(),
        "FLOAT": pa.float32(),
    }
    assert {field.name: field.type for field in table.schema} == {
        name: arrow[of] for name, of in told.items()
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step": "0"}, "`step` cannot be 0"),
        ({"step": "soon"}, "`step` must be a duration"),
        ({"pace": "-1"}, "`pace` cannot be -1"),
        ({"pace": "nan"}, "`pace` cannot be nan"),
        ({"colour": "red"}, "no option `colour`"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        workload_of(origin(options))


def test_a_workload_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match="no workload `packet`"):
        workload_of(origin({}, "packet"))
