"""What bound a silent stream can have, and which rows may come how many places late."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CannotWindow
from penstock.kernel.progress.ets import enabling_timestamp, period
from penstock.kernel.progress.generate import Generator
from penstock.kernel.progress.late import bounds_by_place
from penstock.model.ets import NO_ETS, ON_DEMAND, periodic
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind, Timing
from penstock.model.timestamps import BEGINNING, SECOND
from penstock.model.types import Type

COLUMNS = (Column("x", Type.INT), Column("ts", Type.TIMESTAMP))


def external(slack: int | None = 0, **timing: Any) -> Stream:
    return Stream("s", COLUMNS, TimestampKind.EXTERNAL, "ts", slack, timing=Timing(**timing))


INTERNAL = Stream("s", COLUMNS, TimestampKind.INTERNAL, "ts")


def asked(stream: Stream, now: int, newest: int = BEGINNING, arrived: int = 0) -> int | None:
    return enabling_timestamp(stream, now=now, newest=newest, arrived=arrived)


def test_internal_time_is_the_clock() -> None:
    assert asked(INTERNAL, now=70, newest=60, arrived=60) == 70


def test_skew_counts_from_the_newest_row() -> None:
    # The row said 50 when the clock said 60; 15 later the stream's own time is at least 65.
    assert asked(external(skew=5), now=75, newest=50, arrived=60) == 50 + 15 - 5


def test_a_stream_that_has_never_spoken_is_at_most_the_skew_behind_the_clock() -> None:
    assert asked(external(skew=5), now=75) == 70


def test_a_lull_counts_once_it_is_longer_than_declared() -> None:
    assert asked(external(lull=10), now=60, newest=50, arrived=55) is None
    assert asked(external(lull=10), now=61, newest=50, arrived=55) == 51
    assert asked(external(lull=10), now=61) == 51


def test_without_a_tie_to_the_clock_there_is_no_bound() -> None:
    assert asked(external(), now=75, newest=50, arrived=60) is None
    assert asked(Stream("s", COLUMNS), now=75) is None


def test_a_lull_is_looked_for_every_second_where_nobody_asks() -> None:
    every = {
        "on demand": ON_DEMAND,
        "none": NO_ETS,
        "short": periodic(500),
        "long": periodic(2**40),
    }
    for stream, wanted in (
        (external(lull=10), {"none": SECOND, "short": 500, "long": SECOND}),
        (external(lull=10, heartbeat=7), dict.fromkeys(every, 7)),
        (external(skew=10), {"short": 500, "long": 2**40}),
    ):
        assert {name: period(stream, ets) for name, ets in every.items()} == {
            name: wanted.get(name) for name in every
        }


def test_a_generator_sends_only_what_is_new() -> None:
    generator = Generator(external(skew=5))
    rows = pl.DataFrame({"x": [1], "ts": [50]})
    assert generator.after(generator.number(rows), now=60)[0] == Punctuation("ts", 50)
    assert generator.enable(now=64) == []  # 50 + 4 - 5 says less than the row did
    assert generator.enable(now=75) == [Punctuation("ts", 60)]
    assert generator.enable(now=75) == []
    generator.end()
    assert generator.enable(now=100) == []


def test_a_row_that_keeps_the_skew_is_not_late_after_a_silence() -> None:
    generator = Generator(external(skew=5))
    generator.enable(now=1000)
    parts = generator.judge(pl.DataFrame({"x": [1, 2], "ts": [995, 994]}))
    assert (parts.on_time["ts"].to_list(), parts.late["ts"].to_list()) == ([995], [994])


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (lambda: external(skew=-1), "SKEW must be a duration"),
        (lambda: external(heartbeat=0), "HEARTBEAT must be a duration"),
        (lambda: Stream("s", COLUMNS, timing=Timing(skew=1)), "so SKEW does not apply"),
        (lambda: external(slack=0, rows_late=3), "not both"),
        (
            lambda: Stream("s", COLUMNS, TimestampKind.INTERNAL, "ts", timing=Timing(lull=1)),
            "stamped on arrival",
        ),
        (
            lambda: Stream(
                "s", (Column("n", Type.INT),), TimestampKind.EXTERNAL, "n", timing=Timing(skew=1)
            ),
            "not a TIMESTAMP",
        ),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(stream, reason: str) -> None:
    with pytest.raises(CannotWindow, match=reason):
        stream()


# -- at most n rows late ----------------------------------------------------------------------


def late_by_definition(times: list[int], n: int) -> list[bool]:
    """A row is late if it lies below a row that came more than n places before it."""
    return [t < max(times[: max(0, i - n)], default=BEGINNING) for i, t in enumerate(times)]


@given(times=st.lists(st.integers(0, 30), max_size=40), n=st.integers(0, 5), cuts=st.integers(1, 7))
def test_rows_late_by_more_than_n_places_are_late_however_they_are_cut(
    times: list[int], n: int, cuts: int
) -> None:
    generator = Generator(external(slack=None, rows_late=n))
    late: list[int] = []
    bound = BEGINNING
    for start in range(0, len(times), cuts):
        block = pl.DataFrame(
            {
                "x": list(range(start, min(start + cuts, len(times)))),
                "ts": times[start : start + cuts],
            },
            schema={"x": pl.Int64, "ts": pl.Int64},
        )
        parts = generator.judge(block)
        late += parts.late["x"].to_list()
        for message in generator.after(generator.number(parts.on_time), dated=parts.dated):
            if message.on == "ts":
                assert message.bound > bound
                bound = message.bound
    wanted = late_by_definition(times, n)
    assert late == [i for i, is_late in enumerate(wanted) if is_late]
    assert bound == max(times[: max(0, len(times) - n)], default=BEGINNING)


def test_a_bound_from_outside_makes_rows_late_whatever_their_place() -> None:
    assert bounds_by_place(pl.Series([5, 9]), bound=6, last=[], late=3).to_list() == [6, 6]
