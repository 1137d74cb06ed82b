"""Files that the exchange reads itself: which they are, and what it makes of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from penstock.errors import HostError, MalformedRow
from penstock.spark.sources.direct_files import check_header, is_direct, read_file
from tests.spark.sources.declaring import declared

TS = "2026-01-01 00:00:00"


@pytest.mark.parametrize(
    ("source", "direct"),
    [
        ("parquet 'in'", True),
        ("csv 'in'", True),
        ("csv 'in' OPTIONS (sep ';', header 'false', maxFilesPerTrigger '2')", True),
        ("csv 'in' OPTIONS (mode 'DROPMALFORMED')", False),
        ("csv 'in' OPTIONS (timestampFormat 'dd.MM.yyyy')", False),
        ("csv 'in' OPTIONS (sep '||')", False),
        ("csv 's3://bucket/in'", False),
        ("json 'in'", True),
        ("json 'in' OPTIONS (maxFilesPerTrigger '2')", True),
        ("json 'in' OPTIONS (multiLine 'true')", False),
        ("parquet 'in' OPTIONS (mergeSchema 'true')", False),
    ],
)
def test_files_are_read_here_if_every_option_is_known(source: str, direct: bool) -> None:
    assert is_direct(declared(source)) is direct


def test_objects_may_leave_out_what_they_like(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(f'{{"ts": "{TS}"}}\n{{"ts": "{TS}", "k": "x"}}\n[]\n')
    [block] = read_file(str(tmp_path / "1.json"), declared(f"json '{tmp_path}'"))
    assert block.rows.get_column("k").to_list() == [None]
    assert block.rejected is not None
    assert sorted(block.rejected.get_column("reason")) == [
        "k: 'x' is not a valid INT",
        "no row: []",
    ]


def test_lines_that_are_no_rows_and_values_that_do_not_conform_are_rejected(
    tmp_path: Path,
) -> None:
    (tmp_path / "1.csv").write_text(f"k,ts\n1\n2,{TS}\nx,{TS}\n")
    [block] = read_file(f"file://{tmp_path}/1.csv", declared(f"csv '{tmp_path}'"))
    assert block.rows.get_column("k").to_list() == [2]
    assert block.rejected is not None
    assert sorted(block.rejected.get_column("reason")) == [
        "k: 'x' is not a valid INT",
        "no row: 1",
    ]


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "1.csv.gz", "wt") as file:
        file.write(f"ts,k\n{TS},7\n")
    stream = declared(f"csv '{tmp_path}'")
    check_header(stream)
    [block] = read_file(str(tmp_path / "1.csv.gz"), stream)
    assert block.rows.get_column("k").to_list() == [7]


def test_a_header_is_checked_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "_hidden.csv").write_text("a,b\n")
    (tmp_path / "1.csv").write_text("")
    check_header(declared(f"csv '{tmp_path}'"))
    (tmp_path / "2.csv").write_text("K,Ts,more\n")
    check_header(declared(f"csv '{tmp_path}'"))
    (tmp_path / "2.csv").write_text("k,time\n")
    with pytest.raises(MalformedRow, match="declares `ts`, which its source does not have"):
        check_header(declared(f"csv '{tmp_path}'"))


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, format: str) -> None:
    file = tmp_path / f"1.{format}.gz" if format == "csv" else tmp_path / f"1.{format}"
    file.write_bytes(b"not what it says")
    with pytest.raises(HostError, match=f"cannot read `{file}` as {format}"):
        list(read_file(str(file), declared(f"{format} '{tmp_path}'")))


def test_columns_are_found_by_name_whatever_the_case(tmp_path: Path) -> None:
    rows = pl.DataFrame({"TS": [0], "other": [1], "K": [2]})
    rows.with_columns(pl.col("TS").cast(pl.Datetime("us"))).write_parquet(tmp_path / "1.parquet")
    [block] = read_file(str(tmp_path / "1.parquet"), declared(f"parquet '{tmp_path}'"))
    assert block.rows.row(0, named=True) == {"k": 2, "ts": 0}
