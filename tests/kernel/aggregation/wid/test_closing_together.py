"""Aggregates that close their windows together give what each gives by itself.

What each test can catch: results of one among those of another, state that is lost or kept twice,
a proposal that is taken although rows came after it was made (`…by_itself`); aggregates that are
not alike, or that have rows on their way, taken for alike (the others).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.closing_together import close_together
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.operators.select import Select
from penstock.kernel.scheduling.executor import Executor
from penstock.local.engine import LocalEngine
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Call, Literal, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.types import Type
from penstock.windows import Sliding, tumbling
from tests.engine.draw import examples

K, V = Ref("k", Type.STRING), Ref("v", Type.BIGINT)
WINDOWS = (tumbling("ts", 10), Sliding("ts", 12, 4))
RESULTS = ([("n", Aggregate("count")), ("s", Aggregate("sum", V))], [("m", Aggregate("max", V))])


class Several:
    """Aggregates of one stream behind filters `v >= least`."""

    def __init__(self, kinds: Sequence[tuple[int, int, int]], *, together: bool) -> None:
        self.graph = Graph()
        self.source = self.graph.add_source("a")
        self.executor = Executor(self.graph)
        self.sinks, self.aggregates = [], []
        for number, (least, window, results) in enumerate(kinds):
            select = self.graph.add(
                Select(Call(">=", (V, Literal(least, Type.BIGINT)))), [self.source]
            )
            bucket = self.graph.add(Bucket(WINDOWS[window]), [select])
            aggregate = WidAggregate(["k"], RESULTS[results], WINDOWS[window])
            node = self.graph.add(aggregate, [bucket])
            self.sinks.append(self.graph.add_sink(f"q{number}", node))
            self.aggregates.append(aggregate)
        self.executor.rebuild()
        if together:
            close_together(self.graph)

    def say(self, items: Sequence[pl.DataFrame | int], *, at_once: bool) -> None:
        for item in items:
            if isinstance(item, int):
                self.source.output.punctuation(Punctuation("ts", item))
            else:
                self.source.output.batch(Block(item))
            if not at_once:
                self.executor.run_until_idle()
        self.executor.run_until_idle()

    def answers(self) -> list[list[object]]:
        found: list[list[object]] = []
        for sink in self.sinks:
            found.append([])
            while not sink.empty:
                item = sink.take()
                said = sorted(map(repr, item.rows.rows())) if isinstance(item, Block) else item
                found[-1].append(said)
        return found

    def kept(self) -> list[int]:
        return [each.state.partials.rows for each in self.aggregates]


ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 9), st.integers(0, 60)), max_size=12
).map(
    lambda rows: pl.DataFrame(
        rows, {"k": pl.String, "v": pl.Int64, "ts": pl.Int64}, orient="row"
    ).sort("ts")
)


@examples(25)
@given(
    st.lists(st.tuples(st.integers(0, 9), *[st.sampled_from([0, 1])] * 2), min_size=2),
    st.lists(st.one_of(ROWS, st.integers(0, 80))),
    st.booleans(),
)
def test_each_gives_what_it_gives_by_itself(kinds, items, at_once):
    together, alone = (Several(kinds, together=each) for each in (True, False))
    for one in (together, alone):
        one.say(items, at_once=at_once)
    assert together.answers() == alone.answers()
    assert together.kept() == alone.kept()
    for one in (together, alone):
        one.say([100], at_once=False)
    assert together.answers() == alone.answers()


def test_the_first_that_is_told_a_bound_computes_for_all_that_have_their_rows(monkeypatch):
    several = Several([(0, 0, 0), (3, 0, 0), (5, 0, 0), (5, 1, 0), (0, 0, 1)], together=True)
    sizes = []
    once = WidAggregate.parted

    def counted(self: WidAggregate, *given: object) -> object:
        sizes.append(self.aggregates.groups)
        return once(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(WidAggregate, "parted", counted)
    rows = pl.DataFrame({"k": ["x", "y"], "v": [4, 9], "ts": [1, 2]})
    several.say([rows, 12], at_once=False)
    # Three that are alike together, and two others, one by one.
    assert sorted(map(len, sizes)) == [1, 1, 2]
    sizes.clear()
    several.say([rows.with_columns(pl.col("ts") + 20), 34], at_once=True)
    # Depth first, the second has rows on its way when the first closes its windows.
    assert sorted(map(len, sizes)) == [1, 1, 1, 1, 1]


def test_groups_of_one_name_may_be_of_different_types() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM p (a STRING, b INT, ts TIMESTAMP) TIMESTAMP BY ts")
    for name, key in (("one", "a"), ("two", "b"), ("three", "upper(a)"), ("four", "b + 1")):
        engine.sql(
            f"CREATE QUERY {name} AS SELECT {key} AS k, count(*) AS n FROM p [RANGE 10 SECONDS] "
            f"GROUP BY {key}"
        )
    engine.push(
        "p", [{"a": "x", "b": n % 3, "ts": datetime(2026, 1, 1, 0, 0, n)} for n in range(30)]
    )
    engine.finish()
    heights = {query.name: query.results().height for query in engine.queries}
    assert heights == {"one": 3, "two": 9, "three": 3, "four": 9}
