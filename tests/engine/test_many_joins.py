"""A query of many joins: what it takes to declare one grows like what it says, and no faster."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from penstock.local.engine import LocalEngine


def declaring(joins: int, setting: str, kind: str) -> int:
    """Calls of functions that it takes to declare and explain a query of so many joins."""
    engine = LocalEngine()
    engine.sql(f"SET join = {setting}")
    for number in range(joins + 1):
        engine.sql(f"CREATE STREAM s{number} (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
    text = "SELECT s0.k FROM s0 " + " ".join(
        f"{kind} s{number} ON s0.k = s{number}.k WITHIN 5 SECONDS" for number in range(1, joins + 1)
    )
    calls = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        query = engine.sql(f"CREATE QUERY q AS {text}")
        query.explain()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    ("setting", "kind"), [("auto", "JOIN"), ("auto", "LEFT JOIN"), ("mjoin", "JOIN")]
)
def test_twice_the_joins_take_four_times_the_work_and_not_eight(setting: str, kind: str) -> None:
    # Every pair of inputs has a condition, so four times is what the query says.
    declaring(3, setting, kind)  # whatever is imported or remembered once
    assert declaring(20, setting, kind) < 5 * declaring(10, setting, kind)
