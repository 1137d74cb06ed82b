"""Functions of users are none of Spark SQL's."""

from __future__ import annotations

import pytest

from penstock import LocalEngine
from penstock.spark.native.lowering import objection
from tests.engine.user_aggregates import Sum


@pytest.mark.parametrize(
    ("select", "name"),
    [("total(v) AS x", "total"), ("max(twice(v)) AS x", "twice")],
)
def test_they_run_in_the_kernel(select: str, name: str) -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k INT, v INT, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.aggregate("total", Sum, arguments="x BIGINT", returns="BIGINT")
    engine.function("twice", lambda x: 2 * x, arguments="x INT", returns="INT")
    engine.sql(f"CREATE QUERY q AS SELECT k, {select} FROM s [RANGE 1 MINUTE] GROUP BY k")
    found = objection(engine.catalog.queries[0].plan)
    assert found == f"`{name}` is computed in the kernel"
