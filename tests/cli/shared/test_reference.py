"""The definition that the demo is checked by, against the slow evaluator of the tests."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.shared.reference import answer
from penstock.errors import NotExecutable
from penstock.kernel.types import polars_type
from penstock.model.schema import Column
from penstock.model.tables import StaticTable
from penstock.model.types import Type
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.graph import walk
from penstock.plan.nodes import Node, Source, Table
from tests.engine.draw import Drawn, examples
from tests.engine.random_queries import plain_queries
from tests.engine.random_streams import arrivals, declarations, pushed
from tests.engine.running import started

Rows = list[dict[str, Any]]


def frames(plan: Node, inputs: dict[str, Rows]) -> dict[str, pl.DataFrame]:
    streams = {n.stream.name: n.stream for n in walk(plan) if isinstance(n, Source)}
    return {
        name: pl.DataFrame(
            inputs[name],
            schema={column.name: polars_type(column.type) for column in stream.schema},
            orient="row",
        )
        for name, stream in streams.items()
    }


@examples(60)
@given(st.data())
def test_it_gives_the_oracles_answer(data):
    draw = Drawn(data)
    declared = declarations(draw)
    text = plain_queries(draw, declared[0].time)
    plan = started(declared).sql(text).plan
    inputs = pushed(declared, arrivals(draw, declared, blocks=4))
    found = answer(plan, frames(plan, inputs))
    assert found.columns == list(plan.schema.names)
    assert list(found.schema.values()) == [polars_type(c.type) for c in plan.schema]
    assert same_rows(found.to_dicts(), evaluate(plan, inputs)), text


def of(text: str, rows: list[tuple[Any, ...]]) -> Rows:
    engine = started([])
    engine.sql("CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED")
    schema = {"k": pl.String, "v": pl.Int32, "ts": pl.Int64}
    plan = engine.sql(text).plan
    return answer(plan, {"s": pl.DataFrame(rows, schema=schema, orient="row")}).to_dicts()


WINDOW = "[RANGE 10 MICROSECONDS, SLIDE 10 MICROSECONDS, WA ts]"


def test_a_sum_is_wider_than_its_values() -> None:
    rows = [("x", 2**31 - 1, 1), ("x", 2**31 - 1, 2)]
    [found] = of(f"SELECT sum(v) AS s FROM s {WINDOW}", rows)
    assert found["s"] == 2**32 - 2


def test_a_constant_counts_once_per_row() -> None:
    rows = [("x", 1, 1), ("x", 2, 2), ("y", 3, 3)]
    [found] = of(f"SELECT count(1) AS n, sum(2) AS s FROM s {WINDOW}", rows)
    assert (found["n"], found["s"]) == (3, 6)


def test_rows_without_a_time_are_in_no_window() -> None:
    assert of(f"SELECT count(*) AS n FROM s {WINDOW}", [("x", 1, None)]) == []
    [found] = of(f"SELECT count(*) AS n FROM s {WINDOW}", [("x", 1, None), ("x", 1, 5)])
    assert found["n"] == 1


def test_no_rows_have_no_answer() -> None:
    assert of(f"SELECT count(*) AS n FROM s {WINDOW}", []) == []


def test_windows_far_apart_cost_nothing_in_between() -> None:
    rows = [("x", 1, 0), ("x", 1, 10**15)]
    assert [r["n"] for r in of(f"SELECT count(*) AS n FROM s {WINDOW}", rows)] == [1, 1]


def test_rows_are_numbered_as_they_stand() -> None:
    rows = [("x", 7, 1), ("y", 8, 2)]
    assert of("SELECT row_num AS n, v FROM s", rows) == [{"n": 1, "v": 7}, {"n": 2, "v": 8}]


def test_what_it_does_not_define_it_refuses() -> None:
    with pytest.raises(NotExecutable, match="no reference implementation of Table"):
        answer(Table(StaticTable("t", (Column("k", Type.INT),))), {})
