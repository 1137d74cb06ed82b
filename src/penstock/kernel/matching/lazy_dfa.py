"""The automaton with one state per row, for conditions that look at single rows.

A *state* is the list of places that may take the next row, in the order of preference; a *symbol*
is the set of variables that a row can be of. From state and symbol follow the next state, and
whether a match may end with the row: what is less preferred than that end is left out of the state.
States are made when they are first met; there are few, and a step for many rows is one look into a
table.

To tell which row is of what, the way is gone back: every step notes from which place of the state
before each place came (`origins`), and which one took the last row (`last`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.kernel.matching.automaton import ACCEPT, Automaton

Ints: TypeAlias = npt.NDArray[np.int64]

#: Nothing goes on from here.
DEAD = 0
#: Where every attempt begins.
BEGIN = 1
#: So many states are kept from block to block; beyond that, they are made anew.
MOST_STATES = 1 << 14


class LazyDfa:
    """States and steps so far. A step is `next state * 2 + whether a match may end here`."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self.clear()

    def clear(self) -> None:
        """Forget everything but the first two states."""
        self.places: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._symbols: dict[int, int] = {}
        self._masks: list[int] = []
        self.steps: list[list[int]] = []  # by state and symbol; -1: not made yet
        self._table = np.full((2, 2), -1, dtype=np.int64)  # the same
        self.origins: dict[tuple[int, int], tuple[tuple[int, ...], int]] = {}
        self._state(())
        self._state(tuple(place for place in self._automaton.first if place != ACCEPT))

    @property
    def size(self) -> int:
        return len(self.places)

    def symbols(self, masks: Ints) -> Ints:
        """The symbols of rows, given the variables that each can be of as bits."""
        found, ids = np.unique(masks, return_inverse=True)
        return np.array([self._symbol(int(mask)) for mask in found], dtype=np.int64)[ids]

    def step_all(self, states: Ints, symbols: Ints) -> Ints:
        """The steps from many states at once."""
        steps = self._table[states, symbols]
        missing = steps < 0
        if missing.any():
            for state, symbol in {*zip(states[missing], symbols[missing], strict=True)}:
                self.step(int(state), int(symbol))
            steps = self._table[states, symbols]
        return steps

    def step(self, state: int, symbol: int) -> int:
        """The step from one state; made if it was not there."""
        known = self.steps[state][symbol]
        if known >= 0:
            return known
        automaton, mask = self._automaton, self._masks[symbol]
        found: dict[int, int] = {}
        last = -1
        for slot, place in enumerate(self.places[state]):
            if not mask >> automaton.of[place] & 1:
                continue
            for then in automaton.after[place]:
                if then == ACCEPT:
                    last = slot
                    break
                found.setdefault(then, slot)
            if last >= 0:
                break
        made = self._state(tuple(found)) * 2 + (last >= 0)
        self.steps[state][symbol] = made
        self._table[state, symbol] = made
        self.origins[state, symbol] = (tuple(found.values()), last)
        return made

    def variables_of(self, symbols: Iterable[int]) -> list[int]:
        """The variable of each row of a match with these symbols, all to its end."""
        way: list[tuple[int, int]] = []
        state = BEGIN
        for symbol in symbols:
            way.append((state, symbol))
            state = self.step(state, symbol) >> 1
        found = []
        slot = self.origins[way[-1]][1]
        for at, (state, symbol) in reversed([*enumerate(way)]):
            if at < len(way) - 1:
                slot = self.origins[state, symbol][0][slot]
            found.append(self._automaton.of[self.places[state][slot]])
        return found[::-1]

    def _symbol(self, mask: int) -> int:
        if mask not in self._symbols:
            self._symbols[mask] = len(self._masks)
            self._masks.append(mask)
            for steps in self.steps:
                steps.append(-1)
            self._grow()
        return self._symbols[mask]

    def _state(self, places: tuple[int, ...]) -> int:
        if places not in self._numbers:
            self._numbers[places] = len(self.places)
            self.places.append(places)
            self.steps.append([-1] * len(self._masks))
            self._grow()
        return self._numbers[places]

    def _grow(self) -> None:
        """Make room in the table, twice as much as before."""
        states, symbols = self._table.shape
        while states < len(self.places):
            states *= 2
        while symbols < len(self._masks):
            symbols *= 2
        if (states, symbols) != self._table.shape:
            table = np.full((states, symbols), -1, dtype=np.int64)
            table[: self._table.shape[0], : self._table.shape[1]] = self._table
            self._table = table
