"""Files of results are there whole or not at all, whatever the disk does."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from penstock.errors import HostError
from penstock.io.results import write_part

FULL = Path("/dev/full")
ROWS = pl.DataFrame({"v": range(100_000)})


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_full_disk_is_named_and_leaves_nothing_behind(tmp_path: Path, format: str) -> None:
    (tmp_path / f".part-1.{format}").symlink_to(FULL)  # where the file is written first
    with pytest.raises(HostError, match="No space left on device") as failed:
        write_part(tmp_path, "part-1", format, ROWS)
    assert str(tmp_path) in str(failed.value)
    assert "free some" in str(failed.value)
    assert list(tmp_path.iterdir()) == []
    assert write_part(tmp_path, "part-1", format, ROWS).exists()
