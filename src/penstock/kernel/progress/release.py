"""What lets the next row of a query out: the least bounds of its streams that do.

Every operator says three things of itself, from its state and its own rules:

    held      what waits in it, and which bounds on its inputs let that out
    passes    what becomes of a row that comes in: whether it leaves at once, or by which bounds
    needed    which bounds on its inputs give that bound on its output

Following these from what is held to the result, and back to the streams, gives the *releases*: each
is a bound for some streams; when all of them have come so far, a row comes out. No release is
another one with more on top, so of each of them nothing less will do.

Where a condition or a join stands between what is held and the result, whether a row passes is
known only when it comes: such a release is not certain. Nothing comes out before it.
Spec: window-queries 1.2, 3.2, 6.1; execution-model 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from penstock.model.punctuation import Punctuation, is_latest
from penstock.model.releases import Bounds, Release, Releases, least, minimal
from penstock.model.timestamps import BEGINNING, END

if TYPE_CHECKING:
    from penstock.kernel.buffer import Cursor
    from penstock.kernel.graph import GraphNode

Times: TypeAlias = Mapping[str, int | None]
"""Of a row to come: its values in columns that progress, or less; None: it has NULL there."""


class NotKnown(Exception):
    """An operator that cannot say what it waits for."""


@dataclass(frozen=True)
class Need:
    """A bound on a column of one input."""

    port: int
    on: str
    bound: int


@dataclass(frozen=True)
class Needs:
    """All of these bounds together, or others `instead`.

    Not certain: they may do, and less will not.
    """

    needs: tuple[Need, ...] = ()
    certain: bool = True
    instead: Needs | None = None


@dataclass(frozen=True)
class Waiting:
    """A row that comes out when the needs are met."""

    needs: tuple[Need, ...]
    times: Times
    certain: bool = True


@dataclass(frozen=True)
class _Outcome:
    """A row that some operator would put out."""

    bounds: Bounds
    times: Times
    certain: bool

    def within(self, other: _Outcome) -> bool:
        return Release(self.bounds).within(Release(other.bounds)) and all(
            name in self.times and _at_most(self.times[name], value)
            for name, value in other.times.items()
        )


def _at_most(one: int | None, other: int | None) -> bool:
    return one == other or (one is not None and other is not None and one <= other)


def releases(
    node: GraphNode, streams: Mapping[GraphNode, str], standing: Callable[[str, str], int]
) -> Releases:
    """What lets the next row of a node out.

    `standing` is the bound of a stream on a column.
    """
    search = _Search(streams, standing)
    outcomes = search.outcomes(node)
    found = least(Release(outcome.bounds, outcome.certain) for outcome in outcomes)
    return Releases(tuple(found), search.known)


@dataclass
class _Search:
    streams: Mapping[GraphNode, str]
    standing: Callable[[str, str], int]
    known: bool = True
    _found: dict[int, list[_Outcome]] = field(default_factory=dict)

    def outcomes(self, node: GraphNode) -> list[_Outcome]:
        """Rows that a node would put out, each with the bounds that let it."""
        while node.is_fork:
            [node] = node.producers
        if id(node) not in self._found:
            self._found[id(node)] = minimal(self._outcomes(node), _Outcome.within)
        return self._found[id(node)]

    def _outcomes(self, node: GraphNode) -> list[_Outcome]:
        operator = node.operator
        if operator is None:
            return []
        found: list[_Outcome] = []
        try:
            for waiting in operator.held(node.inputs):
                found += self._outcome(node, waiting, {}, True)
        except NotKnown:
            self.known = False
        for port, producer in enumerate(node.producers):
            for row in self.outcomes(producer):
                try:
                    for waiting in operator.passes(port, row.times):
                        found += self._outcome(node, waiting, row.bounds, row.certain)
                except NotKnown:
                    self.known = False
        return found

    def _outcome(
        self, node: GraphNode, waiting: Waiting, before: Bounds, certain: bool
    ) -> list[_Outcome]:
        needs = Needs(waiting.needs, waiting.certain and certain)
        return [
            _Outcome(_both(before, bounds), waiting.times, certain)
            for bounds, certain in self._resolve(node, needs)
        ]

    def _resolve(self, node: GraphNode, needs: Needs | None) -> list[tuple[Bounds, bool]]:
        """Needs of an operator as bounds of streams, any of which will do; none: no bounds will."""
        if needs is None:
            return []
        found: list[tuple[Bounds, bool]] = [({}, needs.certain)]
        for need in needs.needs:
            found = [
                (_both(bounds, more), certain and sure)
                for more, sure in self._resolve_one(node, need)
                for bounds, certain in found
            ]
        return found + self._resolve(node, needs.instead)

    def _resolve_one(self, node: GraphNode, need: Need) -> list[tuple[Bounds, bool]]:
        assert node.operator is not None
        if node.operator.known(need.port, need.on) >= need.bound:
            return [({}, True)]
        if _queued(node.inputs[need.port], need.on) >= need.bound:
            return [({}, True)]  # it is there, and behind what waits
        producer = node.producers[need.port]
        while producer.is_fork:
            [producer] = producer.producers
        if producer.operator is not None:
            return self._resolve(producer, producer.operator.needed(need.on, need.bound))
        if is_latest(need.on):
            return []  # streams speak of their columns one by one
        stream = self.streams[producer]
        standing = self.standing(stream, need.on)
        if standing >= END:
            return []
        # One that it has sent already, and nobody told us, will not be told again.
        return [({(stream, need.on): min(max(need.bound, standing + 1), END)}, True)]


def _queued(cursor: Cursor, on: str) -> int:
    """The bound among the items that were not taken yet."""
    if cursor.empty:
        return BEGINNING
    items = (item for item in cursor.unread() if isinstance(item, Punctuation))
    bounds = (item.bound for item in items if item.on == on and not item.where)
    return max(bounds, default=BEGINNING)


def _both(one: Bounds, other: Bounds) -> Bounds:
    if not one or not other:
        return one or other
    keys = {**one, **other}
    return {key: max(one.get(key, BEGINNING), other.get(key, BEGINNING)) for key in keys}
