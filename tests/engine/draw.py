"""Draw: where random cases get their choices from.

A generator of cases is a plain function that makes its choices through a `Draw`. There are two:

    Seeded    by a seed: an order of magnitude more cases that have nothing in common
    Drawn     by Hypothesis, which makes a failing case small before it shows it

A law is checked over fixed seeds in every run. Hypothesis spends five of six tries on variations of
the case before, which finds other bugs than breadth does: it checks the law too under `--slow`, at
random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st

T = TypeVar("T")


class Draw(Protocol):
    """Makes choices. What comes first or is lower counts as simpler."""

    def choose(self, options: Sequence[T]) -> T: ...

    def between(self, low: int, high: int) -> int:
        """A number, both ends included."""


class Drawn:
    """Choices of Hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def choose(self, options: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(options))

    def between(self, low: int, high: int) -> int:
        return self._data.draw(st.integers(low, high))


class Seeded:
    """Choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def between(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


def several(draw: Draw, low: int, high: int, make: Callable[[Draw], T]) -> list[T]:
    """So many of what `make` makes."""
    return [make(draw) for _ in range(draw.between(low, high))]


def check_seeds(count: int, check: Callable[[Draw], None]) -> None:
    """Check as many cases; a failure says which one it was."""
    for seed in range(count):
        try:
            check(Seeded(seed))
        except Exception as error:
            name = getattr(check, "__name__", str(check))
            raise AssertionError(f"{name}(Seeded({seed})) fails") from error


def seeds(count: int, slow: int) -> list[Any]:
    """Values for `parametrize`: so many seeds, and under `--slow` more of them."""
    others = (pytest.param(seed, marks=pytest.mark.slow) for seed in range(count, slow))
    return [*range(count), *others]


def many_seeds(count: int, slow: int) -> pytest.MarkDecorator:
    """For a test that takes `count` and checks so many seeds; under `--slow` more, in another."""
    return pytest.mark.parametrize("count", [count, pytest.param(slow, marks=pytest.mark.slow)])


def examples(count: int) -> settings:
    """So many cases of Hypothesis; twenty times as many where they are random."""
    is_fixed = settings.get_current_profile_name() == "fixed"
    return settings(max_examples=count if is_fixed else 20 * count)
