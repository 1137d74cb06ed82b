"""Tests of laws: over fixed seeds in every run; over thousands, and by Hypothesis, if `--slow`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.draw import Draw, Drawn, check_seeds

Law: TypeAlias = Callable[[Draw], None]
Test: TypeAlias = Callable[[Law], None]


def checks_of(laws: Mapping[Law, int], thousands: int = 3000) -> tuple[Test, Test, Test]:
    """Three tests of each law; each law stands with how many seeds it gets in every run."""
    each_law = pytest.mark.parametrize("law", laws, ids=lambda law: law.__name__)

    @each_law
    def over_many_seeds(law: Law) -> None:
        check_seeds(laws[law], law)

    @pytest.mark.slow
    @each_law
    def over_thousands_of_seeds(law: Law) -> None:
        check_seeds(thousands, law)

    @pytest.mark.slow
    @each_law
    def for_hypothesis(law: Law) -> None:
        @settings(max_examples=500)
        @given(st.data())
        def holds(data: st.DataObject) -> None:
            law(Drawn(data))

        holds()

    return over_many_seeds, over_thousands_of_seeds, for_hypothesis
