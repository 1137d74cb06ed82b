"""A batch is delivered to those who were there when it began."""

from __future__ import annotations

from typing import Any, cast

from penstock.spark.delivery.recipients import Recipient, Recipients


def recipient(name: str) -> Recipient:
    """Whose content does not matter."""
    return Recipient(cast(Any, name), cast(Any, None))


FIRST, SECOND, OTHER = map(recipient, ("first", "second", "other"))


def test_whoever_goes_gets_the_batch_that_is_under_way_and_whoever_comes_the_next() -> None:
    recipients = Recipients()
    recipients.change("q", 0, FIRST)
    recipients.change("p", 0, OTHER)
    recipients.change("q", 4, SECOND)
    assert recipients.of(3) == {"q": FIRST, "p": OTHER}
    assert recipients.of(4) == recipients.last() == {"q": SECOND, "p": OTHER}
    recipients.change("p", 5, None)
    assert recipients.of(4) == {"q": SECOND, "p": OTHER}
    assert recipients.of(5) == recipients.last() == {"q": SECOND}


def test_those_who_are_gone_are_told_of_once() -> None:
    recipients = Recipients()
    recipients.change("q", 0, FIRST)
    recipients.change("p", 0, OTHER)
    recipients.change("q", 4, SECOND)
    recipients.change("p", 5, None)
    assert list(recipients.gone(3)) == []
    assert list(recipients.gone(4)) == [("q", FIRST, SECOND)]
    assert list(recipients.gone(4)) == []
    assert list(recipients.gone(7)) == [("p", OTHER, None)]
    assert recipients.of(7) == {"q": SECOND}


def test_who_came_and_went_before_a_batch_gets_nothing() -> None:
    recipients = Recipients()
    recipients.change("q", 4, FIRST)
    recipients.change("q", 4, None)
    assert recipients.of(9) == recipients.last() == {}
    assert list(recipients.gone(9)) == []
