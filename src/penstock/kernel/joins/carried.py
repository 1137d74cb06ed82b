"""Carried: bounds on columns of a join's inputs that progress beside their times.

Results of a join below have the times of all its inputs, and one of them is the time of this join.
The others lie within bands of that one. So what is known of the time says something of them, and
the input's own bound does for rows that are new: a result needs a new row of the input, or an old
one that can still meet a partner.

A tactic that holds rows or results back knows only of the time how old they can be.
Spec: window-queries 6.1, 6.3; dynamic-optimization 1.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.reach import along, back_along
from penstock.kernel.joins.spec import CarriedSpec, SideSpec
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.progress.release import Need, Needs, Times
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


class Carried:
    """The further columns of a join that progress."""

    def __init__(self, sides: Sequence[SideSpec], inputs: Inputs, tactic: Tactic) -> None:
        self._inputs = inputs
        self._tactic = tactic
        self._prompt = tactic.is_plain
        # Its input and how it comes from there, by what results call it.
        self._columns: dict[str, tuple[int, CarriedSpec]] = {
            side.column(each.column): (port, each)
            for port, side in enumerate(sides)
            for each in side.carried
        }

    def names(self, own: str) -> list[str]:
        """What results call columns of this name, of whichever input."""
        return [name for name, (_, column) in self._columns.items() if column.column == own]

    def note(self, port: int, punctuation: Punctuation) -> bool:
        """Note the bound of an input; whether it was news."""
        name = self._name(port, punctuation.on)
        if name is None or punctuation.bound <= self._bound(name):
            return False
        self._inputs.state.carried[name] = punctuation.bound
        return True

    def of(self, port: int) -> Iterator[tuple[str, int]]:
        """The bounds of an input on them, as the input calls them."""
        for name, (of, column) in self._columns.items():
            if of == port:
                yield column.column, self._bound(name)

    def known(self, port: int, own: str) -> int:
        """The bound of an input on one of them."""
        name = self._name(port, own)
        return BEGINNING if name is None else self._bound(name)

    def _name(self, port: int, own: str) -> str | None:
        """What results call a column of an input."""
        columns = self._columns.items()
        return next((n for n, (p, c) in columns if (p, c.column) == (port, own)), None)

    def _bound(self, name: str) -> int:
        return self._inputs.state.carried.get(name, BEGINNING)

    def follow(self, complete: Sequence[int]) -> Iterator[Punctuation]:
        """The bounds that have risen, where results are all out by these bounds of the inputs."""
        state, reach = self._inputs.state, self._inputs.reach
        oldest = reach.keep_from if self._prompt else reach.output_bound
        for name, (port, column) in self._columns.items():
            bound = min(self._bound(name), along(column.bands, oldest(port, complete)))
            if bound > state.carried_sent.get(name, BEGINNING):
                state.carried_sent[name] = bound
                yield Punctuation(name, bound)

    # -- what it waits for --------------------------------------------------------------------

    def beside(self, times: Times) -> Times:
        """The times of a result, and the least that these columns can be in it."""
        found = dict(times)
        for name, (port, column) in self._columns.items():
            time = times.get(self._inputs.times[port])
            found[name] = None if time is None else along(column.bands, time)
        return found

    def needed(self, name: str, bound: int) -> Needs | None:
        """A bound on the column itself, and on times."""
        if name not in self._columns:
            return None
        port, column = self._columns[name]
        times = self._tactic.needed(self._inputs, port, back_along(column.bands, bound))
        needs = (n for n in self._inputs.needs(times) if n.port != port or not self._prompt)
        return Needs((Need(port, column.column, bound), *needs))
