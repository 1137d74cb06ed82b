"""Blocks of JSON lines that are read at once hold what they hold line by line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.io import json_files
from penstock.io.json_files import read_at_once, read_json
from penstock.kernel.conform import conform
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.types import Type
from tests.engine.draw import examples

COLUMNS = (
    Column("i", Type.INT),
    Column("b", Type.BIGINT),
    Column("d", Type.DOUBLE),
    Column("f", Type.FLOAT),
    Column("s", Type.STRING),
    Column("t", Type.BOOLEAN),
    Column("at", Type.TIMESTAMP),
    Column("day", Type.DATE),
)
STREAM = Stream("s", COLUMNS)

plain = {
    "i": st.integers(-(1 << 31), (1 << 31) - 1),
    "b": st.integers(-(1 << 63), (1 << 63) - 1),
    "d": st.floats(allow_nan=False, allow_infinity=False),
    "f": st.floats(-100, 100, width=32),
    "s": st.text(),
    "t": st.booleans(),
    "at": st.sampled_from(["2026-03-01 10:00:00", "2026-03-01T10:00:00.25Z", "1969-12-31"]),
    "day": st.sampled_from(["2026-03-01", "1969-12-31"]),
}
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["7", "2.5", "2026-03-01", "true"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)
#: Lines that are no row, or not what they look like.
odd = st.sampled_from(
    [
        '{"i": 1, "i": 2}',
        '{"i": 1}{"i": 2}',
        '{"i": 1',
        "",
        "  ",
        "[]",
        "7",
        "null",
        "{}",
        '{"i": 1e0, "d": -0, "b": -0}',
        '{"i": 01}',
        '{"d": 1e999}',
        '{"d": NaN}',
        '{"d": 9007199254740993}',
        '{"b": 9223372036854775808}',
        '{"s": "\\ud800"}',
        '{"s": "\\u0000"}',
        '{"S": "x", "other": [{"i": 1}]}',
        '{"at": 1700000000000000}',
        "\ufeff{}",
    ]
)


def lines_of(draw: Any, oddness: int) -> list[str]:
    rows = st.fixed_dictionaries({}, optional={n: st.none() | v for n, v in plain.items()})
    drawn = enumerate(draw(st.lists(rows)))
    found = [json.dumps(row, ensure_ascii=bool(n % 2)) for n, row in drawn]
    if oddness:
        names = st.sampled_from([*plain, "other"])
        objects = st.dictionaries(names, anything, max_size=4).map(json.dumps)
        found += draw(st.lists(st.one_of(objects, odd), max_size=oddness))
    return list(draw(st.permutations(found)))


def outcome(file: Path) -> tuple[list[pl.DataFrame], list[pl.DataFrame], list[str]]:
    rows: list[pl.DataFrame] = []
    rejected: list[pl.DataFrame] = []
    lines: list[str] = []
    for found, bad in read_json(file, 1 << 20, COLUMNS, has_all=False):
        given = found
        if not isinstance(given, pl.DataFrame):
            given = [{c.name: row.get(c.name) for c in COLUMNS} for row in given]
        conformed = conform(STREAM, given)
        rows.append(conformed.rows)
        rejected += [] if conformed.rejected is None else [conformed.rejected]
        lines += bad
    return rows, rejected, lines


@examples(60)
@given(st.data(), st.sampled_from([0, 0, 1, 3]), st.booleans())
def test_at_once_and_line_by_line_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, oddness: int, ends: bool
) -> None:
    file = tmp_path_factory.mktemp("json") / "1.json"
    text = "\n".join(lines_of(data.draw, oddness)) + "\n" * ends
    file.write_bytes(text.encode(errors="surrogatepass"))
    mine = outcome(file)
    with patch.object(json_files, "read_at_once", lambda block, columns: None):
        slow = outcome(file)
    for ours, theirs in zip(mine[:2], slow[:2], strict=True):
        schema = ours[0].schema if ours else None
        assert schema == (theirs[0].schema if theirs else None)
        if ours:
            assert pl.concat(ours).equals(pl.concat(theirs))
    assert mine[2] == slow[2]


def test_lines_of_the_declared_types_are_read_at_once() -> None:
    rows = [
        {"i": 1, "b": 2, "d": 3, "f": 0.5, "s": "x", "t": True, "at": "2026-03-01", "more": {}},
        {"i": None, "d": 1e300 / 1e290, "at": None, "day": "2026-03-01"},
    ]
    found = read_at_once("\n".join(map(json.dumps, rows)).encode(), COLUMNS)
    assert found is not None
    assert found.columns == [column.name for column in COLUMNS]
    assert found.get_column("d").to_list() == [3.0, 1e300 / 1e290]
    lines = read_at_once(b'{"i": 5}\r\n{"i": 7}\r\n', COLUMNS)
    assert lines is not None
    assert lines.get_column("i").to_list() == [5, 7]
    # A number is no time: that is seen line by line.
    assert read_at_once(b'{"at": 5}', COLUMNS) is None


def test_a_file_is_read_in_blocks_of_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "LEAST", 1)
    lines = "".join(f'{{"i": {n}, "s": "{"x" * (n % 97)}"}}\n' for n in range(1000))
    (tmp_path / "1.json").write_text(lines)
    with gzip.open(tmp_path / "1.json.gz", "wt") as packed:
        packed.write(lines)
    for name in ("1.json", "1.json.gz"):
        blocks = [rows for rows, _ in read_json(tmp_path / name, 10, COLUMNS, has_all=False)]
        frames = [rows for rows in blocks if isinstance(rows, pl.DataFrame)]
        assert len(frames) == len(blocks) >= 100
        assert all(rows.height <= 10 for rows in frames)
        assert pl.concat(frames).get_column("i").to_list() == list(range(1000))
