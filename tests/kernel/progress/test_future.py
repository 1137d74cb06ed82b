"""Future rows: which rows are too far ahead, judged one by one."""

from __future__ import annotations

import random

import polars as pl

from penstock.kernel.progress.future import is_future


def one_by_one(times: list[int | None], newest: int, now: int, jump: int) -> list[bool]:
    found = []
    for time in times:
        is_ahead = time is not None and time > max(newest, now) + jump
        found.append(is_ahead)
        if time is not None and not is_ahead:
            newest = max(newest, time)
    return found


def test_a_row_is_too_far_ahead_of_the_clock_and_of_those_before_it_however_they_are_cut() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        jump, now = chance.randint(0, 20), chance.randint(0, 60)
        times = [chance.choice([None, *range(0, 150, 3)]) for _ in range(chance.randint(0, 30))]
        expected = one_by_one(times, 5, now, jump)
        found: list[bool] = []
        newest, rest = 5, times
        while rest:
            size = chance.randint(1, 10)
            block, rest = rest[:size], rest[size:]
            judged = is_future(pl.Series(block, dtype=pl.Int64), newest, now, jump).to_list()
            found += judged
            accepted = [
                t for t, far in zip(block, judged, strict=True) if t is not None and not far
            ]
            newest = max([newest, *accepted])
        assert found == expected, (seed, times)
