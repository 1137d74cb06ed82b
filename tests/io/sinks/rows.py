"""Rows of all types, under names that need quotes, for every sink."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import polars as pl

from penstock.io.results import no_results
from penstock.io.sinks.sink_kind import Target
from penstock.model.schema import Column, Schema
from penstock.model.streams import Sink
from penstock.model.types import Type

COLUMNS = {
    "flag": Type.BOOLEAN,
    "tiny": Type.TINYINT,
    "small": Type.SMALLINT,
    "n": Type.INT,
    "big": Type.BIGINT,
    "ratio": Type.FLOAT,
    "mean": Type.DOUBLE,
    'odd "name"; DROP': Type.STRING,
    "raw": Type.BINARY,
    "Day": Type.DATE,
    "ts": Type.TIMESTAMP,
}
SCHEMA = Schema.of(Column(name, of) for name, of in COLUMNS.items())
NAMES = list(COLUMNS)

#: Values at the ends, NULLs, and text that would end a statement.
VALUES: list[tuple[Any, ...]] = [
    (
        *(True, 127, 32767, 2**31 - 1, 2**63 - 1, 0.5, math.pi),
        *("'; DROP TABLE x; --\n\t%s é 😀", b"\x00\xff'", date(2026, 3, 1)),
        datetime(2026, 3, 1, 12, 30, 0, 123456),
    ),
    (
        *(False, -128, -32768, -(2**31), -(2**63), -0.25, -1e300),
        *("", b"", date(1969, 12, 31), datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ),
    (None,) * len(COLUMNS),
]


def rows(*values: tuple[Any, ...]) -> pl.DataFrame:
    """Rows as a query hands them to a sink."""
    return pl.DataFrame(list(values), schema=no_results(SCHEMA).schema, orient="row")


ALL = rows(*VALUES)

#: A smaller table: what is counted, and of which key.
SMALL = Schema.of([Column("k", Type.STRING), Column("n", Type.BIGINT)])


def small(*pairs: tuple[str | None, int | None]) -> pl.DataFrame:
    return pl.DataFrame(list(pairs), schema=no_results(SMALL).schema, orient="row")


def target(sink: Sink, schema: Schema = SMALL, application: str = "a1:query q") -> Target:
    return Target("query q", sink, schema, application)


#: Types that have parts, exact numbers, and what a clock shows.
PARTS = Schema.of(
    Column(name, Type(of))
    for name, of in {
        "id": "BIGINT",
        "price": "DECIMAL(12, 2)",
        "clock": "TIMESTAMP_NTZ",
        "words": "ARRAY<STRING>",
        "tiny": "ARRAY<TINYINT>",
        "prices": "ARRAY<DECIMAL(6, 3)>",
        "times": "ARRAY<TIMESTAMP>",
        "days": "ARRAY<DATE>",
        "flags": "ARRAY<BOOLEAN>",
        "user": "STRUCT<name: STRING, at: TIMESTAMP, paid: DECIMAL(5, 2)>",
        "counts": "MAP<STRING, BIGINT>",
        "visits": "ARRAY<STRUCT<page: STRING, ms: INT>>",
    }.items()
)
_AT = datetime(2026, 3, 1, 12, 30, 0, 123456)
PART_VALUES: list[tuple[Any, ...]] = [
    (
        *(1, Decimal("1234567890.25"), _AT, ["a", None, "'; --"], [1, -128], [Decimal("1.125")]),
        *([_AT, None], [date(2026, 3, 1)], [True, None]),
        {"name": 'q"\n', "at": _AT, "paid": Decimal("0.10")},
        {"k": 1, "é": None},
        [{"page": "/", "ms": 5}, None],
    ),
    (2, Decimal("-0.01"), None, [], [], [], [], [], [], {"name": None}, {}, []),
    (3, *[None] * (len(PARTS.names) - 1)),
]


def with_parts() -> pl.DataFrame:
    columns = zip(no_results(PARTS).schema.items(), zip(*PART_VALUES, strict=True), strict=True)
    return pl.DataFrame([pl.Series(name, values, of) for (name, of), values in columns])
