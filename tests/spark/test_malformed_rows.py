"""Malformed rows among good ones, on Spark as in this process: the good ones go in, none is lost.

The same files are read by both engines. Where Spark's readers cannot tell what the local reader
can (a number where a text belongs, in JSON), the case is not among these; docs/sql.md says so.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import MalformedRow
from penstock.kernel.rejected import Reason
from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine

BIDS = """
CREATE STREAM {name} (item STRING, price INT, ts TIMESTAMP) FROM {format} '{path}' {options}
  TIMESTAMP BY ts SLACK 1 HOUR;
"""
GOOD = '{"item": "lamp", "price": 1, "ts": "2026-01-01 12:00:00"}'
FILES = {
    "json": [
        GOOD,
        "not json at all",
        '{"item": "lamp", "price": {"amount": 2}, "ts": "2026-01-01 12:00:00"}',
        '{"price": null, "ts": "2026-01-01 12:00:00", "colour": "red"}',
        '{"item": "sofa", "price": 2.0, "ts": 1767268800000000}',
        '{"item": "sofa", "price": 2.5, "ts": "2026-01-01 12:00:00"}',
        '{"item": "sofa", "price": "3", "ts": "2026-01-01T12:00:00Z"}',
        "[1, 2]",
        '{"item": "lamp", "price": 2, "ts": "yesterday"}',
        '{"item": "no time", "price": 2, "ts": null}',
        "",
        GOOD[:-5],
        GOOD,
    ],
    "csv": [
        "price,ts,colour,item",
        "1,2026-01-01 12:00:00,red,lamp",
        "cheap,2026-01-01 12:00:00,red,lamp",
        "2,2026-01-01 12:00:00",
        "3,2026-01-01 12:00:00,red,lamp,too much",
        "3000000000,2026-01-01 12:00:00,red,lamp",
        "2.5,2026-01-01 12:00:00,red,lamp",
        "2.0,2026-01-01 12:00:00,red,lamp",
        ",2026-01-01 12:00:00,,NA",
        '4,2026-01-01 12:00:00,red,""',
        '5,2026-01-01 12:00:00,red,"a ""lamp"", red"',
        "6,noon,red,lamp",
        "7,,red,lamp",
    ],
}


GERMAN = ["item,price,ts", "lamp,1,31.12.2025 12:00", "lamp,2,12:00"]


def declared(name: str, format: str, folder: Path, lines: list[str], options: str = "") -> str:
    (folder / name).mkdir()
    (folder / name / f"bids.{format}").write_text("\n".join(lines) + "\n")
    return BIDS.format(name=name, format=format, path=folder / name, options=options)


@pytest.fixture(scope="module")
def engines(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Engine, LocalEngine]:
    """Both engines, having read the same files in one pipeline; Spark some more."""
    folder = tmp_path_factory.mktemp("files")
    text = "".join(declared(format, format, folder, lines) for format, lines in FILES.items())
    mode = "OPTIONS (mode 'DROPMALFORMED')"
    times = "OPTIONS (timestampFormat 'dd.MM.yyyy HH:mm')"
    more = declared("dropped", "json", folder, FILES["json"], mode)
    more += declared("german", "csv", folder, GERMAN, times)
    here = LocalEngine()
    here.sql(text + every(*FILES))
    for _ in here.read_files():
        pass
    here.finish()
    there = Engine(spark)
    there.sql(text + more + every(*FILES, "dropped", "german"))
    there.start()
    there.finish()
    return there, here


def every(*streams: str) -> str:
    parts = (f"SELECT '{name}' AS of, item, price, ts FROM {name}" for name in streams)
    return f"CREATE QUERY every AS {' UNION ALL '.join(parts)}"


def rows_of(engine: Engine | LocalEngine, stream: str) -> list[tuple[object, ...]]:
    rows = engine.query("every").results().filter(pl.col("of") == stream)
    return sorted(rows.rows(), key=repr)


def kept(rows: list[pl.DataFrame]) -> list[tuple[str | None, ...]]:
    # What a value was is the same text in both; how it is quoted in the reason is not.
    return sorted(
        ((*row[:-1], row[-1].replace("'", "").replace('"', "")) for f in rows for row in f.rows()),
        key=repr,
    )


def columns_at_fault(rows: list[pl.DataFrame]) -> list[str]:
    return sorted(reason.split(":")[0] for frame in rows for reason in frame["reason"])


@pytest.mark.parametrize("format", FILES)
def test_both_engines_set_the_same_rows_aside(
    engines: tuple[Engine, LocalEngine], format: str
) -> None:
    there, here = engines
    assert len(rows_of(here, format)) >= 4
    assert rows_of(there, format) == rows_of(here, format)
    counts, expected = there.counts(format), here.counts(format)
    assert (counts.rows, counts.malformed) == (expected.rows, expected.malformed)
    malformed, aside = (
        [
            each.rows
            for each in engine.rejected_rows
            if each.stream == format and each.reason is Reason.MALFORMED
        ]
        for engine in engines
    )
    assert len(kept(malformed)) == counts.malformed
    if format == "csv":
        assert kept(malformed) == kept(aside)
    else:  # JSON objects are printed in Python's way there, and in their own here
        assert columns_at_fault(malformed) == columns_at_fault(aside)


def test_whoever_chooses_a_mode_gets_sparks_own_way(engines: tuple[Engine, LocalEngine]) -> None:
    there, _ = engines
    assert there.counts("dropped").malformed <= 1  # the one without a time
    assert rows_of(there, "dropped")


def test_times_are_read_as_the_options_say(engines: tuple[Engine, LocalEngine]) -> None:
    there, _ = engines
    assert [str(row[-1]) for row in rows_of(there, "german")] == ["2025-12-31 12:00:00"]
    assert there.counts("german").malformed == 1


def test_a_header_without_a_declared_column_is_refused_at_the_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    engine = Engine(spark)
    engine.sql(declared("bids", "csv", tmp_path, ["item,prize,ts", "lamp,1,2026-01-01 12:00:00"]))
    engine.sql(every("bids"))
    with pytest.raises(MalformedRow, match=r"(?s)declares `price`.*prize"):
        engine.start()
