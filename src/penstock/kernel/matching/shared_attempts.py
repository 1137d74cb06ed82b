"""All attempts of a partition at once: those in the same state go on as one.

From the same state of the automaton the same rows lead to the same end, wherever an attempt began.
So when two attempts meet in a state, the younger one joins the older one and costs nothing from
then on: a row costs as much as there are different states, however many attempts are under way.

Of each attempt it is known where its own last end was, which attempt it joined, and behind which
row: later ends of that one are its ends, too. An attempt that WITHIN ends keeps what it had.
Rows are taken as they come, so nothing is gone through twice; rows in front, in which nothing
begins any more, are forgotten when they are more than half: then the rest is gone through again.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from penstock.kernel.matching.lazy_dfa import BEGIN, Ints, LazyDfa
from penstock.model.timestamps import END

#: So many rows are kept whether or not something begins in them.
FEW = 1 << 10


class SharedAttempts:
    """Rows by number, from the first that was given; an attempt has the number of its first row."""

    def __init__(self, dfa: LazyDfa, within: int | None) -> None:
        self._dfa = dfa
        self._within = within
        #: The first row in which something may begin.
        self.first = 0
        self._masks: list[Ints] = []
        self._times: list[Ints] = []
        self._clear()

    def _clear(self) -> None:
        self._from = self.first
        self._ticks = array("q")
        self._ends = array("q")  # of each attempt the last row of its best match; -1: there is none
        self._joined = array("q")  # the attempt that it joined; -1: none
        self._behind = array("q")  # and the row behind which it did
        self._over = array("q")  # ends of those that WITHIN has ended
        self._last_end = -1
        self._oldest: dict[int, int] = {}  # by state, of those that go on

    @property
    def rows(self) -> int:
        return self._from + len(self._ticks)

    def time(self, row: int) -> int:
        return self._ticks[row - self._from]

    def feed(self, masks: Ints, times: Ints) -> None:
        """Take the next rows: the variables that each can be of, as bits, and their times."""
        self._masks.append(masks)
        self._times.append(times)
        self._go(self._dfa.symbols(masks).tolist(), times)

    def outcome(self, start: int) -> tuple[int, bool]:
        """The last row of the best match of an attempt, -1: there is none; whether it goes on."""
        number = start - self._from
        if number < len(self._over):
            end, goes_on = self._over[number], False
        else:
            end, oldest = self._end(number)
            goes_on = oldest in self._oldest.values()
        return (end if end < 0 else end + self._from), goes_on

    def outcomes(self, start: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """The same of all attempts from one on."""
        own, joined = np.array(self._ends), np.array(self._joined)
        behind, oldest = np.array(self._behind), np.arange(len(joined))
        ends, joins = own, joined >= 0
        while True:
            others = ends[joined]
            longer = np.where(joins & (others > behind), others, own)
            if (longer == ends).all():
                break
            ends = longer
        oldest[joins] = joined[joins]
        while (oldest != (older := oldest[oldest])).any():
            oldest = older
        goes_on = np.isin(oldest, [*self._oldest.values()])
        ends[: len(self._over)] = self._over
        goes_on[: len(self._over)] = False
        ends = np.where(ends < 0, ends, ends + self._from)
        return ends[start - self._from :], goes_on[start - self._from :]

    def forget(self, first: int) -> None:
        """Nothing begins before a row any more."""
        self.first = first
        gone = first - self._from
        if gone > FEW and 2 * gone > len(self._ticks):
            self.renew()

    def renew(self) -> None:
        """Go through the rows again in which something may begin."""
        gone = self.first - self._from
        self._masks = [np.concatenate(self._masks)[gone:]]
        self._times = [np.concatenate(self._times)[gone:]]
        self._clear()
        self._go(self._dfa.symbols(self._masks[0]).tolist(), self._times[0])

    def _go(self, symbols: list[int], times: Ints) -> None:
        dfa, within, ticks = self._dfa, self._within, self._ticks
        ends, joined, behind, oldest = self._ends, self._joined, self._behind, self._oldest
        first, count = len(ends), len(symbols)
        ticks.frombytes(times.astype(np.int64).tobytes())
        nothing = array("q", [-1]) * count
        ends.extend(nothing)
        joined.extend(nothing)
        behind.extend(range(first - 1, first + count - 1))
        begins = ticks[len(self._over)] if within is not None and count else END
        for row, symbol in enumerate(symbols, first):
            if within is not None and begins < ticks[row] - within:
                begins = self._end_before(ticks[row] - within)
            if BEGIN in oldest:
                joined[row] = oldest[BEGIN]
            else:
                oldest[BEGIN] = row
            going: dict[int, int] = {}
            for state, attempt in oldest.items():
                step = dfa.steps[state][symbol]
                if step < 0:
                    step = dfa.step(state, symbol)
                if step & 1:
                    ends[attempt] = self._last_end = row
                state = step >> 1
                if not state:
                    continue
                if state in going:
                    joined[attempt], behind[attempt] = going[state], row
                else:
                    going[state] = attempt
            oldest = going
        self._oldest = oldest

    def _end_before(self, time: int) -> int:
        """End the attempts whose first row lies before a time: none of them takes the next row.

        Gives the time of the first row of the next one.
        """
        over, ticks = self._over, self._ticks
        while (tick := ticks[len(over)]) < time:
            over.append(self._end(len(over))[0] if self._last_end >= len(over) else -1)
        return tick

    def _end(self, attempt: int) -> tuple[int, int]:
        """The last row of the best match, and the attempt that this one goes on as."""
        joined, ends = self._joined, self._ends
        end = ends[attempt]
        while joined[attempt] >= 0:
            behind, attempt = self._behind[attempt], joined[attempt]
            if ends[attempt] > behind:
                end = ends[attempt]
        return end, attempt
