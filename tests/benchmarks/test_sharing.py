"""The queries of the sharing benchmark: drawn alike, understood, and computed alike. No Spark."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.lab.benchmarking import difference
from penstock.local.engine import LocalEngine
from tests.ticks import push_ticks

FOLDER = Path(__file__).parents[2] / "benchmarks"
QUERIES: dict[str, Any] = runpy.run_path(str(FOLDER / "_sharing_queries.py"))
draw_queries = QUERIES["draw_queries"]


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("sharing")
    for name in ("sharing", "_sharing_queries", "_streams"):
        sys.modules.pop(name, None)


def test_the_first_of_many_queries_are_those_of_few() -> None:
    assert [str(query) for query in draw_queries(1000)[:10]] == [str(q) for q in draw_queries(10)]


def test_queries_differ_in_filters_have_two_windows_and_some_are_joins() -> None:
    queries = draw_queries(1000)
    assert len({query.where for query in queries}) > 900
    assert {query.range for query in queries} == {10, 60, None}
    assert sum(query.is_join for query in queries) == 50
    assert [query.is_join for query in draw_queries(10)].count(True) == 1


def test_what_is_compared_with_is_what_the_queries_mean(sharing: Any) -> None:
    made = sharing.Streams(Path(), 3_000)._made()
    # All rows in ten minutes instead of a blink, so that there are windows.
    slower = {name: pl.col(name) * 2_000 - 3_398_300_000_000_000_000 for name in ("ts", "refunded")}
    orders = made["orders"].with_columns(slower["ts"])
    refunds = made["refunds"].with_columns(refunded=pl.col("refunded") - 1_700_000_000_000_000)
    refunds = refunds.join(orders, left_on="refund_number", right_on="number").select(
        "refund_shop", "refund_number", "reason", refunded=pl.col("ts") + 3_000_000
    )
    engine = LocalEngine()
    for name, schema in sharing.SCHEMAS.items():
        on = sharing.TIMES[name]
        engine.sql(f"CREATE STREAM {name} ({schema}) TIMESTAMP BY {on} SLACK 1 HOUR")
    queries = draw_queries(40)
    running = {query.name: engine.sql(query.ours) for query in queries}
    push_ticks(engine, "orders", orders.sample(fraction=1, shuffle=True, seed=3))
    push_ticks(engine, "refunds", refunds)
    engine.finish()
    for query in queries:
        found = running[query.name].results()
        on = "refunded" if query.is_join else "window_end"
        if found.height:
            found = found.with_columns(pl.col(on).dt.epoch("us"))
        found = found.drop("window_start", strict=False)
        expected = query.answer(orders, refunds)
        assert found.height == expected.height
        assert not found.height or difference(found, expected) is None
