"""Streams that declare no columns have those of their files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from penstock.errors import HostError, MalformedRow
from penstock.local.engine import LocalEngine

OBJECT = '{"k": 1, "u": {"n": "x", "tags": ["a"]}, "d": 1.5, "ts": "2026-01-01T00:00:00Z"}\n'


def test_the_columns_of_json_are_those_of_its_objects(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(OBJECT + '{"k": 2, "u": null, "ok": true}\n')
    engine = LocalEngine()
    said = engine.sql(f"CREATE STREAM s FROM json '{tmp_path}' TIMESTAMP BY ts")
    assert said == (
        "stream `s` has the columns (k BIGINT, u STRUCT<n: STRING, tags: ARRAY<STRING>>, "
        "d DOUBLE, ts TIMESTAMP, ok BOOLEAN)"
    )
    query = engine.sql("SELECT k, u.tags[0] AS tag FROM s")
    engine.finish()
    assert query.results().rows() == [(1, "a")]  # the other has no time


def test_the_columns_of_csv_are_those_of_its_header(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("k,v,day,ts,name\n1,2.5,2026-01-01,2026-01-01 00:00:00,x\n")
    said = LocalEngine().sql(f"CREATE STREAM s FROM csv '{tmp_path}' TIMESTAMP BY ts")
    assert said == (
        "stream `s` has the columns (k BIGINT, v DOUBLE, day DATE, ts TIMESTAMP, name STRING)"
    )


def test_the_columns_of_parquet_are_those_of_its_schema(tmp_path: Path) -> None:
    rows = pl.DataFrame({"k": [1], "m": [{"a": 1}], "l": [[1.5]]}).cast({"k": pl.Decimal(9, 2)})
    rows.write_parquet(tmp_path / "1.parquet")
    said = LocalEngine().sql(f"CREATE STREAM s FROM parquet '{tmp_path}'")
    assert said == (
        "stream `s` has the columns (k DECIMAL(9, 2), m STRUCT<a: BIGINT>, l ARRAY<DOUBLE>)"
    )


def test_without_files_or_a_schema_the_columns_must_be_declared(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text("")
    with pytest.raises(MalformedRow, match="has no rows of json yet"):
        LocalEngine().sql(f"CREATE STREAM s FROM json '{tmp_path}'")
    with pytest.raises(MalformedRow, match="FROM kafka does not tell them"):
        LocalEngine().sql("CREATE STREAM s FROM kafka")


def test_columns_are_told_under_options_that_are_not_about_what_is_in_the_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "1.csv").write_text("v\n1\n")
    said = LocalEngine().sql(
        f"CREATE STREAM s FROM csv '{tmp_path}' OPTIONS (maxFilesPerTrigger '1')"
    )
    assert said == "stream `s` has the columns (v BIGINT)"


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_damaged_file_is_named_where_columns_are_to_be_told_from_it(
    tmp_path: Path, format: str
) -> None:
    (tmp_path / f"1.{format}").write_bytes(b"v\xff\n")
    with pytest.raises(HostError, match=rf"cannot read `.*1\.{format}` as {format}"):
        LocalEngine().sql(f"CREATE STREAM s FROM {format} '{tmp_path}'")


@pytest.mark.parametrize(
    ("odd", "shown"),
    [
        ('"n/a"', '"n/a"'),
        ("true", "true"),
        ('{"a": 1}', r'\{"a": 1\}'),
        ('[1, "x"]', r'\[1, "x"\]'),
    ],
)
def test_a_row_of_json_that_differs_from_the_others_is_named(
    tmp_path: Path, odd: str, shown: str
) -> None:
    rows = [f'{{"price": {price}, "k": "a"}}\n' for price in (1, 2.5, odd, 3)]
    (tmp_path / "1.json").write_text("".join(rows))
    engine = LocalEngine()
    with pytest.raises(MalformedRow, match=f"`price` is .* in most rows, and {shown} in line 3 of"):
        engine.sql(f"CREATE STREAM s FROM json '{tmp_path}'")
    # The hint is a way out: only that row is malformed.
    engine.sql(f"CREATE STREAM s (price DOUBLE, k STRING) FROM json '{tmp_path}'")
    query = engine.sql("SELECT price FROM s")
    engine.finish()
    assert query.results()["price"].to_list() == [1, 2.5, 3]
    assert engine.counts("s").malformed == 1


def test_a_line_that_is_nested_too_deeply_does_not_stop_inference(tmp_path: Path) -> None:
    deep = '{"k": ' + "[" * 100_000 + "]" * 100_000 + "}"
    (tmp_path / "1.json").write_text(f'{{"k": 1}}\n{deep}\n')
    assert LocalEngine().sql(f"CREATE STREAM s FROM json '{tmp_path}'") == (
        "stream `s` has the columns (k BIGINT)"
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (['[1, "x"]'], r"`v` is STRING in most rows, and \[1, \"x\"\] in line 1"),
        (['{"a": 1}', '{"a": 2}', '{"b": 1}', '{"b": "x"}'], r'and \{"b": "x"\} in line 4'),
    ],
)
def test_rows_that_are_mixed_among_themselves_are_named(
    tmp_path: Path, values: list[str], words: str
) -> None:
    (tmp_path / "1.json").write_text("".join(f'{{"v": {value}}}\n' for value in values))
    with pytest.raises(MalformedRow, match=words):
        LocalEngine().sql(f"CREATE STREAM s FROM json '{tmp_path}'")


@pytest.mark.parametrize("levels", [45, 300, 900])
@pytest.mark.parametrize(("begin", "end"), [('{"a":', "}"), ("[", "]")])
def test_values_that_lie_too_deep_are_named(
    tmp_path: Path, levels: int, begin: str, end: str
) -> None:
    text = '{"k": ' + begin * levels + "1" + end * levels + "}\n"
    (tmp_path / "1.json").write_text(text)
    engine = LocalEngine()
    declare = f"CREATE STREAM s FROM json '{tmp_path}'"
    if levels < 50:
        engine.sql(declare)
        engine.sql("SELECT * FROM s")
        engine.finish()
    else:
        with pytest.raises(MalformedRow, match=r"line 1 of `.*1\.json` has values within values"):
            engine.sql(declare)
