"""Bounds from declarations: when they rise, when they stay, when they are refused."""

from __future__ import annotations

import polars as pl
import pytest

from penstock.errors import BadPunctuation
from penstock.kernel.progress.generate import Generator
from penstock.model.punctuation import Punctuation
from penstock.model.schema import ROW_NUM, Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import END, SECOND
from penstock.model.types import Type

COLUMNS = (Column("x", Type.INT), Column("ts", Type.TIMESTAMP))


def external(slack: int | None) -> Generator:
    return Generator(Stream("s", COLUMNS, TimestampKind.EXTERNAL, "ts", slack))


INTERNAL = Stream("s", COLUMNS, TimestampKind.INTERNAL, "ts")
LATENT = Stream("s", COLUMNS)


def after(generator: Generator, *times: int) -> list[Punctuation]:
    rows = pl.DataFrame({"x": [0] * len(times), "ts": list(times)})
    return generator.after(generator.number(rows))


def on(messages: list[Punctuation], column: str) -> list[int]:
    return [message.bound for message in messages if message.on == column]


def test_the_bound_of_an_ordered_stream_is_its_newest_time() -> None:
    assert on(after(external(0), 3, 5), "ts") == [5]


def test_slack_lowers_the_bound() -> None:
    assert on(after(external(10), 3, 25, 20), "ts") == [15]


def test_a_bound_only_rises_and_is_sent_once() -> None:
    generator = external(2)
    assert on(after(generator, 10), "ts") == [8]
    assert on(after(generator, 9, 10), "ts") == []
    assert on(after(generator, 8), "ts") == []
    assert on(after(generator, 11), "ts") == [9]


def test_a_stream_without_bounds_of_its_own_waits_for_punctuation() -> None:
    generator = external(None)
    assert on(after(generator, 10), "ts") == []
    assert generator.punctuate(7) == [Punctuation("ts", 7)]
    assert generator.punctuate(7) == []


def test_a_bound_from_outside_counts_in_an_ordered_stream_too() -> None:
    generator = external(0)
    generator.punctuate(50)
    assert on(after(generator, 50), "ts") == []
    assert on(after(generator, 51), "ts") == [51]


def test_a_bound_that_goes_back_is_refused() -> None:
    generator = external(0)
    after(generator, 10 * SECOND)
    with pytest.raises(BadPunctuation) as raised:
        generator.punctuate(9 * SECOND)
    assert raised.value.stream == "s"
    assert str(raised.value) == (
        "the bound of stream `s` is 1970-01-01 00:00:10 already, and cannot fall to 1970-01-01 "
        "00:00:09\n  a bound may only rise"
    )


def test_a_stream_without_time_has_nothing_to_punctuate() -> None:
    with pytest.raises(BadPunctuation, match="has no timestamp to punctuate"):
        Generator(LATENT).punctuate(1)


def test_internal_rows_are_stamped_with_the_time_of_arrival() -> None:
    generator = Generator(INTERNAL)
    rows = generator.number(generator.stamp(pl.DataFrame({"x": [1, 2]}), now=70))
    assert rows.to_dict(as_series=False) == {"x": [1, 2], "ts": [70, 70], ROW_NUM: [1, 2]}
    assert generator.after(rows) == [Punctuation("ts", 70), Punctuation(ROW_NUM, 3)]


def test_a_stamp_is_never_below_a_bound_that_is_ahead_of_the_clock() -> None:
    generator = Generator(INTERNAL)
    generator.punctuate(100)
    rows = generator.stamp(pl.DataFrame({"x": [1]}), now=70)
    assert rows.get_column("ts").to_list() == [100]


def test_other_streams_are_not_stamped() -> None:
    rows = pl.DataFrame({"x": [1], "ts": [5]})
    assert external(0).stamp(rows, now=70) is rows
    assert Generator(LATENT).stamp(rows, now=70) is rows


def test_a_latent_stream_has_bounds_on_row_numbers_only() -> None:
    assert after(Generator(LATENT), 3, 1) == [Punctuation(ROW_NUM, 3)]


def test_rows_are_numbered_from_1_across_blocks() -> None:
    generator = external(0)
    first = generator.number(pl.DataFrame({"x": [1, 2], "ts": [1, 2]}))
    assert generator.after(first)[-1] == Punctuation(ROW_NUM, 3)
    second = generator.number(pl.DataFrame({"x": [3], "ts": [3]}))
    assert generator.after(second)[-1] == Punctuation(ROW_NUM, 4)
    assert first.columns == ["x", "ts", ROW_NUM] and first.schema[ROW_NUM] == pl.Int64()
    assert (first.get_column(ROW_NUM).to_list(), second.get_column(ROW_NUM).to_list()) == (
        [1, 2],
        [3],
    )


def test_no_rows_change_no_bound() -> None:
    assert after(external(0)) == []


def test_the_end_is_sent_once_on_time_and_on_row_numbers() -> None:
    generator = external(0)
    assert generator.end() == [Punctuation("ts", END), Punctuation(ROW_NUM, END)]
    assert generator.end() == []
    assert Generator(LATENT).end() == [Punctuation(ROW_NUM, END)]


def test_a_bound_beyond_all_times_is_the_end() -> None:
    generator = external(None)
    assert generator.punctuate(END + 5) == [Punctuation("ts", END), Punctuation(ROW_NUM, END)]
    assert generator.state.ended


def test_standing_bounds_can_be_sent_again() -> None:
    generator = external(1)
    assert generator.standing() == []
    after(generator, 5)
    assert generator.standing() == [Punctuation("ts", 4), Punctuation(ROW_NUM, 2)]
    generator.end()
    assert generator.standing() == [Punctuation("ts", END), Punctuation(ROW_NUM, END)]
