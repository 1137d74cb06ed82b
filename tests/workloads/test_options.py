"""Options come as text: what is understood, and what is said of the rest."""

from __future__ import annotations

import pytest

from penstock.errors import BadSetting
from penstock.model.timestamps import MILLISECOND, MINUTE, SECOND
from penstock.workloads.options import (
    LONGEST,
    WorkloadOptions,
    check_choice,
    check_length,
    check_range,
)


def options(text: str) -> WorkloadOptions:
    return WorkloadOptions("test", {"x": text})


@pytest.mark.parametrize(
    ("text", "ticks"),
    [
        ("5 seconds", 5 * SECOND),
        (" 5  SECONDS ", 5 * SECOND),
        ("1.5 minutes", 90 * SECOND),
        ("1 minute 30 seconds", 90 * SECOND),
        ("20ms", 20 * MILLISECOND),
        ("0", 0),
    ],
)
def test_a_length_of_time_may_be_written_as_in_sql(text, ticks):
    assert options(text).length("x", default=1) == ticks


@pytest.mark.parametrize("text", ["", "5", "seconds", "5 parsecs", "-5 seconds", "0.1 us", "5 s !"])
def test_what_is_not_a_duration_is_refused(text):
    with pytest.raises(BadSetting, match="`x` must be a duration") as caught:
        options(text).length("x", default=1)
    assert "such as x '5 seconds'" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "ticks"),
    [
        ("1970-01-01 00:01:00", MINUTE),
        ("1970-01-01T00:01:00Z", MINUTE),
        ("1970-01-01 01:01:00+01:00", MINUTE),
        ("1970-01-02", 24 * 60 * MINUTE),
        ("60000000", MINUTE),
        ("-1", -1),
    ],
)
def test_a_point_in_time_is_a_date_a_timestamp_or_ticks(text, ticks):
    assert options(text).moment("x", default=5) == ticks


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "9" * 18, "9" * 30])
def test_what_is_no_point_in_time_is_refused(text):
    with pytest.raises(BadSetting, match="must be a point in time"):
        options(text).moment("x", default=0)


def test_an_option_that_is_not_given_has_its_default():
    given = WorkloadOptions("test", {})
    assert given.whole("a", 3) == 3
    assert given.number("a", 0.5) == 0.5
    assert given.length("a", 4) == 4
    assert given.moment("a", 5) == 5
    assert given.choice("a", ("u", "v"), "v") == "v"
    assert given.count("a") is None


@pytest.mark.parametrize("text", ["many", "1.5", ""])
def test_a_whole_number_must_be_one(text):
    with pytest.raises(BadSetting, match="must be a whole number"):
        options(text).whole("x", 0)


def test_a_count_is_not_negative():
    assert options("0").count("x") == 0
    with pytest.raises(BadSetting, match="not negative, not '-1'"):
        options("-1").count("x")


def test_a_choice_is_made_without_regard_to_case():
    assert options("DS1").choice("x", ("ds1", "ds2"), "ds2") == "ds1"
    with pytest.raises(BadSetting, match="cannot be 'ds9'") as caught:
        options("DS9").choice("x", ("ds1", "ds2"), "ds2")
    assert "it can be: ds1, ds2" in str(caught.value)


def test_an_option_nobody_reads_is_refused_with_the_names_that_are_read():
    given = WorkloadOptions("test", {"Rate": "1", "disodrer": "5 seconds"})
    assert given.number("rate", 5.0) == 1
    given.length("disorder", 0)
    with pytest.raises(BadSetting, match="`test` has no option `disodrer`") as caught:
        given.refuse_unread()
    assert "did you mean `disorder`? there are: disorder, rate" in str(caught.value)


def test_numbers_words_and_lengths_outside_of_their_range_are_refused():
    check_range("x", 10, 1, 10)
    check_length("x", LONGEST)
    for check in (
        lambda: check_range("x", 0, 1, 10),
        lambda: check_range("x", float("nan"), 1, 10),
        lambda: check_length("x", -1),
        lambda: check_length("x", LONGEST + 1),
        lambda: check_choice("x", "c", ("a", "b")),
    ):
        with pytest.raises(BadSetting, match="`x` cannot be") as caught:
            check()
        assert "it can be" in str(caught.value)
