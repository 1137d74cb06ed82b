"""Matches by the automaton with one state per row, for all rows of a block at once.

From every new row on, the automaton goes the first rows for all of them together: step k takes row
k behind each, in one look into the table. Most attempts end there, with a match or without. Those
that do not are long; they go on one by one, and only when it is their turn: behind a match, rows
may be skipped. Where none are, all attempts count, so they go on together as long as they are many.

Where long attempts overlap so much that rows are gone through again and again, all attempts of the
partition go on at once (`shared_attempts`), and so does one that other rows are added to: a row
then takes the same time however long they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from penstock.kernel.matching.automaton import Automaton
from penstock.kernel.matching.lazy_dfa import BEGIN, DEAD, MOST_STATES, Ints, LazyDfa
from penstock.kernel.matching.shared_attempts import SharedAttempts
from penstock.kernel.matching.sorted_rows import SortedRows
from penstock.model.timestamps import END

#: Rows that all attempts go together; and how many attempts go on together beyond them, how far.
TOGETHER, MANY, FARTHEST = 16, 256, 64
#: Matches of so many rows are mostly like others before; so many of those are remembered.
SHORT, MOST_KNOWN = 64, 1 << 14

#: How often the rows of a partition are gone through one attempt after the other, on average; and
#: at most where no match has more rows.
OVERLAP, MOST_OVERLAP = 4, 256
#: Rows that are gone through in any case, from wherever an attempt begins.
FREE = 64
#: Attempts of so many rows are remembered as far as they have come.
LONG = 1 << 10

#: What is known of an attempt: that there is no match, that it goes on behind the rows that are
#: here, that it is long. Anything else is the last row of a match.
_NONE, _OPEN, _LONG = -1, -2, -3


class Scan:
    """Tries matches from all rows on."""

    def __init__(
        self,
        automaton: Automaton,
        partition: Sequence[str] = (),
        within: int | None = None,
        *,
        all_count: bool,
    ) -> None:
        self._dfa = LazyDfa(automaton)
        self._partition = list(partition)
        self._within = within
        self._all_count = all_count
        #: Where matches are short, so are attempts.
        self._overlap = max(OVERLAP, min(automaton.pattern.most_rows or 0, MOST_OVERLAP))
        self._most_states = MOST_STATES
        self._known: dict[bytes, list[int]] = {}
        self._made: WeakSet[SharedAttempts] = WeakSet()
        #: By partition, attempts that were not decided when its last rows came.
        self._begun: dict[tuple[Any, ...], SharedAttempts] = {}

    @property
    def ended(self) -> int:
        """Attempts that were ended because they had too many rows: there are none."""
        return 0

    def forget(self) -> None:
        """Nothing is remembered of attempts: they are gone again from their first rows."""
        self._begun.clear()

    def attempts(self) -> SharedAttempts:
        """All attempts of a partition, without any rows yet."""
        made = SharedAttempts(self._dfa, self._within)
        self._made.add(made)
        return made

    def begins(self, rows: SortedRows, masks: Ints) -> list[int]:
        """Look at other rows; gives those in which a match begins, or may begin."""
        if self._dfa.size > self._most_states:
            self._dfa.clear()
            self._known.clear()
            for attempts in self._made:
                attempts.renew()
            self._most_states = max(MOST_STATES, 2 * self._dfa.size)
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        self._rows, self._masks = rows, masks
        #: By the ends of partitions, their attempts and the row that their first one is here; and
        #: how many rows may be gone through besides.
        self._shared: dict[int, tuple[SharedAttempts, int]] = {}
        self._left: dict[int, int] = {}
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
        # when it is their turn. Long ones go on where they were.
        seen = rows.known[rows.stop] - rows.known[:-1]
        again = rows.seen & ~rows.back & (~rows.goes_on | (seen >= LONG))
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
            is_far = number >= TOGETHER
            if is_far and (not self._all_count or len(starts) < MANY or number >= FARTHEST):
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
        if outcome >= _NONE:
            return outcome
        rows, stop = self._rows, self._rows.stops[start]
        is_counted = stop - start > FREE
        if outcome == _LONG and is_counted and self._left.get(stop, 0) <= 0:
            outcome = self._shared_outcome(start)
        if outcome == _OPEN:
            attempts, origin = self._shared.get(stop, (None, 0))
            if attempts is not None and stop - start >= LONG:
                attempts.forget(start - origin)
                self._begun[self._key(start)] = attempts
            return None
        if outcome != _LONG:
            return outcome
        limit = rows.limit(start)
        end, at = self.walk(start, limit)
        if is_counted:
            self._left[stop] -= (limit if at < 0 else at) - start
        is_open = at < 0 and limit == stop and not rows.is_over(start)
        return None if is_open else end

    def _shared_outcome(self, start: int) -> int:
        """What becomes of an attempt where all of the partition go on at once from here."""
        rows, stop = self._rows, self._rows.stops[start]
        seen = 0
        if rows.goes_on[start] and rows.known[stop] - rows.known[start] >= LONG:
            attempts = self._begun.pop(self._key(start), None)
            seen = int(rows.known[stop] - rows.known[start])
            if attempts is None or attempts.rows - attempts.first != seen:
                attempts, seen = self.attempts(), 0
        elif self._left.setdefault(stop, self._overlap * (stop - start) + LONG) <= 0:
            attempts = self.attempts()
        else:
            return _LONG
        origin = start + seen - attempts.rows
        new = slice(start + seen, stop)
        attempts.feed(self._masks[new], rows.times[new])
        self._shared[stop] = attempts, origin
        ends, goes_on = attempts.outcomes(start - origin)
        if rows.bound < END and rows.within is not None:
            goes_on &= rows.times[start:stop] + rows.within >= rows.bound
        found = np.where(ends < 0, _NONE, ends + origin)
        if rows.bound < END:
            found[goes_on] = _OPEN
        self._outcomes.update(zip(range(start, stop), found.tolist(), strict=True))
        return self._outcomes[start]

    def taken_over(self, start: int) -> tuple[SharedAttempts, int]:
        """The attempts of the partition at which the search waits at a row, for somebody else."""
        found = self._shared.get(self._rows.stops[start])
        if found is None:
            stop = self._rows.stops[start]
            attempts = self.attempts()
            attempts.feed(self._masks[start:stop], self._rows.times[start:stop])
            return attempts, start
        self._begun.pop(self._key(start), None)
        return found

    def given_back(self, key: tuple[Any, ...], attempts: SharedAttempts) -> None:
        """Remember attempts of a partition, all of whose rows come next."""
        if attempts.rows - attempts.first >= LONG:
            self._begun[key] = attempts

    def _key(self, row: int) -> tuple[Any, ...]:
        """The partition of a row."""
        return self._rows.key(row, self._partition)

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
