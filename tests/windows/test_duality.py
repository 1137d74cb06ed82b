"""Laws that every kind of window keeps, over rows in disorder, with equal and negative values.

duality      a row is in an extent exactly when the extent is among the row's ids:
             catches any slip in one of the two formulas
completeness `windows` names exactly the extents that are not empty
order        extents do not depend on the order of arrival
NULL         rows without a value in the windowing attribute are in no extent
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.windows import (
    Cumulating,
    EndedByRows,
    Landmark,
    Partitioned,
    Session,
    SlideByRank,
    SlideByRowNumber,
    SlideByTuple,
    Sliding,
    Window,
    tumbling,
)

lengths = st.integers(1, 12)
origins = st.integers(-9, 9)

KINDS = {
    "sliding": st.builds(Sliding, st.just("ts"), lengths, lengths, origins),
    "tumbling": st.builds(tumbling, st.just("ts"), lengths),
    "row-based": st.builds(Sliding, st.just("n"), lengths, lengths, st.just(1), st.just("rows")),
    "cumulating": st.builds(
        lambda step, steps, origin: Cumulating("ts", step, step * steps, origin),
        lengths,
        st.integers(1, 5),
        origins,
    ),
    "partitioned": st.builds(Partitioned, st.just("ts"), lengths, lengths, st.just(("src",))),
    "landmark": st.builds(Landmark, st.just("ts"), lengths, origins),
    "session": st.builds(Session, st.just("ts"), lengths, st.sampled_from([(), ("src",)])),
    "slide by tuple": st.builds(SlideByTuple, st.just("ts"), lengths),
    "slide by row number": st.builds(
        SlideByRowNumber, st.just("ts"), lengths, st.integers(1, 4), st.just("n")
    ),
    "slide by rank": st.builds(SlideByRank, st.just("ts"), lengths, st.integers(1, 4)),
}

every_kind = pytest.mark.parametrize("kind", KINDS)


@st.composite
def row_sets(draw: st.DrawFn, unique: bool = False, nulls: bool = True) -> list[dict[str, Any]]:
    """Rows with time `ts`, row number `n` and source `src`, in any order."""
    times: st.SearchStrategy[int | None] = st.integers(-40, 40)
    drawn = draw(st.lists(times | st.none() if nulls else times, max_size=12, unique=unique))
    numbers = draw(st.permutations(range(1, len(drawn) + 1)))
    sources = st.sampled_from(["a", "b", None])
    return [{"ts": ts, "n": n, "src": draw(sources)} for ts, n in zip(drawn, numbers, strict=True)]


def nearby_ids(window: Window, rows: list[dict[str, Any]]) -> list[Any]:
    """Ids to try: those of the rows, and where ids are not bound to rows some around them."""
    known = list(window.windows(rows))
    if isinstance(window, Session | EndedByRows) or not known:
        return known
    if isinstance(window, Partitioned):
        top = max(number for number, _ in known)
        return [(number, (src,)) for number in range(-3, top + 4) for src in ("a", "b", None)]
    # A landmark has windows where rows lie alone, by definition: see its module.
    return known if isinstance(window, Landmark) else list(range(min(known) - 3, max(known) + 4))


def numbers_of(rows: list[Any]) -> set[int]:
    return {row["n"] for row in rows}


@every_kind
@given(data=st.data(), rows=row_sets())
def test_a_row_is_in_an_extent_exactly_when_the_extent_is_among_its_ids(kind, data, rows):
    window = data.draw(KINDS[kind])
    ids_of = {row["n"]: list(window.wids(row, rows)) for row in rows}
    for wid in nearby_ids(window, rows):
        holding = {n for n, ids in ids_of.items() if wid in ids}
        assert numbers_of(window.extent(wid, rows)) == holding


@every_kind
@given(data=st.data(), rows=row_sets())
def test_windows_names_each_extent_that_is_not_empty_once(kind, data, rows):
    window = data.draw(KINDS[kind])
    named = list(window.windows(rows))
    assert len(named) == len(set(named))
    assert set(named) == {wid for wid in nearby_ids(window, rows) if window.extent(wid, rows)}
    assert set(named) == {wid for row in rows for wid in window.wids(row, rows)}


@every_kind
@given(data=st.data(), rows=row_sets(unique=True, nulls=False))
def test_extents_do_not_depend_on_the_order_of_arrival(kind, data, rows):
    window = data.draw(KINDS[kind])
    shuffled = data.draw(st.permutations(rows))
    assert set(window.windows(rows)) == set(window.windows(shuffled))
    for wid in window.windows(rows):
        assert numbers_of(window.extent(wid, rows)) == numbers_of(window.extent(wid, shuffled))


@every_kind
@given(data=st.data(), rows=row_sets())
def test_presented_bounds_cover_exactly_the_values_of_an_extent(kind, data, rows):
    window = data.draw(KINDS[kind])
    if isinstance(window, Partitioned):
        return  # its bounds are ranks, which no column holds: see test_partitioned
    if isinstance(window, Session) and window.partition:
        return  # sessions of other partitions may lie in between
    for wid in window.windows(rows):
        start, end = window.bounds(wid)
        inside = {
            row["n"]
            for row in rows
            if row[window.on] is not None
            and (start is None or start <= row[window.on])
            and row[window.on] < end
        }
        assert numbers_of(window.extent(wid, rows)) == inside


@every_kind
@given(data=st.data())
def test_a_row_without_a_time_is_in_no_extent(kind, data):
    window = data.draw(KINDS[kind])
    timeless = {"ts": None, "n": None, "src": "a"}
    rows = [timeless, {"ts": 3, "n": 1, "src": "a"}]
    assert list(window.wids(timeless, rows)) == []
    assert all(timeless not in window.extent(wid, rows) for wid in window.windows(rows))


@every_kind
@given(data=st.data())
def test_without_rows_there_are_no_windows(kind, data):
    assert list(data.draw(KINDS[kind]).windows([])) == []


def test_columns_names_all_that_a_window_reads():
    assert Sliding("ts", 2, 1).columns() == {"ts"}
    assert Partitioned("n", 2, 1, ("src", "dst")).columns() == {"n", "src", "dst"}
    assert SlideByRowNumber("ts", 5, 2, "n").columns() == {"ts", "n"}
    assert SlideByRank("ts", 5, 2).columns() == {"ts"}


@pytest.mark.parametrize(
    "kind", ["sliding", "tumbling", "cumulating", "landmark", "slide by tuple"]
)
@pytest.mark.parametrize("side", [0, 1])
@given(data=st.data(), value=st.integers(-60, 60))
def test_the_first_extent_that_starts_or_ends_from_a_value_on_is_found(kind, side, data, value):
    window = data.draw(KINDS[kind])
    found = window.first_covering(side, value)
    if kind == "landmark" and side == 0:
        assert found is None
    else:
        assert window.covers(found - 1)[side] < value <= window.covers(found)[side]
