"""Silent streams hold nobody back: enabling timestamps on demand, periodic, as rows and by arcs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.graph import GraphNode
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.kernel.rejected import Reason
from penstock.kernel.scheduling.strategies import strategy_named
from penstock.model.aggregates import Aggregate
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets, periodic
from penstock.model.expressions import Literal, Named, Ref
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind, Timing
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.runtime.clock import VirtualClock
from penstock.runtime.graph_host import GraphHost
from penstock.windows.sliding import Sliding
from tests.engine.draw import seeds
from tests.kernel.moving import Snapshot
from tests.ticks import push_ticks

COLUMNS = (Column("x", Type.INT), Column("ts", Type.TIMESTAMP))
EVERY_ROW = Literal(True, Type.BOOLEAN)
NO_ROW = Literal(False, Type.BOOLEAN)
RENAMED = [Named("x", Ref("x", Type.INT)), Named("at", Ref("ts", Type.TIMESTAMP))]

BY_ARCS = pytest.mark.parametrize("by_arcs", [False, True], ids=["rows", "arcs"])


def internal(name: str) -> Stream:
    return Stream(name, COLUMNS, TimestampKind.INTERNAL, "ts")


def external(name: str, slack: int = 0, **timing: Any) -> Stream:
    return Stream(name, COLUMNS, TimestampKind.EXTERNAL, "ts", slack, timing=Timing(**timing))


def make(ets: Ets = ON_DEMAND, start: int = 0, **options: Any) -> GraphHost:
    return GraphHost(clock=VirtualClock(start), ets=ets, **options)


def count(host: GraphHost, source: GraphNode, on: str = "ts", length: int = 10) -> GraphNode:
    window = Sliding(on, length, length)
    bucket = host.graph.add(Bucket(window), [source])
    return host.graph.add(WidAggregate([], [("n", Aggregate("count", None))], window), [bucket])


def pass_time(host: GraphHost, ticks: int) -> None:
    host.clock.spend(ticks)
    host.run()


def xs(host: GraphHost) -> list[int]:
    out = host.results("q")
    return out["x"].to_list() if out.width else []


@BY_ARCS
@pytest.mark.parametrize("strategy", ["dfs", "bfs", "round robin", "batched 2"])
@pytest.mark.parametrize("limit", [1, None])
def test_a_merge_does_not_wait_for_a_stream_that_has_never_spoken(
    by_arcs: bool, strategy: str, limit: int | None
) -> None:
    host = make(ets_by_arcs=by_arcs, rows_per_step=limit)
    sources = [
        host.graph.add(Select(EVERY_ROW), [host.add_stream(internal(name))]) for name in "ab"
    ]
    host.add_query("q", host.graph.add(Merge(2, "ts"), sources))
    host.executor.table.set_strategy(strategy_named(strategy))
    push_ticks(host, "a", [{"x": 1}, {"x": 2}])
    pass_time(host, 0)
    assert xs(host) == [1, 2]


@BY_ARCS
def test_a_stream_that_is_filtered_empty_holds_nobody_back(by_arcs: bool) -> None:
    host = make(ets_by_arcs=by_arcs)
    a = host.add_stream(internal("a"))
    b = host.graph.add(Select(NO_ROW), [host.add_stream(internal("b"))])
    host.add_query("q", host.graph.add(Merge(2, "ts"), [a, b]))
    push_ticks(host, "b", [{"x": 9}])
    push_ticks(host, "a", [{"x": 1}])
    pass_time(host, 5)
    assert xs(host) == [1]


@BY_ARCS
def test_a_window_over_a_silent_stream_closes_when_its_time_has_come(by_arcs: bool) -> None:
    host = make(ets_by_arcs=by_arcs)
    host.add_query("q", count(host, host.add_stream(internal("a"))))
    push_ticks(host, "a", [{"x": 1}])
    pass_time(host, 9)
    assert not host.results("q").height
    pass_time(host, 1)
    assert host.results("q")["n"].to_list() == [1]


@BY_ARCS
def test_a_bound_by_arc_goes_through_whatever_lies_between(by_arcs: bool) -> None:
    host = make(ets_by_arcs=by_arcs)
    parts = [host.graph.add(Project(RENAMED), [host.add_stream(internal(name))]) for name in "abc"]
    inner = host.graph.add(Merge(2, "at"), parts[:2])
    outer = host.graph.add(Meld(2), [host.graph.add(Select(EVERY_ROW), [inner]), parts[2]])
    host.add_query("q", count(host, outer, on="at"))
    push_ticks(host, "a", [{"x": 1}])
    pass_time(host, 10)
    push_ticks(host, "c", [{"x": 2}])
    pass_time(host, 10)
    assert host.results("q").select("n", "window_end").rows() == [(1, 10), (1, 20)]


def test_arcs_touch_no_buffer_on_the_way() -> None:
    host = make(ets_by_arcs=True)
    select = host.graph.add(Select(EVERY_ROW), [host.add_stream(internal("b"))])
    host.add_query("q", host.graph.add(Merge(2, "ts"), [host.add_stream(internal("a")), select]))
    push_ticks(host, "a", [{"x": 1}])
    stepped = []
    while (step := host.step()) is not None:
        stepped.append(step.node.name)
    assert xs(host) == [1]
    assert "Select" not in stepped


def test_a_bound_never_overtakes_rows_that_another_branch_has_not_read() -> None:
    host = make(ets_by_arcs=True, rows_per_step=1)
    source = host.add_stream(internal("a"))
    slow = host.graph.add(Select(EVERY_ROW), [source])
    host.add_query("q", count(host, slow))
    host.add_query("r", host.graph.add(Merge(2, "ts"), [source, host.add_stream(internal("b"))]))
    for _ in range(5):
        push_ticks(host, "a", [{"x": 1}, {"x": 2}])
        pass_time(host, 7)
    host.finish()
    assert host.results("q")["n"].sum() == 10
    assert host.results("r").height == 10


def test_nobody_is_asked_while_nobody_waits() -> None:
    host = make()
    host.add_query("q", host.graph.add(Select(EVERY_ROW), [host.add_stream(internal("a"))]))
    host.add_query("r", host.graph.add(Meld(2), [host.source("a"), host.add_stream(internal("b"))]))
    push_ticks(host, "a", [{"x": 1}])
    pass_time(host, 10)
    assert host.results("r").height == 1
    assert host.inputs["b"].bound < 0


def test_a_stream_without_a_tie_to_the_clock_is_waited_for() -> None:
    host = make()
    sources = [host.add_stream(external(name)) for name in "ab"]
    host.add_query("q", host.graph.add(Merge(2, "ts"), sources))
    push_ticks(host, "a", [{"x": 1, "ts": 5}])
    pass_time(host, 1000)
    assert xs(host) == []
    push_ticks(host, "b", [{"x": 2, "ts": 5}])
    host.run()
    assert xs(host) == [1, 2]


@BY_ARCS
def test_a_silent_stream_with_skew_is_not_penalised_when_it_keeps_it(by_arcs: bool) -> None:
    host = make(start=1000, ets_by_arcs=by_arcs)
    sources = [host.add_stream(external(name, skew=20)) for name in "ab"]
    host.add_query("q", host.graph.add(Merge(2, "ts"), sources))
    push_ticks(host, "a", [{"x": 1, "ts": 990}])
    pass_time(host, 0)
    assert xs(host) == []  # b may still bring 980
    pass_time(host, 10)
    assert xs(host) == [1]
    push_ticks(host, "b", [{"x": 2, "ts": 991}, {"x": 3, "ts": 1010}])
    pass_time(host, 100)
    assert host.counts("b").late == 0
    assert xs(host) == [2, 3]


def test_rows_from_the_future_are_set_aside_and_close_nothing() -> None:
    host = make(start=1000)
    host.add_query("q", count(host, host.add_stream(external("a", max_ahead=50))))
    push_ticks(host, "a", [{"x": 1, "ts": 1001}, {"x": 2, "ts": 1051}, {"x": 3, "ts": 1050}])
    host.run()
    assert host.counts("a").ahead == 1
    [aside] = host.rejected_rows
    assert (aside.reason, aside.rows["x"].to_list()) == (Reason.AHEAD, [2])
    assert host.inputs["a"].bound == 1050
    host.clock.spend(1)
    push_ticks(host, "a", [{"x": 4, "ts": 1051}])
    assert host.counts("a").rows == 3


def test_a_heartbeat_and_a_lull_are_made_unasked() -> None:
    host = make(NO_ETS, start=10 * SECOND)
    host.add_stream(external("beating", skew=SECOND, heartbeat=100))
    host.add_stream(external("lulled", lull=5 * SECOND))
    host.add_stream(internal("quiet"))
    assert host.enabling.next_due() == 10 * SECOND + 100
    pass_time(host, 100)
    assert host.inputs["beating"].bound == 9 * SECOND + 100
    pass_time(host, SECOND - 100)
    assert host.inputs["lulled"].bound == 6 * SECOND
    assert host.inputs["quiet"].bound < 0


def test_no_clock_says_anything_where_somebody_else_asks_the_streams() -> None:
    host = GraphHost(clock=VirtualClock(10 * SECOND), ets=None, by_batch=True)
    for stream in (external("beating", skew=SECOND, heartbeat=100), external("lulled", lull=1)):
        host.add_stream(stream)
    assert host.enabling.next_due() is None
    pass_time(host, 100 * SECOND)
    assert host.inputs["beating"].bound < 0 and host.inputs["lulled"].bound < 0


def test_the_way_can_be_changed_while_rows_wait() -> None:
    host = make(NO_ETS)
    sources = [host.add_stream(internal(name)) for name in "ab"]
    host.add_query("q", host.graph.add(Merge(2, "ts"), sources))
    push_ticks(host, "a", [{"x": 1}])
    pass_time(host, 10)
    assert xs(host) == []
    host.enabling.change(ON_DEMAND, by_arcs=True)
    host.run()
    assert xs(host) == [1]


def test_registers_that_are_active_are_saved() -> None:
    def build() -> GraphHost:
        host = make(ets_by_arcs=True)
        sources = [host.add_stream(internal(name)) for name in "ab"]
        host.add_query("q", count(host, host.graph.add(Merge(2, "ts"), sources)))
        return host

    host = build()
    push_ticks(host, "a", [{"x": 1}])
    pass_time(host, 0)
    host.clock.spend(25)
    host.enabling.begin()
    while not any(node.active for node in host.graph.nodes.values()):
        assert host.step() is not None or host.enabling.ask_all()
    other = build()
    other.clock.spend(25)
    Snapshot.of(host.states(), host.graph).put_into(other.states(), other.graph)
    other.run()
    assert other.results("q")["n"].to_list() == [1]


# -- equal answers, whatever the way ----------------------------------------------------------

WAYS = [(NO_ETS, False), (ON_DEMAND, False), (ON_DEMAND, True), (periodic(3), False)]


def answer(seed: int, ets: Ets, by_arcs: bool, limit: int | None) -> tuple[list[Any], list[Any]]:
    """What two queries say over random arrivals; every result must stand once it is out."""
    draw = random.Random(seed)
    host = make(ets, ets_by_arcs=by_arcs, rows_per_step=limit)
    a, b, c = (host.add_stream(internal(name)) for name in "abc")
    merged = host.graph.add(Merge(2, "ts"), [host.graph.add(Select(EVERY_ROW), [a]), b])
    host.add_query("ordered", merged)
    host.add_query("counts", count(host, host.graph.add(Meld(2), [merged, c])))
    for i in range(draw.randint(5, 30)):
        push_ticks(host, draw.choice("aaab" if draw.random() < 0.8 else "c"), [{"x": i}])
        pass_time(host, draw.choice([0, 1, 2, 15]))
    host.finish()
    ordered, counts = host.results("ordered"), host.results("counts")
    assert ordered["ts"].is_sorted()
    assert counts["window_end"].is_unique().all()
    return sorted(ordered.rows()), counts.sort("window_end").rows()


@pytest.mark.parametrize("limit", [1, None])
@pytest.mark.parametrize("seed", seeds(4, slow=12))
def test_answers_do_not_depend_on_how_timestamps_are_made(seed: int, limit: int | None) -> None:
    wanted = answer(seed, *WAYS[0], limit)
    for way in WAYS[1:]:
        assert answer(seed, *way, limit) == wanted
