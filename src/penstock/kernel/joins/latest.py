"""Latest: the bound that a join has on the greatest of its times.

A result that is still to come has a row that is still to come, of some input, and that is not below
the input's bound. So the greatest of its times is not below the least of the bounds, however far
apart its rows may lie; a bound on one time alone has to wait until partners in the band have come.

Where an input is a join and has a bound on the latest of its own times, these take the place of
the one time by which it is joined; where several are, those of all of them do.
Spec: window-queries 6.3; ordered-joins 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.spec import SideSpec
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.progress.release import Need, Needs
from penstock.model.punctuation import Punctuation, columns_of, is_latest, latest_of
from penstock.model.timestamps import BEGINNING


class Latest:
    """The latest times of an inner join's results."""

    def __init__(self, sides: Sequence[SideSpec], inputs: Inputs, tactic: Tactic) -> None:
        self._sides = sides
        self._inputs = inputs
        self._prompt = tactic.is_plain
        self._times = latest_of(inputs.times)
        # Of inputs that are joins: the latest of all their times, as they say it.
        self._own = {
            port: latest_of({side.on, *(each.column for each in side.carried)})
            for port, side in enumerate(sides)
            if side.carried
        }
        carried = (side.column(each.column) for side in sides for each in side.carried)
        self._all = latest_of({*inputs.times, *carried})

    def names(self, on: str) -> list[str]:
        """What something about the latest of an input's times may say of results."""
        if not is_latest(on):
            return []
        found = [self._with_others(port, on) for port in range(self._inputs.ports)]
        return [*found, self._all] if on in self._own.values() else found

    def _with_others(self, port: int, on: str) -> str:
        """The latest of some columns of an input, and of the times of all others."""
        own = map(self._sides[port].column, columns_of(on))
        return latest_of({*own, *(t for n, t in enumerate(self._inputs.times) if n != port)})

    def note(self, port: int, punctuation: Punctuation) -> bool:
        """Note what an input says of the latest of its times; whether it was news."""
        noted = self._inputs.state.latest[port]
        if not self._prompt or not is_latest(punctuation.on):
            return False
        if punctuation.bound <= noted.get(punctuation.on, BEGINNING):
            return False
        noted[punctuation.on] = punctuation.bound
        return True

    def follow(self, complete: Sequence[int]) -> Iterator[Punctuation]:
        """The bounds that have risen, where results are all out by these bounds of the inputs."""
        yield from self._risen(self._times, min(complete))
        for port, noted in enumerate(self._inputs.state.latest):
            for on, bound in noted.items():
                others = (each for other, each in enumerate(complete) if other != port)
                yield from self._risen(self._with_others(port, on), min(bound, *others))
        if len(self._own) > 1:
            yield from self._risen(self._all, min(map(self._bound, enumerate(complete))))

    def _bound(self, complete: tuple[int, int]) -> int:
        """Of an input that is a join, on the latest of its times; of any other on its time."""
        port, bound = complete
        return self.known(port, self._own[port]) if port in self._own else bound

    def _risen(self, on: str, bound: int) -> Iterator[Punctuation]:
        sent = self._inputs.state.latest_sent
        if bound > sent.get(on, BEGINNING):
            sent[on] = bound
            yield Punctuation(on, bound)

    def needed(self, on: str, bound: int) -> Needs | None:
        """That each input says something about its own of these columns."""
        columns = columns_of(on)
        found: list[str] = []
        for side in self._sides:
            own = {column.name for column in side.columns if side.column(column.name) in columns}
            if own == {side.on}:
                found.append(side.on)
            elif side.on in own and len(own) > 1 and self._prompt:
                found.append(latest_of(own))
            else:
                return None
        if len(columns) == 1 or (sum(map(is_latest, found)) > 1 and on != self._all):
            return None
        return Needs(tuple(Need(port, each, bound) for port, each in enumerate(found)))

    def known(self, port: int, on: str) -> int:
        return self._inputs.state.latest[port].get(on, BEGINNING)
