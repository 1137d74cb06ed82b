"""The local host: rows in, rows out, and everything that could not go in accounted for."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timezone
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import (
    BadPunctuation,
    DuplicateName,
    LateRow,
    MalformedRow,
    UnknownName,
)
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.order import Order
from penstock.kernel.operators.select import Select
from penstock.kernel.progress.late import LatePolicy
from penstock.kernel.rejected import Reason
from penstock.kernel.scheduling.strategies import strategy_named
from penstock.model.expressions import Call, Expression, Literal, Ref
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import END, SECOND
from penstock.model.types import Type
from penstock.runtime.clock import VirtualClock
from penstock.runtime.counts import RejectedRows
from penstock.runtime.graph_host import GraphHost
from tests.kernel.moving import Snapshot
from tests.ticks import push_ticks

COLUMNS = (Column("x", Type.INT), Column("ts", Type.TIMESTAMP))
ODD: Expression = Call(
    "=", (Call("%", (Ref("x", Type.INT), Literal(2, Type.INT))), Literal(1, Type.INT))
)


def external(name: str = "s", slack: int | None = 0) -> Stream:
    return Stream(name, COLUMNS, TimestampKind.EXTERNAL, "ts", slack)


INTERNAL = Stream("s", COLUMNS, TimestampKind.INTERNAL, "ts")
LATENT = Stream("s", COLUMNS)


def host_of(stream: Stream, **options: Any) -> GraphHost:
    host = GraphHost(**options)
    host.add_query("q", host.add_stream(stream))
    return host


def rows(*times: int | None) -> list[dict[str, Any]]:
    return [{"x": 0, "ts": time} for time in times]


def column(frame: pl.DataFrame, name: str) -> list[Any]:
    return frame.get_column(name).to_list()


def test_rows_go_through_the_graph_and_come_out() -> None:
    host = GraphHost()
    source = host.add_stream(external())
    host.add_query("odd", host.graph.add(Select(ODD), [source]))
    push_ticks(host, "s", [{"x": x, "ts": x} for x in range(1, 6)])
    assert host.results("odd").height == 0
    host.run()
    out = host.results("odd")
    assert out.to_dicts() == [{"x": x, "ts": x, "row_num": x} for x in (1, 3, 5)]
    assert host.results("odd").height == 0
    assert host.counts("s").rows == 5


def test_times_come_as_ticks_or_as_points_in_time() -> None:
    host = host_of(external())
    push_ticks(host, "s", [{"x": 1, "ts": 0}])
    push_ticks(host, "s", [{"x": 2, "ts": datetime(1970, 1, 1, 0, 0, 1)}])
    push_ticks(host, "s", pl.DataFrame({"ts": [datetime(1970, 1, 1, 0, 0, 2)], "x": [3]}))
    push_ticks(host, "s", [{"x": 4, "ts": datetime(1970, 1, 1, 0, 0, 3, tzinfo=timezone.utc)}])
    host.run()
    assert column(host.results("q"), "ts") == [0, SECOND, 2 * SECOND, 3 * SECOND]


def test_late_rows_are_counted_and_kept_aside() -> None:
    host = host_of(external(slack=2))
    push_ticks(host, "s", rows(10, 8, 7))
    push_ticks(host, "s", rows(9, 5))
    host.run()
    assert column(host.results("q"), "ts") == [10, 8, 9]
    assert (host.counts("s").rows, host.counts("s").late) == (3, 2)
    assert [(a.stream, a.reason, column(a.rows, "ts")) for a in host.rejected_rows] == [
        ("s", Reason.LATE, [7]),
        ("s", Reason.LATE, [5]),
    ]


def test_row_numbers_leave_out_rows_that_did_not_go_in() -> None:
    host = host_of(external())
    push_ticks(host, "s", rows(1, None, 5, 3, 7))
    host.run()
    assert column(host.results("q"), "row_num") == [1, 2, 3]


def test_late_rows_may_be_an_error_and_then_nothing_is_pushed() -> None:
    host = host_of(external(), late=LatePolicy.FAIL)
    push_ticks(host, "s", rows(5))
    with pytest.raises(LateRow, match=r"1 of the rows of `s` are late") as raised:
        push_ticks(host, "s", rows(6, 4, None))
    assert raised.value.stream == "s"
    host.run()
    assert column(host.results("q"), "ts") == [5]
    assert (host.counts("s").rows, host.counts("s").malformed) == (1, 0)


def test_a_row_without_a_time_is_malformed() -> None:
    host = host_of(external())
    push_ticks(host, "s", rows(1, None))
    [aside] = host.rejected_rows
    assert aside.reason is Reason.MALFORMED
    assert column(aside.rows, "reason") == ["ts: None is not a valid time"]
    assert host.counts("s").malformed == 1


def test_a_row_without_a_time_is_welcome_where_time_is_latent() -> None:
    host = host_of(LATENT)
    push_ticks(host, "s", rows(None, 3, 1))
    host.run()
    assert column(host.results("q"), "ts") == [None, 3, 1]


def test_malformed_rows_are_set_aside_and_the_others_go_on() -> None:
    taken: list[RejectedRows] = []
    host = host_of(external(), rejected=taken.append)
    push_ticks(host, "s", [{"x": 1, "ts": 1}, {"x": "one", "ts": 2}, {"x": 3, "ts": 3}])
    host.run()
    assert column(host.results("q"), "x") == [1, 3]
    assert host.counts("s").malformed == 1
    assert host.rejected_rows == []
    assert column(taken[0].rows, "reason") == ["x: 'one' is not a valid INT"]


def test_lines_that_are_no_rows_are_counted_as_malformed() -> None:
    host = host_of(external())
    host.reject("s", ["{broken"])
    assert host.counts("s").malformed == 1
    assert column(host.rejected_rows[0].rows, "reason") == ["no row: {broken"]


def test_wrong_columns_push_nothing() -> None:
    host = host_of(external())
    with pytest.raises(MalformedRow, match="no column `ts`"):
        host.push("s", [{"x": 1}])
    assert host.counts("s").rows == 0


def test_internal_rows_are_stamped_by_the_clock() -> None:
    clock = VirtualClock(100)
    host = host_of(INTERNAL, clock=clock)
    push_ticks(host, "s", [{"x": 1}])
    clock.spend(5)
    push_ticks(host, "s", pl.DataFrame({"x": [2, 3]}))
    host.run()
    assert column(host.results("q"), "ts") == [100, 105, 105]
    assert host.inputs["s"].bound == 105


def test_punctuation_from_outside_raises_the_bound() -> None:
    host = host_of(external(slack=None))
    push_ticks(host, "s", rows(5, 1))
    host.punctuate("s", SECOND)
    assert host.inputs["s"].bound == SECOND
    push_ticks(host, "s", rows(SECOND - 1, SECOND))
    assert host.counts("s").late == 1
    with pytest.raises(BadPunctuation, match="cannot fall"):
        host.punctuate("s", 5)


@pytest.mark.parametrize("stream", [external(), LATENT, INTERNAL], ids=lambda s: s.kind.value)
def test_after_the_end_every_row_is_late(stream: Stream) -> None:
    host = host_of(stream)
    row: dict[str, Any] = {column.name: 1 for column in stream.arriving}
    push_ticks(host, "s", [row])
    host.finish()
    push_ticks(host, "s", [row])
    host.run()
    assert host.results("q").height == 1
    assert host.counts("s").late == 1


def test_the_end_lets_waiting_rows_out() -> None:
    host = GraphHost()
    sources = [host.add_stream(external(name)) for name in ("a", "b")]
    host.add_query("q", host.graph.add(Merge(2, "ts"), sources))
    push_ticks(host, "a", rows(1, 2, 3))
    host.run()
    assert host.results("q").height == 0
    host.inputs["b"].end()
    host.run()
    assert host.results("q").height == 3
    host.finish()
    assert host.graph.queued_rows() == 0
    assert all(node.output.length == 0 for node in host.graph.nodes.values())
    assert (host.inputs["a"].bound, host.inputs["b"].bound) == (END, END)


def test_a_query_hears_the_bounds_that_were_sent_before_it_came() -> None:
    host = GraphHost()
    sources = [host.add_stream(external(name)) for name in ("a", "b")]
    host.punctuate("b", 100)
    host.run()
    host.add_query("q", host.graph.add(Merge(2, "ts"), sources))
    push_ticks(host, "a", rows(1, 2, 3))
    host.run()
    assert host.results("q").height == 3


def test_subscribers_get_rows_after_the_step_that_made_them() -> None:
    clock = VirtualClock()
    host = GraphHost(clock=clock, rows_per_step=1)
    source = host.add_stream(LATENT)
    host.add_query("q", host.graph.add(Select(ODD), [source], cost=10))
    seen: list[tuple[int, list[int]]] = []
    host.subscribe("q", lambda out: seen.append((clock.now(), column(out, "x"))))
    push_ticks(host, "s", [{"x": x, "ts": 0} for x in (1, 2, 3)])
    host.run()
    assert seen == [(10, [1]), (30, [3])]
    assert host.results("q").height == 0


def test_punctuation_costs_what_it_is_declared_to_cost() -> None:
    clock = VirtualClock()
    host = GraphHost(clock=clock, punctuation_cost=3)
    source = host.add_stream(external())
    host.add_query("q", host.graph.add(Select(ODD), [source], cost=10))
    push_ticks(host, "s", rows(1, 2))
    host.punctuate("s", 7)
    host.run()
    assert clock.now() == 2 * 10  # nobody here has any use for a bound
    host.add_query("r", host.graph.add(Order("ts"), [source], cost=10))
    host.punctuate("s", 8)
    host.run()
    assert clock.now() == 2 * 10 + 2 * 2 * 3  # both operators hear what held before, and the new


def test_a_subscriber_may_stop_its_query() -> None:
    host = GraphHost(rows_per_step=1)
    source = host.add_stream(LATENT)
    host.add_query("q", host.graph.add(Select(ODD), [source]))
    host.add_query("rest", host.graph.add(Select(ODD), [source]))
    seen: list[int] = []

    def once(out: pl.DataFrame) -> None:
        seen.extend(column(out, "x"))
        host.remove_query("q")

    host.subscribe("q", once)
    push_ticks(host, "s", [{"x": x, "ts": 0} for x in (1, 3, 5)])
    host.run()
    assert seen == [1]
    assert column(host.results("rest"), "x") == [1, 3, 5]


def test_a_subscriber_may_push_on() -> None:
    host = GraphHost()
    first, second = host.add_stream(LATENT), host.add_stream(Stream("t", COLUMNS))
    host.add_query("q", host.graph.add(Select(ODD), [first]))
    host.add_query("r", second)
    host.subscribe("q", lambda out: push_ticks(host, "t", out.select("x", "ts")))
    push_ticks(host, "s", [{"x": x, "ts": 0} for x in (1, 2, 3)])
    host.run()
    assert column(host.results("r"), "x") == [1, 3]


def test_queries_come_and_go_while_it_runs() -> None:
    host = GraphHost(rows_per_step=1)
    source = host.add_stream(LATENT)
    host.add_query("first", host.graph.add(Select(ODD), [source]))
    push_ticks(host, "s", [{"x": x, "ts": 0} for x in (1, 3, 5)])
    host.step()
    host.add_query("second", host.graph.add(Select(ODD), [source]))
    push_ticks(host, "s", [{"x": x, "ts": 0} for x in (7, 9)])
    host.step()
    assert host.queries == ["first", "second"]
    host.run()
    assert column(host.results("first"), "x") == [1, 3, 5, 7, 9]
    assert column(host.results("second"), "x") == [7, 9]
    host.remove_query("first")
    host.remove_query("second")
    host.remove_stream("s")
    assert host.graph.nodes == {}


def test_names_are_known_once_or_not_at_all() -> None:
    host = host_of(external())
    with pytest.raises(DuplicateName, match="stream `s` exists already"):
        host.add_stream(external())
    with pytest.raises(DuplicateName, match="query `q` exists already"):
        host.add_query("q", host.source("s"))
    with pytest.raises(UnknownName, match="no stream `bid`"):
        host.push("bid", [])
    with pytest.raises(UnknownName, match="no query `x`"):
        host.results("x")


def two_streams(limit: int | None) -> GraphHost:
    host = GraphHost(rows_per_step=limit)
    a = host.add_stream(external("a", slack=3))
    b = host.add_stream(external("b", slack=None))
    odd = host.graph.add(Select(ODD), [a])
    host.add_query("odd", odd)
    host.add_query("all", host.graph.add(Meld(2), [odd, b]))
    return host


def push_numbered(host: GraphHost, numbers: list[int], start: int) -> None:
    for x, number in enumerate(numbers, start):
        push_ticks(host, "ab"[number % 2], [{"x": x, "ts": number}])


@given(
    before=st.lists(st.integers(0, 12), max_size=8),
    after=st.lists(st.integers(0, 12), max_size=8),
    steps=st.integers(0, 30),
    limit=st.sampled_from([1, 7, None]),
)
def test_a_host_saved_in_mid_run_goes_on_in_a_new_one(
    before: list[int], after: list[int], steps: int, limit: int | None
) -> None:
    whole, first, second = two_streams(limit), two_streams(limit), two_streams(limit)
    push_numbered(whole, before + after, 0)
    whole.finish()
    push_numbered(first, before, 0)
    for _ in range(steps):
        first.step()
    saved = Snapshot.of(first.states(), first.graph)
    saved.put_into(second.states(), second.graph)
    push_numbered(second, after, len(before))
    second.finish()
    for query in ("odd", "all"):
        got = [*first.results(query).iter_rows(), *second.results(query).iter_rows()]
        assert Counter(got) == Counter(whole.results(query).iter_rows())
    for stream in "ab":
        first.inputs[stream].tally.add(second.inputs[stream].tally)
        assert first.counts(stream) == whole.counts(stream)


@pytest.mark.parametrize("name", ["dfs", "bfs", "round robin", "batched 2"])
def test_strategies_change_through_the_executor(name: str) -> None:
    host = two_streams(1)
    push_numbered(host, list(range(20)), 0)
    for _ in range(5):
        host.step()
    host.executor.table.set_strategy(strategy_named(name))
    host.finish()
    assert sorted(column(host.results("all"), "x")) == [x for x in range(20) if x % 2]
