"""Runs: searching codes finds the rows that comparing keys and times finds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from penstock.kernel.joins.run import CELL_BITS, CODE, Needles, Run, encode, epochs, merge
from penstock.kernel.joins.store import Store
from penstock.kernel.segments import SegmentTable
from penstock.windows import TumblingBand


def run_of(hashes: np.ndarray, times: np.ndarray, shift: int) -> Run:
    codes = encode(hashes, times, shift)
    order = np.argsort(codes)
    return Run(pl.DataFrame({"ts": times[order], "h": hashes[order], CODE: codes[order]}), "ts")


@pytest.mark.parametrize("shift", [0, 3])
@pytest.mark.parametrize("origin", [0, -500, 1_700_000_000_000_000, (1 << CELL_BITS) - 300])
def test_candidates_are_the_rows_with_the_same_hash_within_the_times(
    shift: int, origin: int
) -> None:
    rng = np.random.default_rng(shift)
    hashes = rng.integers(0, 5, 200).astype(np.uint64)
    times = origin + rng.integers(0, 250, 200)
    times = times[epochs(times, shift) == epochs(times, shift)[0]]
    run = run_of(hashes[: len(times)], times, shift)
    first = origin + rng.integers(-100, 350, 60)
    needles = Needles(rng.integers(0, 6, 60).astype(np.uint64), first, first + 40)
    mine, theirs = run.candidates(needles, shift)
    stored_hashes = run.rows.get_column("h").to_numpy()
    expected = {
        (i, j)
        for i in range(60)
        for j in range(len(times))
        if needles.hashes[i] == stored_hashes[j]
        and needles.first[i] <= run.times[j] <= needles.last[i]
    }
    assert set(zip(mine.tolist(), theirs.tolist(), strict=True)) == expected
    assert len(mine) == len(expected)


def test_a_merged_run_is_sorted_and_has_all_rows() -> None:
    rng = np.random.default_rng(3)
    runs = [
        run_of(rng.integers(0, 9, 50).astype(np.uint64), rng.integers(0, 99, 50), 0)
        for _ in range(4)
    ]
    merged = Run(merge([run.rows for run in runs]), "ts")
    assert merged.rows.height == 200
    assert np.all(np.diff(merged.codes.astype(object)) >= 0)


def test_runs_of_a_tumbling_join_keep_to_a_window_so_nothing_is_held_for_longer() -> None:
    store, table = Store("ts", 0, TumblingBand(100, origin=30)), SegmentTable()
    rng = np.random.default_rng(4)
    most = 0
    for start in range(1000):
        # Two links, one of them late: rows of two windows come in one block.
        times = start + np.concatenate([rng.integers(0, 5, 20), rng.integers(300, 305, 20)])
        run = run_of(rng.integers(0, 9, 40).astype(np.uint64), times, 0)
        store.add(table, run.rows, run.times)
        keep_from = (start - 30) // 100 * 100 + 30
        store.purge(table, keep_from)
        assert all(run.first >= keep_from for run in store.runs(table.segments))
        most = max(most, len(table.segments))
    assert most <= 60  # of the 400 blocks, with two pieces each, that live at a time


def test_a_block_of_many_windows_is_not_cut_up() -> None:
    store, table = Store("ts", 0, TumblingBand(10)), SegmentTable()
    run = run_of(np.zeros(1000, np.uint64), np.arange(1000), 0)
    store.add(table, run.rows, run.times)
    assert len(table.segments) == 1


def test_a_store_keeps_rows_of_different_epochs_apart() -> None:
    store, table = Store("ts", 0), SegmentTable()
    times = np.array([5, 6, (1 << CELL_BITS) + 5, (1 << CELL_BITS) + 6])
    run = run_of(np.zeros(4, np.uint64), times, 0)
    store.add(table, run.rows, run.times)
    assert [segment.rows.height for segment in table.segments] == [2, 2]
    needles = Needles(np.zeros(1, np.uint64), np.array([5]), np.array([5 + (1 << CELL_BITS)]))
    found = [run.times[old].tolist() for run, _, old in store.candidates(table, needles)]
    assert found == [[5, 6], [5 + (1 << CELL_BITS)]]


def test_many_small_blocks_make_few_runs_and_copy_a_row_a_few_times() -> None:
    store, table = Store("ts", 0), SegmentTable()
    written = 0
    for block in range(400):
        before = {segment.id for segment in table.segments}
        times = np.arange(block * 10, block * 10 + 10)
        run = run_of((times % 7).astype(np.uint64), times, 0)
        store.add(table, run.rows, run.times)
        new = [segment for segment in table.segments if segment.id not in before]
        written += sum(segment.rows.height for segment in new)
        store.purge(table, times[0] - 1500)
        assert table.rows <= 1500 * 2
    assert len(table.segments) < 16
    assert written < 400 * 10 * 6


def test_a_run_that_would_linger_with_most_rows_forgotten_is_halved() -> None:
    store, table = Store("ts", 0), SegmentTable()
    # Two links in one block, one of them 100 behind the other.
    times = np.concatenate((np.arange(0, 60), np.arange(140, 180)))
    run = run_of((times % 7).astype(np.uint64), times, 0)
    store.add(table, run.rows, run.times)
    store.purge(table, 40)
    assert table.rows == 100, "less than half can go"
    store.purge(table, 100)
    assert [segment.rows.height for segment in table.segments] == [40]
    before = [segment.id for segment in table.segments]
    store.purge(table, 170)
    assert [segment.id for segment in table.segments] == before, "what is left goes soon anyway"


def test_a_new_run_is_halved_before_anybody_writes_it() -> None:
    table, store = SegmentTable(), Store("ts", 0)
    for start in (0, 1000):
        run = run_of(np.zeros(100, np.uint64), np.arange(start, start + 100), 0)
        store.add(table, run.rows, run.times)
    store.purge(table, 70)
    assert [segment.rows.height for segment in table.segments] == [30, 100]
    kept = table.segments[1]
    store.purge(table, 1070)  # it is not new any more, and goes soon
    assert table.segments == [kept]


def test_results_of_joins_which_reach_back_are_in_few_runs_too() -> None:
    """Every block has times of the whole window; it goes by the last of them."""
    store, table, rng = Store("ts", 0), SegmentTable(on="ts"), np.random.default_rng(5)
    runs, rows = [], []
    for end in range(100, 10_000, 100):
        times = np.sort(end - rng.integers(0, 3200, 100))
        codes = times.astype(np.uint64)
        store.add(table, pl.DataFrame({"ts": times, CODE: codes}), times)
        store.purge(table, end - 3200)
        if end > 6400:
            runs.append(len(table.segments))
            rows.append(table.rows)
    assert max(runs) < 12
    assert max(rows) <= 1.3 * 32 * 100
