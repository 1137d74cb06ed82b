"""Virtual time: latencies that can be computed by hand must come out exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from penstock.errors import BadSetting
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.kernel.scheduling.strategies import BREADTH_FIRST, DEPTH_FIRST, ROUND_ROBIN, batched
from penstock.kernel.scheduling.strategy import Strategy
from penstock.local.simulation import Arrival, Report, simulate
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets, periodic
from penstock.model.expressions import Literal, Named, Ref
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.runtime.clock import VirtualClock
from penstock.runtime.graph_host import GraphHost

COLUMNS = (Column("x", Type.INT), Column("arrival", Type.BIGINT))


def two_streams_and_a_union(cost: int, strategy: Strategy, limit: int | None = 1) -> GraphHost:
    """The graph of experiment X2: each stream through a selection, then a union; latent time."""
    host = GraphHost(clock=VirtualClock(), rows_per_step=limit)
    selections = [
        host.graph.add(
            Select(Literal(True, Type.BOOLEAN)), [host.add_stream(Stream(name, COLUMNS))], cost=cost
        )
        for name in ("a", "b")
    ]
    host.add_query("q", host.graph.add(Meld(2), selections, cost=cost))
    host.executor.table.set_strategy(strategy)
    return host


def burst(time: int, stream: str, size: int) -> Arrival:
    return Arrival(time, stream, pl.DataFrame({"x": range(size)}, schema={"x": pl.Int32}))


def average(strategy: Strategy, n: int, c: int, stream: str = "a") -> Fraction:
    host = two_streams_and_a_union(c, strategy)
    return simulate(host, [burst(0, stream, n)]).average_latency("q")


@pytest.mark.parametrize("stream", ["a", "b"])
@pytest.mark.parametrize("c", [1, 7, 1000])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 50])
def test_x2_a_burst_waits_for_n_plus_1_under_depth_first(n: int, c: int, stream: str) -> None:
    assert average(DEPTH_FIRST, n, c, stream) == (n + 1) * c


@pytest.mark.parametrize("stream", ["a", "b"])
@pytest.mark.parametrize("c", [1, 7, 1000])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 50])
def test_x2_a_burst_waits_for_half_as_long_again_under_breadth_first(
    n: int, c: int, stream: str
) -> None:
    assert average(BREADTH_FIRST, n, c, stream) == (Fraction(3, 2) * n + Fraction(1, 2)) * c


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_x2_batches_lie_between_the_two(n: int) -> None:
    assert average(batched(1), n, 1) == average(DEPTH_FIRST, n, 1)
    assert average(batched(n), n, 1) == average(BREADTH_FIRST, n, 1)
    assert average(ROUND_ROBIN, n, 1) == average(BREADTH_FIRST, n, 1)


@pytest.mark.parametrize("n", [2, 5])
def test_x2_bursts_far_apart_do_not_disturb_each_other(n: int) -> None:
    host = two_streams_and_a_union(3, DEPTH_FIRST)
    report = simulate(host, [burst(t * 1000, "ab"[t % 2], n) for t in range(4)])
    assert report.latencies["q"] == [2 * 3 * i for i in range(1, n + 1)] * 4


def test_a_step_of_many_rows_costs_as_much_as_its_rows() -> None:
    host = two_streams_and_a_union(1, DEPTH_FIRST, limit=None)
    report = simulate(host, [burst(0, "a", 10)])
    assert report.latencies["q"] == [20] * 10


def test_latency_counts_from_the_arrival_not_from_when_it_was_taken_in() -> None:
    host = two_streams_and_a_union(10, DEPTH_FIRST)
    # The second row arrives while the first is at work, the third after all is done.
    report = simulate(host, [burst(0, "a", 1), burst(5, "b", 1), burst(100, "a", 1)])
    assert report.latencies["q"] == [20, 35, 20]
    assert report.ended == 120


def test_arrivals_may_be_given_in_any_order_and_as_dicts() -> None:
    arrivals = [Arrival(7, "b", [{"x": 1}]), Arrival(0, "a", [{"x": 2}])]
    host = two_streams_and_a_union(1, DEPTH_FIRST)
    assert simulate(host, arrivals).latencies["q"] == [2, 2]


def test_the_longest_queue_is_measured() -> None:
    def peak(strategy: Strategy, sizes: Sequence[int]) -> int:
        host = two_streams_and_a_union(1, strategy)
        return simulate(host, [burst(t, "a", size) for t, size in enumerate(sizes)]).peak_queue

    assert peak(DEPTH_FIRST, [10]) == 10
    assert peak(BREADTH_FIRST, [10]) == 10
    # One row a tick where each needs two: they pile up.
    assert peak(DEPTH_FIRST, [1] * 10) > peak(DEPTH_FIRST, [1])


def union_of_internal_streams(ets: Ets, **options: Any) -> GraphHost:
    host = GraphHost(clock=VirtualClock(), rows_per_step=1, ets=ets, **options)
    columns = (*COLUMNS, Column("ts", Type.TIMESTAMP))
    sources = [
        host.add_stream(Stream(name, columns, TimestampKind.INTERNAL, "ts")) for name in ("a", "b")
    ]
    host.add_query("q", host.graph.add(Merge(2, "ts"), sources, cost=1))
    return host


BUSY_AND_QUIET = [burst(0, "a", 2), burst(10, "a", 1), burst(500, "b", 1), burst(600, "a", 1)]


def test_a_waiting_union_delays_rows_until_the_other_stream_speaks() -> None:
    report = simulate(union_of_internal_streams(NO_ETS), BUSY_AND_QUIET)
    assert report.latencies["q"] == [501, 502, 493, 101]
    # From 0 to 500 for b, from 503 to 600 for a; what comes at 600 waits for b again.
    assert report.idle_waiting == 500 + 97
    assert report.peak_queue == 4


def test_an_enabling_timestamp_on_demand_lets_rows_pass_at_once() -> None:
    for by_arcs in (False, True):
        host = union_of_internal_streams(ON_DEMAND, ets_by_arcs=by_arcs)
        report = simulate(host, BUSY_AND_QUIET)
        assert report.latencies["q"] == [1, 2, 1, 1, 1]
        assert report.idle_waiting == 0


def test_periodic_ones_let_rows_pass_when_they_are_due() -> None:
    report = simulate(union_of_internal_streams(periodic(100)), BUSY_AND_QUIET, until=700)
    assert report.latencies["q"] == [101, 102, 93, 1, 1]
    # At 500 and 600 the heartbeat and the row come at the same moment.
    assert report.idle_waiting == 100


def test_punctuation_costs_time_that_arcs_save() -> None:
    def latency(by_arcs: bool) -> int:
        host = GraphHost(
            clock=VirtualClock(), rows_per_step=1, punctuation_cost=10, ets_by_arcs=by_arcs
        )
        columns = (*COLUMNS, Column("ts", Type.TIMESTAMP))
        selections = [
            host.graph.add(
                Select(Literal(True, Type.BOOLEAN)),
                [host.add_stream(Stream(name, columns, TimestampKind.INTERNAL, "ts"))],
            )
            for name in ("a", "b")
        ]
        host.add_query("q", host.graph.add(Merge(2, "ts"), selections))
        [one] = simulate(host, [burst(0, "a", 1)]).latencies["q"]
        return one

    assert latency(by_arcs=False) == 10  # through the selection to where the union sees it
    assert latency(by_arcs=True) == 0


def test_a_simulation_is_the_same_every_time() -> None:
    def run() -> Report:
        host = two_streams_and_a_union(3, DEPTH_FIRST)
        return simulate(host, [burst(t * t % 17, "ab"[t % 2], t % 4) for t in range(30)])

    assert run() == run()


def test_a_real_clock_cannot_be_simulated() -> None:
    with pytest.raises(BadSetting, match="needs a virtual clock"):
        simulate(GraphHost(), [])


def test_latency_needs_the_arrival_in_the_result() -> None:
    host = GraphHost(clock=VirtualClock())
    source = host.add_stream(Stream("a", COLUMNS))
    host.add_query("q", host.graph.add(Project([Named("x", Ref("x", Type.INT))]), [source]))
    with pytest.raises(BadSetting, match="the result has no column `arrival`"):
        simulate(host, [burst(0, "a", 1)])
