"""Patterns as places in the order of preference."""

from __future__ import annotations

from typing import NoReturn

import pytest

from penstock.kernel.matching.automaton import ACCEPT, Automaton
from penstock.model.row_patterns import RowPattern
from penstock.sql.parse.row_pattern import parse_row_pattern
from penstock.sql.parse.syntax import Span


def pattern_of(text: str) -> RowPattern:
    def refuse(message: str, place: Span, hint: str) -> NoReturn:
        raise ValueError(message)

    return parse_row_pattern(text, 0, refuse)


def followed(text: str) -> str:
    """What may begin, and what may follow each place: `A B: A>B, B>.`, where `.` is the end."""
    automaton = Automaton(pattern_of(text))

    def names(places: tuple[int, ...]) -> str:
        return "".join(
            "." if place == ACCEPT else automaton.variables[automaton.of[place]] for place in places
        )

    each = [names((place,)) + ">" + names(then) for place, then in enumerate(automaton.after)]
    return f"{names(automaton.first)}: {', '.join(sorted(each))}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A B", "A: A>B, B>."),
        ("A | B", "AB: A>., B>."),
        ("A+ B", "A: A>AB, A>AB, B>."),
        ("A* B", "AB: A>AB, B>."),
        ("A*? B", "BA: A>BA, B>."),
        ("A? B", "AB: A>B, B>."),
        ("A??B", "BA: A>B, B>."),
        ("A{2}", "A: A>., A>A"),
        ("A{1,3}", "A: A>., A>A., A>A."),
        ("A{1,3}?", "A: A>., A>.A, A>.A"),
        ("(A | B)+ C", "AB: A>ABC, A>ABC, B>ABC, B>ABC, C>."),
        # An iteration that takes no row is none, so this ends.
        ("(A?)* B", "AB: A>AB, B>."),
        ("(A??)* B", "AB: A>AB, B>."),
        ("(A* B*)+ C", "ABABC: A>ABABC, A>ABC, B>BABC, B>BAC, C>."),
        ("((A?){2} B)", "AAB: A>AB, A>B, B>."),
    ],
)
def test_what_may_follow_stands_in_the_order_of_preference(text: str, expected: str) -> None:
    assert followed(text) == expected


@pytest.mark.parametrize(
    "text",
    ["A", "A B+ (C | D)*? E{2,3}", "(A | B C){,2}? D", "A{2,} | (B C)", "(A+){2} B?"],
)
def test_a_pattern_prints_as_it_is_read(text: str) -> None:
    printed = str(pattern_of(text))
    assert pattern_of(printed) == pattern_of(text)


def test_a_pattern_knows_how_long_its_matches_are() -> None:
    pattern = pattern_of("A (B | C D){2} E?")
    assert (pattern.least_rows, pattern.most_rows) == (3, 6)
    assert pattern_of("A+ B").most_rows is None
    assert pattern.may_begin_with() == {"A"}
    assert pattern.always_has("A")
    assert not pattern.always_has("B")
    assert pattern_of("A* B").may_begin_with() == {"A", "B"}
