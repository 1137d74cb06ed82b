"""Expressions over nasty values: we answer what Spark does, but for what the docs list.

`DIFFERENCES` says why, for each expression that gives another value or type than Spark's. The table
in `docs/sql.md` is made of it: `PENSTOCK_REWRITE=1` with this test writes it anew.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

from penstock.model.timestamps import time_text
from penstock.model.types import Type
from penstock.spark.types import our_type
from tests.kernel.expression_grid import (
    DIFFERENCES,
    EXPLAINED,
    GROUPS,
    ROWS,
    ZONES,
    bound,
    by_kernel,
    columns,
    first_apart,
    frame,
)

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
BEGIN, END = "<!-- differences from Spark -->\n", "<!-- end of differences -->\n"


def by_spark(
    spark: SparkSession, texts: Sequence[str], zone: str
) -> tuple[list[list[Any]], list[Type | None]]:
    """One wide SELECT."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.session.timeZone", zone)
    shown = frame().with_columns(
        *(
            pl.col(name).cast(pl.Datetime("us", "UTC" if of is Type.TIMESTAMP else None))
            for name, of in columns().items()
            if of.is_time
        )
    )
    given = session.createDataFrame(shown.to_arrow())
    asked = given.selectExpr(*(f"{text} AS e{n}" for n, text in enumerate(texts)))
    types = [our_type(field.dataType) for field in asked.schema]
    answer = pl.DataFrame(pl.from_arrow(asked.toArrow()))
    found = []
    for column in answer.get_columns():
        is_point = isinstance(column.dtype, (pl.Datetime, pl.Date))
        found.append((column.to_physical() if is_point else column).to_list())
    return found, types


def differences(spark: SparkSession) -> dict[str, tuple[str, str, str]]:
    """Expression -> a row's values, our answer and Spark's, where these differ."""
    found: dict[str, tuple[str, str, str]] = {}
    for group, texts in GROUPS.items():
        for zone in ZONES.get(group, ("UTC",)):
            expressions = bound(texts, zone)
            theirs, types = by_spark(spark, texts, zone)
            for n, mine in enumerate(by_kernel(expressions)):
                expression, text = expressions[n], texts[n]
                if types[n] is not expression.type:
                    found.setdefault(text, ("", str(expression.type), str(types[n])))
                elif (row := first_apart(mine, theirs[n])) is not None:
                    given = ", ".join(
                        f"{name} = {written(ROWS[row][name], columns()[name])}"
                        for name in sorted(expression.refs)
                    )
                    if zone != "UTC":
                        given += f" in {zone}"
                    answers = (written(each[row], expression.type) for each in (mine, theirs[n]))
                    found.setdefault(text, (given, *answers))  # type: ignore[arg-type]
    return found


def written(value: Any, of: Type) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'".replace("|", "\\|").replace("\n", "\\n").replace("\t", "\\t")
        case int() if of.is_time:
            return time_text(value)
        case int() if of is Type.DATE:
            return time_text(value * 86_400_000_000).split()[0]
        case Decimal():
            return f"{value:f}"
    return str(value)


def table(found: dict[str, tuple[str, str, str]]) -> str:
    """As it stands in the docs: a line for each reason, with the first expression of each."""
    lines = ["| expression | where | here | Spark | why |", "|---|---|---|---|---|"]
    for reason, texts in DIFFERENCES.items():
        text = next(text for text in texts if text in found)
        given, ours, theirs = found[text]
        lines.append(f"| `{text}` | {given} | {ours} | {theirs} | {reason} |")
    return "\n".join(lines) + "\n"


def test_expressions_differ_from_spark_only_as_the_docs_say(spark: SparkSession) -> None:
    found = differences(spark)
    assert {text: found[text] for text in found.keys() - EXPLAINED} == {}
    assert EXPLAINED - found.keys() == set(), "these are like Spark's by now"
    assert len(DIFFERENCES) <= 20
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    whole = f"{before}{BEGIN}{table(found)}{END}{after}"
    if os.environ.get("PENSTOCK_REWRITE"):
        PAGE.write_text(whole)
    assert PAGE.read_text() == whole
