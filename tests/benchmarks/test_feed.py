"""Rows that arrive by the clock: `benchmarks/_feed.py`."""

from __future__ import annotations

import polars as pl

from benchmarks._feed import SECOND, TICK, Feed, ticks


def test_the_rate_is_kept_and_every_row_has_its_number() -> None:
    rows = pl.concat(ticks(Feed(("s",), rate=1_000, keys=5, seconds=2), seed=1))
    assert rows["ts"].is_between(0, 2 * SECOND - 1).all()
    # Those that are late in the last tick do not come any more.
    assert 1_900 <= rows.height <= 2_000
    assert rows["v"].n_unique() == rows.height


def test_no_row_is_later_than_a_tick() -> None:
    newest = 0
    for number, part in enumerate(ticks(Feed(("s",), 1_000, keys=5, seconds=2), seed=1)):
        times = part["ts"].to_list()
        assert min(times) > newest - TICK
        assert max(times) < (number + 1) * TICK
        newest = max(newest, *times)


def test_streams_share_the_rate_and_history_comes_first() -> None:
    feed = Feed(("a", "b"), rate=2_000, keys=5, seconds=1, history=3)
    first, *others = ticks(feed, seed=1)
    assert (first.height, first["ts"].min(), first["ts"].max()) == (3_000, -3 * SECOND, -1_000)
    assert 900 <= sum(part.height for part in others) <= 1_000


def test_a_seed_gives_the_same_rows_again() -> None:
    feed = Feed(("s",), rate=1_000, keys=5, seconds=1)
    one, other = (pl.concat(ticks(feed, seed)) for seed in (3, 3))
    assert one.equals(other)
