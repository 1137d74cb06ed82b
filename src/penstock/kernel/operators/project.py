"""Project: the same rows with other columns.

A bound goes on under the names of all columns that are computed of its column and never fall when
it rises (`model/monotone.py`), as what it is there: under a new name as it is, of the minute as
that of its minute. The least of two columns has a bound when both have; so bounds of columns that
are computed together are kept. What is known of the latest of several columns goes on under the
names that these have, and as the greatest of them. Bounds of other columns end here.
Spec: window-queries 6.3, 7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_columns
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import UNUSED, Grain, both, grain_before
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.state import State
from penstock.model.expressions import Named, Ref
from penstock.model.monotone import Monotone, monotone
from penstock.model.punctuation import Punctuation, columns_of, is_latest, latest_of
from penstock.model.timestamps import BEGINNING


@dataclass
class ProjectState(State):
    """The bounds of columns that are computed together with others."""

    bounds: dict[str, int] = field(default_factory=dict)


class Project(Operator):
    """Computes each output column from a row's own columns; `nullable` are those with NULLs."""

    state: ProjectState
    idle_waiting_prone = False

    def __init__(self, columns: Sequence[Named], nullable: Collection[str] = ()) -> None:
        super().__init__()
        self.state = ProjectState()
        #: Whether it only leaves out columns, or changes their order.
        self.only_drops = all(c.value == Ref(c.name, c.value.type) for c in columns)
        self.names = [column.name for column in columns]
        self.projected = compile_columns(columns)
        self._same: dict[str, str] = {}  # the first column that is another as it is
        self._computed: dict[str, Monotone] = {}
        for column in columns:
            found = monotone(column.value, nullable)
            if isinstance(column.value, Ref):
                self._same.setdefault(column.value.name, column.name)
            if found is not None:
                self._computed[column.name] = found
        self._behind: dict[str, list[str]] = {}
        for name, found in self._computed.items():
            for below in sorted(found.columns):
                self._behind.setdefault(below, []).append(name)
        self._joint = frozenset[str]().union(
            *(found.columns for found in self._computed.values() if len(found.columns) > 1)
        )

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(Block(self.projected(block.rows)))

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        computed = {
            name: found.value(times)
            for name, found in self._computed.items()
            if found.columns <= times.keys()
        }
        return (Waiting((), computed),)

    def needed(self, on: str, bound: int) -> Needs | None:
        needs = None
        for below in _latest(on, {new: old for old, new in self._same.items()}):
            needs = Needs((Need(0, below, bound),))
        found = self._computed.get(on)
        for bounds in () if found is None else reversed(found.needed(bound)):
            these = tuple(Need(0, column, least) for column, least in bounds.items())
            needs = Needs(these, instead=needs)
        return needs

    def known(self, port: int, on: str) -> int:
        return self.state.bounds.get(on, BEGINNING)

    def translate(self, punctuation: Punctuation) -> list[Punctuation]:
        on, bounds = punctuation.on, self.state.bounds
        if any(name not in self._same for name, _ in punctuation.where):
            return []  # what it is about cannot be said any more
        where = tuple((self._same[name], pattern) for name, pattern in punctuation.where)
        known = {**bounds, on: max(punctuation.bound, bounds.get(on, BEGINNING))}
        if columns_of(on) <= self._joint and not where:
            bounds[on] = known[on]
        computed = [(name, self._computed[name].bound(known)) for name in self._built_on(on)]
        computed += [(name, punctuation.bound) for name in _latest(on, self._same)]
        return [Punctuation(name, bound, where) for name, bound in computed if bound > BEGINNING]

    def _built_on(self, on: str) -> Iterable[str]:
        """The columns that are computed of one, or of all of which it is the latest."""
        if not is_latest(on):
            return self._behind.get(on, ())
        below = columns_of(on)
        return [name for name, found in self._computed.items() if below <= found.columns]

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        grains = [grain_before(self._computed[n], behind(n)) for n in self._built_on(on)]
        grains += map(behind, _latest(on, self._same))
        return reduce(both, grains, UNUSED)


def _latest(on: str, names: Mapping[str, str]) -> list[str]:
    """What the latest of several columns is called where they have other names, if all do."""
    if not is_latest(on) or not columns_of(on) <= names.keys():
        return []
    return [latest_of(names[name] for name in columns_of(on))]
