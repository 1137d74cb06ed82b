"""State beside an operator: it can be listed, saved and restored, and saving is a copy."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State, TableDescription
from tests.kernel.moving import move, restore, saved


@dataclass
class Counted(State):
    total: int = 0
    bounds: dict[str, list[int]] = field(default_factory=dict)
    rows: SegmentTable = table("x")


def example() -> Counted:
    rows = SegmentTable(on="x")
    rows.append(pl.DataFrame({"x": [1, 2], "s": ["a", None]}))
    rows.append(pl.DataFrame({"x": [3], "s": ["é"]}))
    return Counted(7, {"ts": [1, 2]}, rows)


def test_an_empty_segment_is_not_kept() -> None:
    table = SegmentTable()
    table.append(pl.DataFrame({"x": []}))
    assert table.segments == []


def test_tables_are_listed_with_their_rows_and_bytes() -> None:
    [size] = example().sizes()
    assert size == TableDescription("rows", 3, size.bytes)
    assert size.bytes > 0


def test_a_description_says_columns_and_which_times_there_are() -> None:
    [found] = example().describe()
    assert found.columns == (("x", "Int64"), ("s", "String"))
    assert (found.rows, found.extent) == (3, ("x", 1, 3))


def test_an_empty_table_has_neither_columns_nor_times() -> None:
    [found] = Counted().describe()
    assert (found.columns, found.extent) == ((), None)


def test_a_restored_table_still_knows_its_time() -> None:
    restored = Counted()
    move(example(), restored)
    assert restored.describe() == example().describe()


def test_a_state_without_fields_saves_to_nothing() -> None:
    found = saved(State())
    assert json.loads(found.directory)["states"] == {"state": {"facts": {}, "tables": {}}}
    assert found.segments == {}


def test_what_was_saved_can_be_restored() -> None:
    restored = Counted()
    move(example(), restored)
    assert (restored.total, restored.bounds) == (7, {"ts": [1, 2]})
    assert [s.to_dicts() for s in restored.rows] == [s.to_dicts() for s in example().rows]
    assert [s.schema for s in restored.rows] == [s.schema for s in example().rows]


def test_a_saved_state_does_not_change_with_the_living_one() -> None:
    state = example()
    before = saved(state)
    state.bounds["ts"][0] = 99
    state.rows.append(pl.DataFrame({"x": [4], "s": ["b"]}))
    first, second = Counted(), Counted()
    restore(first, before)
    assert first.bounds == {"ts": [1, 2]} and first.rows.rows == 3
    first.bounds["ts"][1] = 99
    restore(second, before)
    assert second.bounds == {"ts": [1, 2]}
