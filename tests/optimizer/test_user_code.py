"""Plans that were written down find the code of users' functions again."""

from __future__ import annotations

import json

import pytest

from penstock import LocalEngine
from penstock.errors import NotExecutable
from penstock.model.user_defined import code_of, user_defined_in
from penstock.optimizer.build import operator_of
from penstock.optimizer.optimize import with_tables
from penstock.optimizer.physical import Plans, from_json, to_json, walk
from tests.engine.user_aggregates import Sum

QUERY = (
    "CREATE QUERY q AS SELECT k, total(twice(v)) AS t FROM s [RANGE 10, SLIDE 5] "
    "WHERE twice(v) > 0 GROUP BY k"
)


def plans_of(state: str = "total BIGINT") -> Plans:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k INT, v INT, ts BIGINT) TIMESTAMP BY ts")
    engine.aggregate("total", Sum, arguments="x BIGINT", returns="BIGINT", state=state)
    engine.function("twice", lambda x: 2 * x, arguments="x INT", returns="INT")
    engine.sql(QUERY)
    return engine._plans


def test_what_was_written_down_has_no_code_until_a_program_declares_the_same() -> None:
    plans = plans_of()
    kept = from_json(json.loads(json.dumps(to_json(plans))))
    assert kept == plans
    users = [each for plan in walk(kept.values()) for each in user_defined_in(plan.spec)]
    assert {each.name for each in users} == {"total", "twice"}
    with pytest.raises(NotExecutable, match=r"aggregate `total` has no code here"):
        code_of(next(each for each in users if each.name == "total"))
    whole = with_tables(kept, plans)
    for plan in walk(whole.values()):
        for each in user_defined_in(plan.spec):
            assert code_of(each) is not None
    select = next(plan for plan in walk(whole.values()) if plan.spec.name == "Select")
    operator_of(select.spec, [])


def test_another_state_is_another_plan_and_other_code_is_not() -> None:
    assert plans_of()["q"].fingerprint == plans_of()["q"].fingerprint
    assert plans_of()["q"].fingerprint != plans_of("t BIGINT")["q"].fingerprint
