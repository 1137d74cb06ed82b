"""MJoin by itself: what it stores, what it forgets, what bounds it sends.

Answers are judged in `tests/engine/test_joins_against_oracle.py`.
"""

from __future__ import annotations

from penstock.kernel.joins.mjoin import MEdge, MJoinSpec, equality
from penstock.kernel.joins.spec import SideSpec
from penstock.kernel.joins.window_join import WindowJoin
from penstock.model.expressions import Ref
from penstock.model.timestamps import END
from penstock.windows import Band
from tests.kernel.joins.feeding import COLUMNS, Collected, punctuate, push, rows
from tests.kernel.moving import move

NAMES = ("a", "b", "c")


def chain(*keys: str, bands: tuple[Band, Band] = (Band(-2, 3), Band(-5, 1))) -> WindowJoin:
    """a - b - c; each edge by its own key."""
    types = {column.name: column.type for column in COLUMNS}
    edges = []
    for place, (key, band) in enumerate(zip(keys, bands, strict=True)):
        pair = tuple(Ref(f"{NAMES[place + end]}.{key}", types[key]) for end in (0, 1))
        edges.append(MEdge((place, place + 1), band, ((pair[0], pair[1]),)))
    inputs = tuple(SideSpec(name, COLUMNS, "ts") for name in NAMES)
    output = tuple(f"{name}.{column.name}" for name in NAMES for column in COLUMNS)
    conditions = tuple(equality(pair) for edge in edges for pair in edge.keys)
    return WindowJoin(MJoinSpec(inputs, tuple(edges), conditions, output, ("a.ts", "c.ts")))


def stored(join: WindowJoin) -> dict[str, int]:
    return {size.table: size.rows for size in join.state.sizes()}


def test_a_result_goes_out_once_when_the_last_of_its_rows_comes() -> None:
    for order in ((0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2)):
        join, out = chain("k", "k"), Collected()
        for place, port in enumerate(order):
            assert out.rows == []
            push(join, port, rows(("x", port, 10), ("y", port, 10 + 100 * port)), out)
            assert bool(out.rows) == (place == 2)
        assert [row[1::3] for row in out.rows] == [(0, 1, 2)]


def test_only_rows_of_inputs_are_stored_and_once_where_there_is_one_key() -> None:
    join, out = chain("k", "k"), Collected()
    for port in (0, 1):
        push(join, port, rows(*(("x", n, 10) for n in range(5))), out)
    assert stored(join) == {"rows_0_0": 5, "rows_1_0": 5, "rows_2_0": 0}


def test_an_input_that_is_asked_by_two_keys_is_stored_by_both() -> None:
    join, out = chain("k", "v"), Collected()
    push(join, 1, rows(("x", 1, 10)), out)
    assert stored(join) == {"rows_0_0": 0, "rows_1_0": 1, "rows_1_1": 1, "rows_2_0": 0}
    push(join, 0, rows(("x", 7, 10)), out)
    push(join, 2, rows(("z", 1, 10)), out)
    assert [row[1::3] for row in out.rows] == [(7, 1, 1)]


def test_a_row_stays_while_any_input_on_the_way_can_bring_a_result_with_it() -> None:
    join, out = chain("k", "k"), Collected()
    push(join, 0, rows(("x", 1, 10)), out)
    punctuate(join, 1, 14, out)  # b can be at most 3 later, but may be there already
    assert stored(join)["rows_0_0"] == 1
    punctuate(join, 2, 14, out)  # c can be at most 3 + 1 later
    assert stored(join)["rows_0_0"] == 1
    punctuate(join, 2, 15, out)
    assert stored(join)["rows_0_0"] == 0
    assert out.bounds == []  # a has no bound


def test_bounds_are_what_no_later_result_lies_below() -> None:
    join, out = chain("k", "k"), Collected()
    punctuate(join, 0, 100, out)
    punctuate(join, 1, 100, out)
    assert out.bounds == []
    punctuate(join, 2, 100, out)
    # A new row of c at 100 can meet a b at 99 and that an a at 96; one of a at 100 a c at 93.
    assert out.bounds == [("a.ts", 96), ("c.ts", 93)]
    for port in range(3):
        punctuate(join, port, END, out)
    assert dict(out.bounds) == {"a.ts": END, "c.ts": END}


def test_a_row_that_can_be_in_no_later_result_is_joined_and_not_stored() -> None:
    join, out = chain("k", "k"), Collected()
    push(join, 1, rows(("x", 1, 10)), out)
    push(join, 2, rows(("x", 2, 10)), out)
    punctuate(join, 1, 30, out)
    punctuate(join, 2, 30, out)
    push(join, 0, rows(("x", 3, 10)), out)
    assert [row[1::3] for row in out.rows] == [(3, 1, 2)]
    assert stored(join)["rows_0_0"] == 0


def test_state_that_another_version_has_hashed_is_hashed_again() -> None:
    join, out = chain("k", "v"), Collected()
    push(join, 0, rows(("x", 7, 10)), out)
    push(join, 1, rows(("x", 1, 10)), out)
    other = chain("k", "v")
    move(join.state, other.state)
    other.state.hashed_by = "another version"
    push(other, 2, rows(("z", 1, 10), ("z", 2, 10)), out)
    assert [row[1::3] for row in out.rows] == [(7, 1, 1)]
    assert other.state.hashed_by != "another version"


def test_rows_without_a_time_or_a_key_are_in_no_result() -> None:
    join, out = chain("k", "k"), Collected()
    for port in range(3):
        push(join, port, rows((None, 1, 10), ("x", 1, None)), out)
    assert out.rows == []
    assert set(stored(join).values()) == {0}
