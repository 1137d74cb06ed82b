"""Matches by the automaton with one state per row, for all rows of a block at once.

From every new row on, the automaton goes the first rows for all of them together: step k takes row
k behind each, in one look into the table. Most attempts end there, with a match or without. Those
that do not are long; they go on one by one, and only when it is their turn: behind a match, rows
may be skipped. Where none are, all attempts count, so they go on together as long as they are many.
"""

from __future__ import annotations

import numpy as np

from penstock.kernel.matching.automaton import Automaton
from penstock.kernel.matching.lazy_dfa import BEGIN, DEAD, MOST_STATES, Ints, LazyDfa
from penstock.kernel.matching.sorted_rows import SortedRows
from penstock.model.timestamps import END

#: Rows that all attempts go together; and how many attempts go on together beyond them.
TOGETHER, MANY = 16, 256
#: Matches of so many rows are mostly like others before; so many of those are remembered.
SHORT, MOST_KNOWN = 64, 1 << 14

#: What is known of an attempt: that there is no match, that it goes on behind the rows that are
#: here, that it is long. Anything else is the last row of a match.
_NONE, _OPEN, _LONG = -1, -2, -3


class Scan:
    """Tries matches from all rows on."""

    def __init__(self, automaton: Automaton, *, all_count: bool) -> None:
        self._dfa = LazyDfa(automaton)
        self._all_count = all_count
        self._known: dict[bytes, list[int]] = {}

    def forget(self) -> None:
        """Nothing is remembered of attempts: they are gone again from their first rows."""

    def begins(self, rows: SortedRows, masks: Ints) -> list[int]:
        """Look at other rows; gives those in which a match begins, or may begin."""
        if self._dfa.size > MOST_STATES:
            self._dfa.clear()
            self._known.clear()
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._rows = rows
        self._symbols = self._dfa.symbols(masks)
        self._symbol_list = self._symbols.tolist()
        outcomes = self._go_together()
        found = np.flatnonzero(outcomes != _NONE)
        known = outcomes[found].tolist()
        self._outcomes: dict[int, int] = dict(zip(found.tolist(), known, strict=True))
        return list(self._outcomes)

    def _go_together(self) -> Ints:
        """What becomes of every attempt, of those that are short."""
        rows, dfa = self._rows, self._dfa
        outcomes = np.full(len(rows.times), _NONE, dtype=np.int64)
        # From rows that were seen before all has been tried that can be known; they are tried again
        # when it is their turn.
        again = rows.seen & ~rows.back & ~rows.goes_on
        outcomes[again] = _LONG
        starts = np.flatnonzero(~rows.back & ~again)
        states = np.full(len(starts), BEGIN, dtype=np.int64)
        number = 0
        while len(starts):
            at = starts + number
            here = at < rows.stop[starts]
            if not here.all():
                self._leave_open(starts[~here], outcomes)
                starts, states, at = starts[here], states[here], at[here]
            if rows.within is not None:
                here = rows.times[at] - rows.times[starts] <= rows.within
                starts, states, at = starts[here], states[here], at[here]
            if number >= TOGETHER and (not self._all_count or len(starts) < MANY):
                outcomes[starts] = _LONG
                break
            steps = dfa.step_all(states, self._symbols[at])
            ends = (steps & 1) == 1
            outcomes[starts[ends]] = at[ends]
            states = steps >> 1
            alive = states != DEAD
            starts, states = starts[alive], states[alive]
            number += 1
        return outcomes

    def _leave_open(self, starts: Ints, outcomes: Ints) -> None:
        """Attempts that have come to the last row: what can still go on is not decided."""
        rows = self._rows
        if rows.bound >= END:
            return
        if rows.within is not None:
            starts = starts[rows.times[starts] + rows.within >= rows.bound]
        outcomes[starts] = _OPEN

    def attempt(self, start: int) -> int | None:
        """The last row of the match from there on; -1: there is none, None: not known yet."""
        outcome = self._outcomes[start]
        if outcome == _OPEN:
            return None
        if outcome != _LONG:
            return outcome
        limit = self._rows.limit(start)
        end, at = self.walk(start, limit)
        is_open = at < 0 and limit == self._rows.stops[start] and not self._rows.is_over(start)
        return None if is_open else end

    def walk(self, start: int, limit: int) -> tuple[int, int]:
        """The last row of the best match before a row, and the row at which nothing went on.

        -1: there is none; something could go on behind the limit.
        """
        dfa, symbols, end, state = self._dfa, self._symbol_list, -1, BEGIN
        table = dfa.steps
        for row in range(start, limit):
            step = table[state][symbols[row]]
            if step < 0:
                step = dfa.step(state, symbols[row])
            if step & 1:
                end = row
            state = step >> 1
            if not state:
                return end, row
        return end, -1

    def variables(self, start: int, end: int) -> list[int]:
        """The variable of each row of a match."""
        if end - start >= SHORT:
            return self._dfa.variables_of(self._symbol_list[start : end + 1])
        key = self._symbols[start : end + 1].tobytes()
        known = self._known.get(key)
        if known is None:
            known = self._dfa.variables_of(self._symbol_list[start : end + 1])
            self._known[key] = known
        return known
