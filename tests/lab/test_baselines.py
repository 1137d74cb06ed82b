"""Baselines are put into plans in place of what they are compared with, and nowhere else."""

from __future__ import annotations

from typing import Any

from penstock.lab.baselines import with_buffering, with_ordered_flush
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Plans
from penstock.optimizer.specs import LowLevelSpec
from tests.optimizer.plans import plan

SUM = "SELECT k, sum(v) AS s FROM a [RANGE 10 SECONDS, SLIDE 1 SECOND] GROUP BY k"
MAX = "SELECT max(v) AS m FROM a [RANGE 1 MINUTE]"
LANDMARK = "SELECT k, count(*) [RANGE ALL, SLIDE 1 MINUTE, WA ts] FROM a GROUP BY k"


def plans_of(text: str, **options: Any) -> Plans:
    return optimize({"q": plan(text)}, Options(**options)).plans


def names(plans: Plans) -> list[str]:
    return [each.spec.name for each in plans["q"].walk()]


def test_buffering_is_incremental_where_the_functions_allow_it() -> None:
    plans = plans_of(SUM, aggregation="wid")
    assert "Buffering" in names(with_buffering(plans))
    assert "BufferingIncremental" in names(with_buffering(plans, incremental=True))
    most = plans_of(MAX, aggregation="wid")
    assert "Buffering" in names(with_buffering(most, incremental=True))


def test_what_has_no_baseline_stays_as_it_is() -> None:
    for text in (LANDMARK, "SELECT k, ts FROM a", f"{SUM} EMIT CHANGES"):
        plans = plans_of(text, aggregation="wid")
        assert with_buffering(plans) == plans
        assert with_ordered_flush(plans) == plans


def test_a_table_is_flushed_window_by_window_and_is_the_same_otherwise() -> None:
    plans = plans_of(SUM, aggregation="two_level", table_size=7)
    specs = [each.spec for each in with_ordered_flush(plans)["q"].walk()]
    [low] = [spec for spec in specs if isinstance(spec, LowLevelSpec)]
    assert (low.size, low.flush.policy) == (7, "in_order")
