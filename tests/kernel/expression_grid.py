"""A grid of expressions over values that go wrong: for the kernel, the oracle and Spark alike.

Columns come in pairs (`i1`, `i2` INT and so on), whose rows are all pairs of the type's values.
Each group of expressions is one wide SELECT.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

import polars as pl

from penstock.catalog.catalog import Catalog
from penstock.kernel.expressions.compiler import compile_expression
from penstock.kernel.types import polars_type
from penstock.model.expressions import Expression
from penstock.model.timestamps import to_ticks
from penstock.model.types import DecimalType, Type
from penstock.oracle.expressions import value_of
from penstock.plan.nodes import Project
from tests.sql.declared import execute, plan_of


def _ticks(*moments: str) -> list[int]:
    return [to_ticks(datetime.fromisoformat(moment)) for moment in moments]


_WIDE = Context(prec=38)
_TIMES = _ticks(
    "1970-01-01T00:00:00",
    "2024-02-29T23:59:59.999999",
    "2023-12-31T12:30:45.123456",
    "1969-12-31T23:59:59.500000",
    "1903-03-01T00:00:00.000001",
    "2026-03-08T07:30:00",  # in New York, clocks have just gone forward
    "2026-11-01T05:30:00",  # and here they show the same hour twice
    "9999-12-31T23:59:59",
)
_DAYS = ("1970-01-01", "2024-02-29", "1969-12-31", "2000-12-31", "1900-03-01", "9999-12-30")
_TEXTS = (
    *("", " ", "a", "A b", "ß", "ÄÖ", "日本語", "🙂x", "%_\\", "a,b,,c", "NaN", "Infinity", "-0.0"),
    *(
        "1",
        " 12 ",
        "+3",
        "1e3",
        "0.5",
        ".5",
        "5.",
        ".",
        "-.5",
        "0x1F",
        "1_000",
        "9223372036854775808",
        "-1.9",
    ),
    *("true", "T", "no", "2024-02-29", "2023-02-29", "2024-2-9", "1969-12-31 23:59:59.5"),
    *("2024-02-29T01:02:03Z", "2024-02-29 25:00:00", "2024-02", "1d", "e", "\t7\n"),
)
#: Column -> its type and values; NULL is one more of each.
VALUES: dict[str, tuple[Type, list[Any]]] = {
    "t": (Type.TINYINT, [-128, -1, 0, 7, 127]),
    "h": (Type.SMALLINT, [-32768, -1, 0, 7, 32767]),
    "i": (Type.INT, [-(1 << 31), -7, -1, 0, 1, 3, (1 << 31) - 1]),
    "b": (Type.BIGINT, [-(1 << 63), -1, 0, 2, 9007199254740993, (1 << 63) - 1]),
    "f": (
        Type.FLOAT,
        [-math.inf, -1.5, -0.0, 0.10000000149011612, 3.0, 16777216.0, math.inf, math.nan],
    ),
    "x": (
        Type.DOUBLE,
        [
            *(-math.inf, -1.7976931348623157e308, -2.5, -0.5, -0.0, 0.0, 5e-324, 0.1, 0.5, 1.005),
            *(2.5, 1e15, 9.3e18, 1.7976931348623157e308, math.inf, math.nan),
        ],
    ),
    "c": (
        DecimalType(10, 2),
        [
            Decimal(text)
            for text in ("-99999999.99", "-2.50", "-0.01", "0.00", "1.25", "99999999.99")
        ],
    ),
    "e": (
        DecimalType(38, 10),
        [
            Decimal(text)
            for text in (
                "-" + "9" * 24 + ".9999999999",
                "0.0000000000",
                "0.0000000001",
                "7.5000000000",
            )
        ],
    ),
    "o": (Type.BOOLEAN, [True, False]),
    "s": (Type.STRING, [*_TEXTS]),
    "d": (Type.DATE, [(date.fromisoformat(day) - date(1970, 1, 1)).days for day in _DAYS]),
    "ts": (Type.TIMESTAMP, _TIMES),
    "nt": (Type.TIMESTAMP_NTZ, [*_TIMES[:-1], *_ticks("9999-12-30T23:59:59")]),
}


def columns() -> dict[str, Type]:
    """Every column twice."""
    return {f"{name}{side}": of for name, (of, _) in VALUES.items() for side in (1, 2)}


def rows() -> list[dict[str, Any]]:
    """As many as the largest type has pairs; of smaller ones pairs come again."""
    pools = {name: [None, *values] for name, (_, values) in VALUES.items()}
    # Texts are many: each meets some others, and every other column all of its own.
    count = max(len(pool) ** 2 for name, pool in pools.items() if name != "s")
    return [
        {
            f"{name}{side}": pool[n % len(pool) if side == 1 else n // len(pool) % len(pool)]
            for name, pool in pools.items()
            for side in (1, 2)
        }
        for n in range(count)
    ]


_PAIRS = ("t1 {} t2", "i1 {} i2", "b1 {} b2", "x1 {} x2", "f1 {} f2", "c1 {} c2", "i1 {} b1")
_MIXED = ("i1 {} x1", "c1 {} i1", "b1 {} c1", "f1 {} x1", "c1 {} x1", "e1 {} c1", "t1 {} h1")
_CASTS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "STRING")


def _over(forms: tuple[str, ...], *signs: str) -> Iterator[str]:
    for sign in signs:
        yield from (form.format(sign) for form in forms)


def _of(columns: str, *calls: str) -> Iterator[str]:
    for call in calls:
        yield from (call.format(column) for column in columns.split())


GROUPS: dict[str, tuple[str, ...]] = {
    "arithmetic": (
        *_over((*_PAIRS, *_MIXED), "+", "-", "*", "/", "%"),
        *_over(("i1 {} i2", "b1 {} b2", "c1 {} c2", "t1 {} t2"), "div"),
        *_over(("i1 {} i2", "b1 {} b2", "t1 {} h2"), "&", "|", "^"),
        *(
            "pmod(i1, i2)",
            "pmod(b1, 7)",
            "pmod(t1, 3)",
            "pmod(i1, -3)",
            "pmod(b1, b2)",
            "pmod(x1, x2)",
            "pmod(c1, c2)",
            "~i1",
            "~b1",
        ),
        *("0.1 + 0.2 = 0.3", "9007199254740993 * 1.0", "i1 * 1.5", "b1 * 0.908", "x1 * 0.1"),
        *("i1 / 8.0", "b1 / 1024.0", "1.0 / i1", "i1 % 2.5", "i1 - 0.5", "2.5 - i1", "f1 * 0.5"),
        *(
            "c1 + 0.05",
            "c1 * 100",
            "1e3 + i1",
            "i1 * 1e0",
            "b1 + 0.1",
            "b1 * 12345678901.5",
            "-0.0",
        ),
        *("power(i1, 0.5)", "round(2.5)", "round(-0.5)", "0.5 + 1", "1.50", "i1 + 1.", ".5 * b1"),
    ),
    "numbers": (
        *_of("t1 i1 b1 x1 f1 c1 e1", "-{}", "abs({})", "sign({})", "ceil({})", "floor({})"),
        *_of("i1 b1 x1 f1 c1", "round({})", "round({}, 1)", "round({}, -1)"),
        *_of("i1 x1 c1", "sqrt({})", "exp({})", "ln({})", "log10({})", "log2({})"),
        *("power(x1, x2)", "power(i1, i2)", "isnan(x1)", "isnan(f1)"),
        *_of("t1 h1 i1 b1 x1 f1 c1 e1 o1", *(f"CAST({{}} AS {to})" for to in _CASTS)),
        *_of("i1 b1 x1 f1 c1 e1", "CAST({} AS DECIMAL(10, 2))", "CAST({} AS DECIMAL(38, 18))"),
        *_of("i1 b1 x1", "CAST({} AS TIMESTAMP)"),
    ),
    "comparisons": (
        *_over((*_PAIRS, *_MIXED, "s1 {} s2", "d1 {} d2", "ts1 {} ts2"), "=", "<", ">=", "<=>"),
        *_over(("i1 {} 2.5", "b1 {} -0.5", "x1 {} 0.1", "f1 {} 0.1", "2.0 {} i1"), "=", "<", ">="),
        *_over(("c1 {} 1.25", "0.5 {} i1", "i1 {} 3.0", "i1 {} x1", "d1 {} ts1"), "<>", ">", "<="),
        *("i1 IN (1, 2.5, NULL)", "x1 IN (0.1, 2)", "b1 BETWEEN -1.5 AND 2.5", "s1 IN ('a', '')"),
        *("o1 AND o2", "o1 OR o2", "NOT o1", "o1 IS TRUE", "x1 IS NULL", "i1 IS DISTINCT FROM i2"),
        *("coalesce(x1, i1, 0.5)", "coalesce(i1, 0.5)", "coalesce(c1, i1)", "nullif(x1, x2)"),
        *(
            "nullif(i1, 0.0)",
            "if(o1, i1, b1)",
            "if(o1, i1, 0.5)",
            "greatest(x1, x2)",
            "least(x1, x2)",
        ),
        *("greatest(i1, 0.5)", "least(f1, x1)", "greatest(s1, s2)", "least(d1, d2)"),
        *("CASE WHEN o1 THEN i1 ELSE 1.5 END", "CASE i1 WHEN 1.0 THEN 'one' ELSE s1 END"),
    ),
    "texts": (
        *_of("s1", "upper({})", "lower({})", "length({})", "trim({})", "ltrim({})", "rtrim({})"),
        *_of(
            "s1", "reverse({})", "btrim({}, 'a ')", "repeat({}, 3)", "left({}, 2)", "right({}, 2)"
        ),
        *("s1 || s2", "concat(s1, '-', i1)", "concat_ws(',', s1, s2, o1)", "substring(s1, 2, 2)"),
        *(
            "substring(s1, -2)",
            "substring(s1, 0, 1)",
            "substring(s1, i1, 2)",
            "replace(s1, 'a', 'bb')",
        ),
        *("replace(s1, '', 'x')", "contains(s1, s2)", "startswith(s1, s2)", "endswith(s1, s2)"),
        *("lpad(s1, 4, 'xy')", "rpad(s1, 4, '')", "lpad(s1, -1)", "split_part(s1, ',', 2)"),
        *(
            "split_part(s1, ',', -1)",
            "s1 LIKE 'a%'",
            "s1 LIKE '_'",
            "s1 ILIKE 'Ä%'",
            "s1 RLIKE '^[a-z]'",
        ),
        *(
            "s1 LIKE '%\\\\_%'",
            "s1 LIKE '100!%' ESCAPE '!'",
            "x1 || ''",
            "concat(f1, '')",
            "c1 || ''",
        ),
        *("concat(d1, '')", "o1 || s1", "concat(ts1, '')", "concat(nt1, '')", "b1 || ''"),
        *_of("s1", *(f"CAST({{}} AS {to})" for to in (*_CASTS[:-1], "DATE", "TIMESTAMP"))),
        *_of("s1", "CAST({} AS DECIMAL(10, 2))", "CAST({} AS TIMESTAMP_NTZ)", "to_date({})"),
    ),
    "times": (
        *_of(
            "ts1 nt1 d1", "year({})", "quarter({})", "month({})", "weekofyear({})", "dayofyear({})"
        ),
        *_of("ts1 nt1 d1", "dayofmonth({})", "dayofweek({})", "weekday({})"),
        *_of(
            "ts1 nt1",
            "hour({})",
            "minute({})",
            "second({})",
            "CAST({} AS STRING)",
            "CAST({} AS DATE)",
        ),
        *_of(
            "ts1 nt1", "extract(SECOND FROM {})", "extract(HOUR FROM {})", "extract(WEEK FROM {})"
        ),
        *(
            f"date_trunc('{unit}', ts1)"
            for unit in ("year", "quarter", "month", "week", "day", "hour")
        ),
        *("date_trunc('minute', ts1)", "date_trunc('second', ts1)", "date_trunc('day', nt1)"),
        *(
            "d1 + INTERVAL 1 DAY",
            "d1 - INTERVAL 1 DAY",
            "INTERVAL 2 WEEKS + d1",
            "d1 + INTERVAL 1 HOUR",
        ),
        *("d1 + INTERVAL 1 DAY 2 HOURS", "d1 + INTERVAL '24' HOUR", "d1 + i1 % 1000", "d1 - 3"),
        *("ts1 + INTERVAL 1 DAY", "ts1 - INTERVAL 90 MINUTES", "nt1 + INTERVAL '1' DAY"),
        *("unix_seconds(ts1)", "unix_millis(ts1)", "unix_micros(ts1)", "timestamp_seconds(i1)"),
        *(
            "timestamp_millis(b1 div 1000000)",
            "timestamp_micros(b1 div 1000)",
            "timestamp_seconds(x1 / 10)",
        ),
        *("timestamp_seconds(1.5)", "(ts1 - ts2) div INTERVAL 1 SECOND", "CAST(d1 AS TIMESTAMP)"),
        *(
            "CAST(ts1 AS BIGINT)",
            "CAST(ts1 AS DOUBLE)",
            "CAST(ts1 AS TIMESTAMP_NTZ)",
            "CAST(ts1 AS INT)",
            "CAST(ts1 AS TINYINT)",
        ),
        *(
            "CAST(nt1 AS TIMESTAMP)",
            "CAST(d1 AS STRING)",
            "CAST(d1 AS TIMESTAMP_NTZ)",
            "to_date(ts1)",
        ),
        *("ts1 > d1", "nt1 <= d1", "ts1 = nt1", "coalesce(d1, ts1)", "greatest(ts1, d1)"),
        *("DATE '2024-02-29' + INTERVAL 1 DAY", "DATE '2023-02-28' + 1", "to_timestamp(s1)"),
    ),
}
#: Groups in whose zones what a clock shows matters.
ZONES = {"times": ("UTC", "America/New_York"), "texts": ("UTC",)}

#: Why expressions give something else than in Spark; the first of each is shown in the docs.
DIFFERENCES: dict[str, tuple[str, ...]] = {
    "decimals are written without an exponent": ("CAST(e1 AS STRING)",),
    "a DOUBLE is written with as few digits as tell it from its neighbours": (
        "CAST(x1 AS STRING)",
        "x1 || ''",
    ),
    "letters of Java's behind a number are no part of it": (
        "CAST(s1 AS DOUBLE)",
        "CAST(s1 AS FLOAT)",
    ),
    "0.0 and -0.0 are equal, and which of them comes is open": (
        "greatest(x1, x2)",
        "least(x1, x2)",
        "least(f1, x1)",
    ),
    "a day is 24 hours, also where clocks are changed": ("ts1 + INTERVAL 1 DAY",),
    "between two points in time lies what has passed, not what clocks show": (
        "(ts1 - ts2) div INTERVAL 1 SECOND",
    ),
    "how clocks are changed is known until 2100": ("date_trunc('quarter', ts1)",),
}
EXPLAINED = {text for texts in DIFFERENCES.values() for text in texts}
ROWS = rows()


def bound(texts: Sequence[str], zone: str) -> list[Expression]:
    """Our expressions."""
    catalog = Catalog()
    declared = ", ".join(f"{name} {of}" for name, of in columns().items())
    execute(
        catalog,
        f"CREATE STREAM s ({declared}, at TIMESTAMP) TIMESTAMP BY at",
        f"SET TIME ZONE '{zone}'",
    )
    found = []
    for text in texts:
        plan = plan_of(f"SELECT {text} AS v FROM s", catalog)
        assert isinstance(plan, Project), text
        found.append(plan.columns[0].value)
    return found


def frame(rows: Sequence[dict[str, Any]] = ROWS) -> pl.DataFrame:
    schema = {name: polars_type(of) for name, of in columns().items()}
    physical = {
        name: pl.Int32() if of is Type.DATE else schema[name] for name, of in columns().items()
    }
    return pl.DataFrame(rows, schema=physical, orient="row").cast(schema)  # type: ignore[arg-type]


def by_kernel(
    expressions: Sequence[Expression], rows: Sequence[dict[str, Any]] = ROWS
) -> list[list[Any]]:
    block = frame(rows)
    found = []
    for expression in expressions:
        column = block.with_columns(compile_expression(expression).alias("v")).get_column("v")
        found.append((column.to_physical() if column.dtype == pl.Date else column).to_list())
    return found


def by_oracle(expressions: Sequence[Expression]) -> list[list[Any]]:
    return [[value_of(expression, row) for row in ROWS] for expression in expressions]


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        if math.isnan(mine) or math.isnan(theirs) or math.isinf(mine) or mine == 0 or theirs == 0:
            return repr(mine) == repr(theirs)
        return math.isclose(mine, theirs, rel_tol=1e-12)
    return type(mine) is type(theirs) and bool(mine == theirs)


def first_apart(mine: Sequence[Any], theirs: Sequence[Any]) -> int | None:
    """The first row in which answers differ."""
    pairs = enumerate(zip(mine, theirs, strict=True))
    return next((n for n, (one, other) in pairs if not same(one, other)), None)
