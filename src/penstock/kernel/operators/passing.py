"""Passing: what operators have in common that let punctuation pass unchanged.

They drop rows, or add columns to them, and change no column that progresses; so a bound on their
input holds for their output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.kernel.operator import Operator
from penstock.kernel.progress.grain import Grain
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.model.punctuation import Punctuation


class Passing(Operator):
    """Bounds come out as they come in."""

    idle_waiting_prone = False

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return (Waiting((), times),)

    def needed(self, on: str, bound: int) -> Needs:
        return Needs((Need(0, on, bound),))

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        return (punctuation,)

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return behind(on)
