"""When another plan is looked for."""

from __future__ import annotations

from penstock.optimizer.adaptation.triggers import JoinLoad, TriggerReason, Triggers

TRIGGERS = Triggers(interval=10, drift=1.5, memory=1000)


def reason(seen: list[JoinLoad], since: float = 0) -> TriggerReason:
    found = TRIGGERS.reason(seen, since)
    assert found is not None
    return found


def test_a_load_that_has_changed_is_looked_at_once_an_interval():
    changed = [JoinLoad(at=12, drift=2.0)]
    assert reason(changed).text.endswith("by a factor of 2")
    assert TRIGGERS.reason(changed, since=5) is None
    assert TRIGGERS.reason([JoinLoad(at=12, drift=1.2)], since=0) is None


def test_memory_near_its_limit_waits_for_no_interval():
    found = reason([JoinLoad(at=1, drift=1.0, memory=950)])
    assert found.is_urgent
    assert found.text == "what is stored takes 95% of its limit"


def test_queues_that_rise_steadily_are_a_reason_and_a_burst_is_none():
    steady = [JoinLoad(n, 1.0, waiting=100 * n) for n in range(5)]
    burst = [JoinLoad(n, 1.0, waiting=w) for n, w in enumerate((1, 2, 3, 5000))]
    assert reason(steady).text == "more and more rows wait in front of the join"
    assert TRIGGERS.reason(burst, since=0) is None


def test_rows_between_operators_are_a_reason_of_their_own():
    inside = [JoinLoad(n, 1.0, waiting=7, inside=50 * n) for n in range(5)]
    assert reason(inside).text == "more and more rows pass between its operators"
