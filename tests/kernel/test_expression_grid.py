"""Expressions over nasty values: the kernel and the oracle agree; `tests/spark` asks Spark, too."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.model.types import DecimalType, Type
from penstock.oracle.expressions import value_of
from tests.kernel.expression_grid import (
    EXPLAINED,
    GROUPS,
    ROWS,
    ZONES,
    bound,
    by_kernel,
    by_oracle,
    first_apart,
)

DAY = date(2024, 2, 28)
AT = datetime(2024, 2, 28, 23, 59, 59, 250_000)
#: As Spark 4.3 answers with ANSI mode off, over a row of these.
SPARKS: tuple[tuple[str, Type, Any], ...] = (
    ("0.1 + 0.2 = 0.3", Type.BOOLEAN, True),
    ("9007199254740993 * 1.0", DecimalType(19, 1), Decimal("9007199254740993.0")),
    ("extract(SECOND FROM ts)", DecimalType(8, 6), Decimal("59.250000")),
    ("second(ts)", Type.INT, 59),
    ("d + INTERVAL 1 DAY", Type.DATE, date(2024, 2, 29)),
    ("INTERVAL '2' DAYS + d", Type.DATE, date(2024, 3, 1)),
    ("d - INTERVAL 1 WEEK", Type.DATE, date(2024, 2, 21)),
    ("d + 2", Type.DATE, date(2024, 3, 1)),
    ("d + INTERVAL 24 HOURS", Type.TIMESTAMP, datetime(2024, 2, 29)),
    ("d + INTERVAL 1 DAY 1 HOUR", Type.TIMESTAMP, datetime(2024, 2, 29, 1)),
    ("1.50", DecimalType(3, 2), Decimal("1.50")),
    ("15e-1", Type.DOUBLE, 1.5),
    ("n * 0.908", DecimalType(14, 3), Decimal("6.356")),
    ("x * 0.908", Type.DOUBLE, 0.25 * 0.908),
    ("n / 8.0", DecimalType(17, 6), Decimal("0.875000")),
    ("n > 6.5", Type.BOOLEAN, True),
    ("6.5 >= n", Type.BOOLEAN, False),
    ("n = 7.0", Type.BOOLEAN, True),
    ("nullif(n, 7.5)", Type.INT, 7),
)


def test_constants_with_a_point_days_and_seconds_are_as_in_spark() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (n INT, x DOUBLE, d DATE, ts TIMESTAMP) TIMESTAMP BY ts")
    queries = [engine.sql(f"SELECT {text} AS v FROM s") for text, _, _ in SPARKS]
    engine.push("s", [{"n": 7, "x": 0.25, "d": DAY, "ts": AT}])
    engine.finish()
    found = [
        (text, query.plan.schema["v"].type, query.results()["v"].item())
        for (text, _, _), query in zip(SPARKS, queries, strict=True)
    ]
    assert found == list(SPARKS)


@pytest.mark.parametrize("group", GROUPS)
def test_the_kernel_computes_what_the_oracle_does(group: str) -> None:
    for zone in ZONES.get(group, ("UTC",)):
        expressions = bound(GROUPS[group], zone)
        both = zip(GROUPS[group], by_kernel(expressions), by_oracle(expressions), strict=True)
        wrong = {
            (text, zone): (ROWS[row], mine[row], theirs[row])
            for text, mine, theirs in both
            if text not in EXPLAINED and (row := first_apart(mine, theirs)) is not None
        }
        assert wrong == {}


@pytest.mark.parametrize("text", ["b1 * 0.908", "b1 / 1024.0", "2.5 - b1", "e1 + 0.05", "c1 * 1.5"])
def test_a_constant_gives_the_same_beyond_64_bits_and_within(text: str) -> None:
    """Blocks of small numbers are computed in 64 bits, others in 128 or in Python."""
    [expression] = bound([text], "UTC")
    [whole] = by_kernel([expression])
    assert whole == [value_of(expression, row) for row in ROWS]
    small = [row for row in ROWS if all(abs(row[n] or 0) < 10**6 for n in expression.refs)]
    assert by_kernel([expression], small) == [[value_of(expression, row) for row in small]]
