"""WidAggregate behind Bucket against the slow evaluator.

Random windows, rows in any order above the bounds, bounds anywhere, blocks of any size,
steps of any number of rows: the results must be those of `extent`, each exactly once, and none
after a bound that excludes it.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import segments
from penstock.kernel.aggregation.wid import wid
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.timestamps import END
from penstock.model.types import Type
from penstock.oracle.evaluate import evaluate_window_aggregate, same_rows
from penstock.windows import Sliding
from tests.engine.draw import examples
from tests.kernel.aggregation.pipeline import Item, Pipeline

V = Ref("v", Type.INT)
FUNCTIONS = [
    "avg",
    "count",
    "max",
    "min",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "var_pop",
    "var_samp",
]
SCHEMA = {"ts": pl.Int64(), "a": pl.Int64(), "b": pl.String(), "v": pl.Int32()}

rows = st.fixed_dictionaries(
    {
        "a": st.none() | st.integers(-1, 2),
        "b": st.none() | st.sampled_from(["x", "y"]),
        "v": st.none() | st.integers(-1000, 1000),
    }
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Sliding, list[list[dict[str, Any]] | int]]:
    """A window, and what comes: blocks, and bounds that no later row goes below."""
    window = Sliding(
        "ts", draw(st.integers(1, 25)), draw(st.integers(1, 12)), draw(st.integers(-5, 5))
    )
    bound = draw(st.integers(-50, 50))
    stream: list[list[dict[str, Any]] | int] = []
    for _ in range(draw(st.integers(1, 6))):
        # Now and then a long way: windows in between are empty.
        near = st.integers(0, 20)
        values = st.integers(bound, bound + 40) | st.just(bound + 10**12)
        for block in draw(st.lists(st.lists(rows, min_size=1, max_size=8), max_size=3)):
            stream.append([{"ts": draw(values), **row} for row in block])
        bound += draw(near | st.just(10**12))
        stream.append(bound)
    return window, stream


def check(items: list[Item]) -> list[dict[str, Any]]:
    """All results; fails if one comes after a bound that excludes it."""
    bounds = {"window_start": -END, "window_end": -END}
    found = []
    for item in items:
        if isinstance(item, tuple):
            on, bound = item
            assert bound > bounds[on], "a bound that says nothing new"
            bounds[on] = bound
        else:
            for row in item:
                assert all(row[on] >= bound for on, bound in bounds.items())
            found += item
    return found


@examples(50)
@given(
    run=runs(),
    groups=st.sampled_from([(), ("a",), ("b",), ("a", "b")]),
    functions=st.lists(st.sampled_from(FUNCTIONS), min_size=1, max_size=3, unique=True),
    limit=st.sampled_from([1, 3, None]),
    merging=st.sampled_from([(wid.FAN_IN, segments.MANY), (2, 2), (3, 4)]),
)
def test_results_are_those_of_the_extents_each_exactly_once(run, groups, functions, limit, merging):
    window, stream = run
    with pytest.MonkeyPatch.context() as patch:  # small numbers merge often, in many rounds
        patch.setattr(wid, "FAN_IN", merging[0])
        patch.setattr(segments, "MANY", merging[1])
        judge(window, stream, groups, functions, limit)


def judge(
    window: Sliding,
    stream: list[list[dict[str, Any]] | int],
    groups: tuple[str, ...],
    functions: list[str],
    limit: int | None,
) -> None:
    results = {"n": Aggregate("count"), **{name: Aggregate(name, V) for name in functions}}
    pipeline = Pipeline(window, results, groups, limit)
    items: list[Item] = []
    for item in stream:
        if isinstance(item, int):
            items += pipeline.punctuate(item)
        else:
            items += pipeline.rows(pl.DataFrame(item, schema=SCHEMA))
    items += pipeline.punctuate(END)

    everything = [row for item in stream if not isinstance(item, int) for row in item]
    calls = {name: (name, lambda row: row["v"]) for name in functions}
    expected = evaluate_window_aggregate(
        window, everything, groups, {"n": ("count", None), **calls}
    )
    assert same_rows(check(items), expected)
    assert pipeline.wid.state.late == 0
    assert pipeline.wid.state.partials.rows == 0
