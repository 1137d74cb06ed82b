"""Which streams are small files that one batch reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.sources import file_sizes
from penstock.spark.sources.file_sizes import are_small, is_read_at_once
from tests.spark.sources.declaring import declared


def test_small_is_what_all_files_together_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sizes, "SMALL", 10)
    (tmp_path / "1.csv").write_text("123456")
    assert are_small([declared(f"csv '{tmp_path}'")])
    assert are_small([declared(f"csv 'file://{tmp_path}'")])
    assert not are_small([declared(f"csv '{tmp_path}'"), declared(f"csv '{tmp_path}/1.csv'")])
    (tmp_path / "2.csv").write_text("123456")
    assert not are_small([declared(f"csv '{tmp_path}'")])


@pytest.mark.parametrize(
    "source", ["rate", "csv 's3://bucket/in'", "csv 'no/such/place'", "workload 'bids'"]
)
def test_what_is_not_here_is_not_small(source: str) -> None:
    assert not are_small([declared(source)])


def test_a_limit_per_batch_may_leave_files_for_the_next() -> None:
    assert is_read_at_once(declared("parquet 'in'"))
    assert not is_read_at_once(declared("parquet 'in' OPTIONS (MaxFilesPerTrigger '1')"))
    assert not is_read_at_once(declared("rate"))
