"""LATE INTO: rows that cannot go in reach a sink, each once, with the reason and the time."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from penstock import LocalEngine
from penstock.errors import DuplicateName, NotExecutable, SyntaxFault
from penstock.io.late_rows import as_late_rows, late_schema
from penstock.kernel.rejected import Reason
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.timestamps import to_ticks
from penstock.model.types import Type
from penstock.runtime.clock import VirtualClock

BIDS = "CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts "
NOON = datetime(2026, 1, 1, 12)


def read(file: Path) -> pl.DataFrame:
    match file.suffix:
        case ".parquet":
            return pl.read_parquet(file)
        case ".csv":
            return pl.read_csv(file)
    return pl.read_ndjson(file)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_late_and_malformed_rows_lie_in_one_directory(tmp_path: Path, format: str) -> None:
    engine = LocalEngine(clock=VirtualClock(to_ticks(NOON)))
    engine.sql(BIDS + f"LATE INTO {format} '{tmp_path / 'aside'}'")
    engine.push("bids", [{"item": "lamp", "price": 1, "ts": NOON}])
    engine.push("bids", [{"item": "late", "price": 2, "ts": datetime(2026, 1, 1, 11)}])
    engine.push("bids", [{"item": "bad", "price": "dear", "ts": NOON}])
    rows = [
        row for file in sorted((tmp_path / "aside").glob("part-*")) for row in read(file).to_dicts()
    ]
    assert [(row["item"], row["price"], row["why"], row["reason"]) for row in rows] == [
        ("late", 2, "late", None),
        (None, None, "malformed", "price: 'dear' is not a valid INT"),
    ]
    assert '"price": "dear"' in rows[1]["row_text"]
    assert all(row["set_aside_at"] is not None for row in rows)
    counts = engine.counts("bids")
    assert (counts.rows, counts.late, counts.malformed) == (1, 1, 1)
    assert engine.rejected_rows == []


def test_columns_of_ours_step_aside_for_the_streams_own() -> None:
    stream = Stream("s", (Column("why", Type.STRING), Column("v", Type.INT)))
    assert late_schema(stream).names[2:] == ("why_2", "reason", "row_text", "set_aside_at")
    rows = as_late_rows(stream, Reason.LATE, pl.DataFrame({"why": ["x"], "v": [1]}), 0)
    assert rows.rows()[0][:3] == ("x", 1, "late")


def test_late_into_is_written_once_and_before_or_behind_the_other_clauses(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (v INT, ts TIMESTAMP) LATE INTO csv '{tmp_path}' TIMESTAMP BY ts")
    with pytest.raises(SyntaxFault, match="unexpected `LATE`"):
        engine.sql(BIDS + "LATE INTO csv 'a' LATE INTO csv 'b'")


def test_a_place_is_for_one_sink(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql(BIDS + f"LATE INTO csv '{tmp_path / 'aside'}'")
    with pytest.raises(DuplicateName, match="stream `bids` writes into"):
        engine.sql(f"CREATE QUERY q INTO csv '{tmp_path / 'aside'}' AS SELECT item FROM bids")
    with pytest.raises(DuplicateName, match="stream `bids` writes into"):
        engine.sql(f"CREATE STREAM t (v INT) LATE INTO csv '{tmp_path / 'aside'}'")


def test_a_sink_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    engine = LocalEngine()
    with pytest.raises(NotExecutable, match="cannot write results into iceberg"):
        engine.sql(BIDS + "LATE INTO iceberg")
    assert engine.catalog.streams == []


def test_late_rows_pass_where_nothing_has_windows_and_are_set_aside_where_something_has() -> None:
    engine = LocalEngine()
    engine.sql(BIDS)
    table = [{"item": "lamp", "name": "Lamp"}]
    engine.table("names", table, columns="item STRING, name STRING")
    plain = engine.sql("SELECT item, price FROM bids WHERE price > 0")
    joined = engine.sql("SELECT n.name, b.price FROM bids b JOIN names n ON b.item = n.item")
    lamp = {"item": "lamp", "price": 1, "ts": NOON}
    late = {"item": "lamp", "price": 2, "ts": datetime(2026, 1, 1, 11)}
    engine.push("bids", [lamp, late])
    assert plain.results()["price"].to_list() == [1, 2]
    assert joined.results().rows() == [("Lamp", 1), ("Lamp", 2)]
    counts = engine.counts("bids")
    assert (counts.rows, counts.late, counts.passed) == (2, 1, 1)
    assert engine.rejected_rows == []
    counted = engine.sql("SELECT count(*) AS n FROM (bids UNION bids) [RANGE 1 DAY]")
    engine.push("bids", [lamp, late])
    engine.finish()
    assert plain.results()["price"].to_list() == [1, 2, 1, 2]
    assert counted.results()["n"].to_list() == [2]
    counts = engine.counts("bids")
    assert (counts.rows, counts.late, counts.passed) == (3, 2, 1)
    [aside] = engine.rejected_rows
    assert aside.rows["price"].to_list() == [2]


@pytest.mark.parametrize(("policy", "prices"), [("drop", [1]), ("generous", [1, 2])])
def test_another_policy_for_late_rows_holds_without_windows_too(
    policy: str, prices: list[int]
) -> None:
    engine = LocalEngine()
    engine.sql(f"SET late = {policy}; {BIDS}")
    plain = engine.sql("SELECT price FROM bids")
    times = [NOON, datetime(2026, 1, 1, 11)]
    engine.push("bids", [{"item": "x", "price": n, "ts": t} for n, t in enumerate(times, 1)])
    assert plain.results()["price"].to_list() == prices


def test_the_text_of_a_line_that_is_no_row_is_kept_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(
        '{"item": "lamp", "price": 1, "ts": "2026-01-01 12:00:00"}\n{oops, "item\n'
    )
    engine = LocalEngine()
    engine.sql(
        f"CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) FROM json '{tmp_path}/in.json' "
        f"TIMESTAMP BY ts LATE INTO json '{tmp_path / 'aside'}'"
    )
    engine.sql("SELECT item FROM bids")
    engine.finish()
    [file] = (tmp_path / "aside").glob("part-*")
    [row] = read(file).to_dicts()
    assert row["row_text"] == '{oops, "item'
    assert engine.counts("bids").reasons == {"no row": 1}
