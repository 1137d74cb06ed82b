"""Plans as DuckDB queries: a second opinion that shares no line with the kernel or the oracle.

A window is a table of its ends, made by `generate_series`; a row belongs to it where
`end - range <= value AND value < end`. Times are ticks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from penstock.kernel.types import polars_type
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.plan.row_windows import counted_rows
from penstock.windows import Row, Sliding


def duckdb_answer(plan: nodes.Node, inputs: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """The plan's answer; inputs as for the oracle, with `row_num`."""
    with duckdb.connect() as connection:
        for node in walk(plan):
            if isinstance(node, nodes.Source):
                schema = {column.name: polars_type(column.type) for column in node.schema}
                rows = pl.DataFrame(inputs[node.stream.name], schema=schema, orient="row")
                connection.register(node.stream.name, rows.to_arrow())
        found = connection.execute(_query(plan))
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _query(plan: nodes.Node) -> str:
    match plan:
        case nodes.Source():
            return f"SELECT {_names(plan)} FROM {plan.stream.name}"
        case nodes.Select():
            return f"SELECT * FROM ({_query(plan.input)}) WHERE {plan.predicate}"
        case nodes.Project():
            columns = ", ".join(f"{column.value} AS {column.name}" for column in plan.columns)
            return f"SELECT {columns} FROM ({_query(plan.input)})"
        case nodes.Union():
            return " UNION ALL ".join(_query(part) for part in plan.parts)
        case nodes.WindowAggregate():
            assert isinstance(plan.window, Sliding)
            return _aggregate(plan, plan.window)
    raise AssertionError(f"no DuckDB query for {plan.label}")


def _aggregate(plan: nodes.WindowAggregate, window: Sliding) -> str:
    keys = "".join(f"{name}, " for name in plan.groups)
    results = "".join(f"{result.aggregate} AS {result.name}, " for result in plan.results)
    on, range_, slide, origin = window.on, window.range, window.slide, window.origin
    # One step to spare on both sides: division rounds towards zero, and empty windows have no row.
    return f"""
        WITH input AS ({_query(plan.input)})
        SELECT {keys}{results}ends - {range_} AS window_start, ends AS window_end
        FROM input
        JOIN (
          SELECT {origin} + wid * {slide} AS ends
          FROM (SELECT min({on}) AS low, max({on}) AS high FROM input),
            LATERAL (SELECT unnest(generate_series(
              (low - {origin}) // {slide} - 1, (high + {range_} - {origin}) // {slide} + 1
            )) AS wid)
        ) ON ends - {range_} <= {on} AND {on} < ends
        {_up_to_last_row(plan, slide)}
        GROUP BY {keys}ends"""


def _up_to_last_row(plan: nodes.WindowAggregate, slide: int) -> str:
    """Windows over rows are those in whose last step the stream has a row."""
    counted = counted_rows(plan)
    if counted is None:
        return ""
    assert isinstance(counted, nodes.Source)
    return f"WHERE ends - {slide} <= (SELECT count(*) FROM {counted.stream.name})"


def _names(plan: nodes.Node) -> str:
    return ", ".join(plan.schema.names)
