"""OA-Join by itself: what it stores, what it forgets, what bounds it sends, and at what cost.

Answers are judged in `tests/engine/test_joins_against_oracle.py`; here are larger blocks, so that
runs are merged and dropped, and cases that SQL cannot reach.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from penstock.kernel.joins.window_join import WindowJoin
from penstock.model.joins import JoinKind
from penstock.model.timestamps import END
from penstock.windows import Band, JoinBand, TumblingBand
from tests.kernel.joins.feeding import SCHEMA, Collected, punctuate, push, rows, spec
from tests.kernel.moving import move


def test_a_pair_goes_out_once_whichever_side_comes_first() -> None:
    join, out = WindowJoin(spec(Band(-2, 3), "k")), Collected()
    push(join, 0, rows(("x", 1, 10), ("y", 2, 10)), out)
    push(join, 1, rows(("x", 3, 13), ("x", 4, 14), ("x", 5, 8), ("x", 6, 7), ("y", 7, 9)), out)
    push(join, 0, rows(("y", 8, 11)), out)
    assert sorted(row[1::3] for row in out.rows) == [(1, 3), (1, 5), (2, 7), (8, 7)]


def test_a_row_whose_partners_have_all_come_is_joined_and_not_stored() -> None:
    join, out = WindowJoin(spec(Band(-2, 3), "k")), Collected()
    push(join, 1, rows(("x", 1, 10)), out)
    punctuate(join, 1, 14, out)
    push(join, 0, rows(("x", 2, 10), ("x", 3, 11)), out)
    assert len(out.rows) == 2
    assert join.state.table("left").rows == 1  # the partners of 10 end with 13


def test_bounds_purge_the_other_side_and_become_bounds_on_both_times() -> None:
    join, out = WindowJoin(spec(Band(-2, 3), "k")), Collected()
    push(join, 0, rows(("x", 1, 10)), out)
    push(join, 1, rows(("y", 1, 10)), out)
    punctuate(join, 0, 20, out)
    assert (join.state.table("left").rows, join.state.table("right").rows) == (1, 0)
    assert out.bounds == []  # the right side has no bound
    punctuate(join, 1, 12, out)
    assert out.bounds == [("l.ts", 9), ("r.ts", 12)]
    assert out.latest == 12
    punctuate(join, 1, 12, out)
    assert len(out.bounds) == 2, "nothing new to say"
    punctuate(join, 0, END, out)
    punctuate(join, 1, END, out)
    assert out.bounds[2:] == [("l.ts", END), ("r.ts", END)]
    assert join.state.table("left").rows == 0


def test_null_keys_meet_nothing() -> None:
    join, out = WindowJoin(spec(Band(0, 0), "k", "v")), Collected()
    push(join, 0, rows((None, 1, 10), ("x", None, 10), ("x", 1, None), ("x", 1, 10)), out)
    push(join, 1, rows((None, 1, 10), ("x", None, 10), ("x", 1, 10)), out)
    assert [row[:2] for row in out.rows] == [("x", 1)]


def random_side(rng: np.random.Generator, count: int, span: int, keys: int) -> pl.DataFrame:
    """Rows in disorder of up to a twentieth of the span."""
    arrival = np.sort(rng.integers(0, span, count))
    times = arrival - rng.integers(0, max(span // 20, 1), count)
    keyed = [None if key == 0 else f"key {key}" for key in rng.integers(0, keys, count)]
    return pl.DataFrame({"k": keyed, "v": np.arange(count), "ts": times}, schema=SCHEMA)


def expected(sides: list[pl.DataFrame], band: JoinBand) -> set[tuple[int, int]]:
    distance, width = pl.col("ts_r") - pl.col("ts"), getattr(band, "width", 1)
    near = (
        distance.is_between(band.low, band.high)
        if isinstance(band, Band)
        else pl.col("ts") // width == pl.col("ts_r") // width
    )
    left, right = sides
    return set(left.join(right, on="k", suffix="_r").filter(near).select("v", "v_r").rows())


@pytest.mark.parametrize("keys", [3, 300])
@pytest.mark.parametrize("size", [1, 40, 3000])
@pytest.mark.parametrize(
    "band", [Band(-50, 70), Band(30, 90), TumblingBand(64)], ids=["around", "after", "tumbling"]
)
def test_blocks_of_any_size_give_all_pairs_and_old_rows_are_forgotten(
    band: JoinBand, size: int, keys: int
) -> None:
    rng = np.random.default_rng(size * keys)
    count, span = (300, 1000) if size == 1 else (3000, 10_000)
    sides = [random_side(rng, count, span, keys) for _ in range(2)]
    join, out = WindowJoin(spec(band, "k")), Collected()
    most = 0
    for start in range(0, count, size):
        for port, side in enumerate(sides):
            push(join, port, side.slice(start, size), out)
            coming = side.slice(start + size).get_column("ts").min()
            punctuate(join, port, END if coming is None else int(coming), out)  # type: ignore[arg-type]
        most = max(most, join.state.table("left").rows)
    found = [row[1::3] for row in out.rows]
    assert len(found) == len(set(found))
    assert set(found) == expected(sides, band)
    assert join.state.table("left").rows == join.state.table("right").rows == 0
    if size == 40:
        assert most < count // 3, "rows are kept for much longer than they can match"


def test_state_saved_and_restored_goes_on_and_other_hashes_are_made_again() -> None:
    rng = np.random.default_rng(7)
    sides = [random_side(rng, 400, 500, 20) for _ in range(2)]
    band = Band(-40, 40)
    first, out = WindowJoin(spec(band, "k")), Collected()
    for port, side in enumerate(sides):
        push(first, port, side.slice(0, 200), out)
    second = WindowJoin(spec(band, "k"))
    move(first.state, second.state)
    second.state.hashed_by = "polars 0.1"
    for port, side in enumerate(sides):
        push(second, port, side.slice(200), out)
    found = [row[1::3] for row in out.rows]
    assert len(found) == len(set(found))
    assert set(found) == expected(sides, band)


def test_a_row_without_a_partner_leaves_as_soon_as_none_can_come() -> None:
    join, out = WindowJoin(spec(Band(-2, 3), "k", kind=JoinKind.LEFT)), Collected()
    push(join, 0, rows(("x", 1, 10), ("y", 2, 10), ("z", 3, 11), (None, 4, 10)), out)
    assert [row[1] for row in out.rows] == [4], "NULL equals nothing: no need to wait"
    push(join, 1, rows(("x", 5, 10), ("x", 6, 11)), out)
    punctuate(join, 1, 13, out)
    assert [row[1] for row in out.rows] == [4, 1, 1]
    punctuate(join, 1, 14, out)
    assert out.rows[3:] == [("y", 2, 10, None, None, None)]
    push(join, 0, rows(("x", 7, 10)), out)  # comes when all its partners have come
    push(join, 0, rows(("y", 8, 10)), out)
    assert [row[1] for row in out.rows[4:]] == [7, 7, 8]
    punctuate(join, 1, 15, out)
    assert out.rows[7:] == [("z", 3, 11, None, None, None)], "and nobody leaves twice"


def test_a_match_writes_a_number_and_no_stored_row_again() -> None:
    join, out = WindowJoin(spec(Band(-50, 50), "k", kind=JoinKind.FULL)), Collected()
    push(join, 0, rows(*(("x", n, n) for n in range(40))), out)
    before = [segment.id for segment in join.state.table("left").segments]
    push(join, 1, rows(("x", 1, 20)), out)
    after = [segment.id for segment in join.state.table("left").segments]
    assert before == after
    assert join.state.table("left_met").rows == 40
    push(join, 1, rows(("x", 2, 20)), out)
    assert join.state.table("left_met").rows == 40, "who has met once is not noted again"


def test_a_left_row_of_a_semi_join_leaves_with_its_first_partner_and_only_once() -> None:
    join, out = WindowJoin(spec(Band(-5, 5), "k", kind=JoinKind.SEMI)), Collected()
    push(join, 0, rows(("x", 1, 10)), out)
    push(join, 1, rows(("x", 2, 10), ("x", 3, 11)), out)
    push(join, 1, rows(("x", 4, 10)), out)
    push(join, 0, rows(("x", 5, 12)), out)
    assert out.rows == [("x", 1, 10), ("x", 5, 12)]
    assert join.state.table("left").rows == 1, "matched at once: not stored"
