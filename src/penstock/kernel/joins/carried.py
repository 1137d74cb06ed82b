"""Carried: bounds on columns of a join's inputs that progress beside their times.

Results of a join below have the times of all its inputs, and one of them is the time of this join.
The others lie within bands of that one. So what is known of the time says something of them, and
what the input itself promises does for rows that are new: a result needs a new row of the input, or
an old one that can still meet a partner.

A tactic that holds rows or results back knows only of the time how old they can be.
Spec: window-queries 6.1, 6.3; dynamic-optimization 1.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.reach import along, back_along
from penstock.kernel.joins.spec import SideSpec
from penstock.kernel.progress.release import Need, Times
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING
from penstock.windows import JoinBand


@dataclass(frozen=True)
class _Column:
    """A column as it comes, and as results call it."""

    port: int
    own: str
    name: str
    bands: tuple[tuple[JoinBand, int], ...]


class Carried:
    """The further columns of a join that progress; `prompt`: nothing is held back."""

    def __init__(self, sides: Sequence[SideSpec], inputs: Inputs, *, prompt: bool) -> None:
        self._inputs = inputs
        self._prompt = prompt
        self._columns = {
            side.column(each.column): _Column(
                port, each.column, side.column(each.column), each.bands
            )
            for port, side in enumerate(sides)
            for each in side.carried
        }

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def names(self, own: str) -> list[str]:
        """What results call columns of this name, of whichever input."""
        return [name for name, column in self._columns.items() if column.own == own]

    def own(self, wanted: frozenset[str] | None) -> frozenset[str]:
        """The columns as they come, of those that somebody wants."""
        return frozenset(
            column.own for name, column in self._columns.items() if wanted is None or name in wanted
        )

    def hear(self, port: int, punctuation: Punctuation) -> bool:
        """Note the bound of an input; whether it was news."""
        known = self._inputs.state.carried
        for name, column in self._columns.items():
            if (column.port, column.own) == (port, punctuation.on):
                is_news = punctuation.bound > known.get(name, BEGINNING)
                known[name] = max(punctuation.bound, known.get(name, BEGINNING))
                return is_news
        return False

    def known(self, port: int, own: str) -> int:
        """What an input has promised of one of them."""
        names = (n for n, c in self._columns.items() if (c.port, c.own) == (port, own))
        return max((self._bound(name) for name in names), default=BEGINNING)

    def _bound(self, name: str) -> int:
        return self._inputs.state.carried.get(name, BEGINNING)

    def follow(self, complete: Sequence[int]) -> Iterator[Punctuation]:
        """The bounds that have risen, where results are all out by these bounds of the inputs."""
        state, reach = self._inputs.state, self._inputs.reach
        for name, column in self._columns.items():
            oldest = reach.keep_from if self._prompt else reach.output_bound
            bound = min(self._bound(name), along(column.bands, oldest(column.port, complete)))
            if bound > state.carried_sent.get(name, BEGINNING):
                state.carried_sent[name] = bound
                yield Punctuation(name, bound)

    # -- what it waits for --------------------------------------------------------------------

    def beside(self, times: Times) -> Times:
        """The times of a result, and the least that these columns can be in it."""
        found = dict(times)
        for name, column in self._columns.items():
            time = times.get(self._inputs.times[column.port])
            found[name] = None if time is None else along(column.bands, time)
        return found

    def time_needed(self, name: str, bound: int) -> tuple[int, int, Need]:
        """The input, the bound on its time, and on the column itself, that such a bound needs."""
        column = self._columns[name]
        least = back_along(column.bands, bound)
        return column.port, least, Need(column.port, column.own, bound)
