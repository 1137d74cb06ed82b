"""Parquet files joined without reading a value hold all rows, for every reader."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from penstock.io.joined_parquet import join_parquet

SCHEMA: dict[str, Any] = {
    "n": pl.Int64,
    "word": pl.String,
    "x": pl.Float64,
    "flag": pl.Boolean,
    "ts": pl.Datetime("us"),
    "raw": pl.Binary,
}
rows = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(max_size=20),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
    st.none() | st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),
    st.none() | st.binary(max_size=5),
)


@settings(max_examples=40)
@given(st.lists(st.lists(rows, max_size=20), min_size=1, max_size=4))
def test_polars_arrow_and_duckdb_read_all_rows_in_order(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("parts")
    frames = [pl.DataFrame(part, schema=SCHEMA, orient="row") for part in parts]
    files = []
    for number, frame in enumerate(frames):
        files.append(folder / f"{number}.parquet")
        frame.write_parquet(files[-1], compression="snappy", row_group_size=7)
    joined = folder / "joined.parquet"
    join_parquet(files, joined)
    expected = pl.concat(frames)
    assert_frame_equal(pl.read_parquet(joined), expected)
    arrow = pl.from_arrow(pq.read_table(joined))
    assert isinstance(arrow, pl.DataFrame)
    assert_frame_equal(arrow, expected)
    counted = duckdb.sql(f"SELECT count(*), count(n), count(raw) FROM '{joined}'")
    assert counted is not None
    filled = (expected[name].drop_nulls().len() for name in ("n", "raw"))
    assert counted.fetchall() == [(expected.height, *filled)]


def test_files_of_arrow_with_indexes_of_pages_are_joined(tmp_path: Path) -> None:
    frame = pl.DataFrame({"k": range(1000), "s": [str(n) for n in range(1000)]})
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for file in files:
        pq.write_table(frame.to_arrow(), file, write_page_index=True, row_group_size=300)
    join_parquet(files, tmp_path / "joined.parquet")
    found = pl.read_parquet(tmp_path / "joined.parquet")
    assert_frame_equal(found, pl.concat([frame, frame]))
    filtered = pl.scan_parquet(tmp_path / "joined.parquet").filter(pl.col("k") == 7).collect()
    assert filtered.height == 2


def test_what_is_no_parquet_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(b"some text that is long enough")
    with pytest.raises(OSError, match="not a parquet file"):
        join_parquet([file], tmp_path / "joined.parquet")
