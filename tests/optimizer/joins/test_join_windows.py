"""Windows of a join: what follows for pairs without one, and how many rows stay."""

from __future__ import annotations

import itertools

import pytest

from penstock.optimizer.joins.inputs import inputs_of
from penstock.optimizer.joins.join_windows import JoinWindows

CHAIN = JoinWindows(3, {(0, 1): (-10, 10), (1, 2): (-10, 10)})
A, B, C = (inputs_of([each]) for each in range(3))
ABC = A | B | C


def test_a_pair_without_a_window_gets_the_shortest_path() -> None:
    roundabout = JoinWindows(3, {(0, 1): (-1, 2), (1, 2): (-3, 4), (0, 2): (-50, 5)})
    assert (roundabout.reach[0, 2], roundabout.reach[2, 0]) == (5, 4)
    assert (CHAIN.reach[0, 2], CHAIN.reach[2, 0]) == (20, 20)


def test_one_window_for_all_pairs_has_the_published_volumes() -> None:
    everywhere = JoinWindows.everywhere(4, 3.0)
    assert everywhere.together(inputs_of([1, 2, 3])) == pytest.approx(3 * 3.0**2)
    assert everywhere.kept(inputs_of([0, 1]), inputs_of([2, 3])) == pytest.approx(3.0**2)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_estimated_volumes_come_near_to_exact_ones(count: int) -> None:
    """Beside one input more, whose window differs a little, formulas do not apply."""
    pairs = dict.fromkeys(itertools.combinations(range(count), 2), (-2.0, 2.0))
    far = {(each, count): (-2.0, 2.000001) for each in range(count)}
    windows, own = JoinWindows(count + 1, pairs | far), inputs_of(range(count))
    assert windows.window is None
    assert windows.together(own) == pytest.approx(count * 2.0 ** (count - 1), rel=0.03)
    assert windows.kept(own, inputs_of([count])) == pytest.approx(2.0**count, rel=0.05)


def test_bands_that_make_a_tree_multiply() -> None:
    assert CHAIN.together(ABC) == pytest.approx(20 * 20, rel=0.01)


def test_a_row_is_stored_as_long_as_its_latest_partner_may_take() -> None:
    assert CHAIN.kept(A, B) == pytest.approx(10)
    assert CHAIN.kept(A, B | C) == pytest.approx(20)


def test_a_row_whose_partners_all_come_before_it_is_not_stored() -> None:
    later = JoinWindows(2, {(0, 1): (0, 7)})
    assert later.kept(A, B) == pytest.approx(7)
    assert later.kept(B, A) == 0
    assert later.together(A | B) == pytest.approx(7)


def test_in_whole_runs_results_of_joins_stay_as_long_as_the_latest_of_them() -> None:
    windows = JoinWindows(3, JoinWindows.everywhere(3, 5.0).bands, whole_runs=True)
    assert windows.stays([A, B, C]) == pytest.approx([5, 5, 5])
    # An old row of A comes with a new one of B.
    assert windows.stays([A | B, C]) == pytest.approx([5, 2 * 5])
    assert windows.kept(A | B, C) == pytest.approx(5 * 5)


def test_bands_between_sets_are_the_narrowest_between_their_members() -> None:
    narrow = JoinWindows(3, {(0, 1): (-1, 1), (1, 2): (-3, 3)})
    assert narrow.widths([A, B, C])[:2].tolist() == [[0, 2, 8], [2, 0, 6]]
    assert narrow.widths([A | B, C])[0].tolist() == [0, 6]


def test_in_a_tumbling_window_rows_stay_till_its_end() -> None:
    """On average half a window lies before a row."""
    windows = JoinWindows.in_the_same(3, 6.0)
    assert windows.kept(A, B | C) == pytest.approx(3)
    assert windows.together(A | B) == pytest.approx(6)
    assert windows.kept(A | B, C) == pytest.approx(12)
