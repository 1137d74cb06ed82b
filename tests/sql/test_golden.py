"""Queries and their plans, bad input and its errors: the files in `golden/` say which."""

from __future__ import annotations

import pytest

from tests.sql.golden import Case, cases, compared

FILES = ("plans.txt", "joins.txt", "matches.txt", "explodes.txt", "errors.txt")


@pytest.mark.parametrize("case", cases("plans.txt"), ids=lambda case: case.title)
def test_a_query_has_this_plan(case: Case) -> None:
    found, expected = compared(case)
    assert found == expected


@pytest.mark.parametrize("case", cases("joins.txt"), ids=lambda case: case.title)
def test_a_join_has_this_plan(case: Case) -> None:
    found, expected = compared(case)
    assert found == expected


@pytest.mark.parametrize("case", cases("matches.txt"), ids=lambda case: case.title)
def test_a_pattern_has_this_plan_or_error(case: Case) -> None:
    found, expected = compared(case)
    assert found == expected


@pytest.mark.parametrize("case", cases("explodes.txt"), ids=lambda case: case.title)
def test_elements_have_this_plan_or_error(case: Case) -> None:
    found, expected = compared(case)
    assert found == expected


@pytest.mark.parametrize("case", cases("errors.txt"), ids=lambda case: case.title)
def test_bad_input_has_this_error(case: Case) -> None:
    found, expected = compared(case)
    assert found == expected


@pytest.mark.parametrize("file", FILES)
def test_no_two_cases_have_the_same_title(file: str) -> None:
    titles = [case.title for case in cases(file)]
    assert len(titles) == len(set(titles))
