"""Files of results are there whole or not at all, whatever the disk does."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from penstock.errors import HostError
from penstock.io.results import FEW_ROWS, write_part

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("height", [100, 100_000])
@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_full_disk_is_named_and_leaves_nothing_behind(
    tmp_path: Path, format: str, height: int
) -> None:
    rows = pl.DataFrame({"v": range(height)})
    (tmp_path / f".part-1.{format}").symlink_to(FULL)  # where the file is written first
    with pytest.raises(HostError, match="No space left on device") as failed:
        write_part(tmp_path, "part-1", format, rows)
    assert str(tmp_path) in str(failed.value)
    assert "free some" in str(failed.value)
    assert list(tmp_path.iterdir()) == []
    assert write_part(tmp_path, "part-1", format, rows).exists()


def test_few_rows_are_written_as_many_are(tmp_path):
    """Whoever writes a file, its columns are the same: a directory has files of both."""
    rows = pl.DataFrame(
        {
            "name": ["x", None],
            "n": [1, None],
            "d": [0.5, None],
            "at": [datetime(2026, 1, 1), None],
            "on": [date(2026, 1, 1), None],
            "took": [timedelta(seconds=1), None],
            "is": [True, None],
        }
    )
    few = write_part(tmp_path, "part-1", "parquet", rows)
    many = write_part(tmp_path, "part-2", "parquet", pl.concat([rows] * (FEW_ROWS // 2 + 1)))
    assert pl.read_parquet(str(few)).equals(rows)
    assert pq.read_schema(few).remove_metadata() == pq.read_schema(many).remove_metadata()
    plain = [(c.path, c.physical_type, c.logical_type.type) for c in _columns(few)]
    assert plain == [(c.path, c.physical_type, c.logical_type.type) for c in _columns(many)]


def _columns(file):
    schema = pq.ParquetFile(file).schema
    return [schema.column(number) for number in range(len(schema))]
