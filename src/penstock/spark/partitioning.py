"""Partitioning: by which columns of each stream rows may be spread over groups.

Rows that meet in a window aggregate must have come to the same group, from whatever stream. So an
aggregate asks that its streams be spread by its group-by columns, each traced down to the column it
is in every one of them; an operator that looks at single rows asks for nothing. Row numbers count
all rows of a stream, which only one group can do.

    None      no operator cares: rows are spread as they come
    ()        everything must meet in one group
    (a, b)    rows with equal a and b must meet, and those of other streams with equal columns there

Several aggregates are content with the keys they have in common. Keys belong together across
streams, place by place: if one stream has to give one up, so have all that it meets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from penstock.model.expressions import Ref
from penstock.model.schema import ROW_NUM
from penstock.plan import nodes
from penstock.plan.graph import walk

Keys: TypeAlias = tuple[str, ...] | None

#: One key: in each stream, the column that it is there.
Key: TypeAlias = dict[str, str]


@dataclass(frozen=True)
class Meeting:
    """Streams whose rows meet, and the keys by which they may all be spread."""

    streams: frozenset[str]
    keys: tuple[Key, ...]

    def __and__(self, other: Meeting) -> Meeting:
        """What satisfies both."""
        both = self.streams & other.streams
        joined = (
            {**mine, **theirs}
            for mine in self.keys
            for theirs in other.keys
            if all(mine[stream] == theirs[stream] for stream in both)
        )
        return Meeting(self.streams | other.streams, _distinct(joined))


def partitioning(*plans: nodes.Node) -> dict[str, Keys]:
    """For each stream of the plans, the columns its rows must be spread by.

    Streams that meet have as many columns, and corresponding ones in the same places.
    """
    found: dict[str, Keys] = dict.fromkeys(stream for plan in plans for stream in _streams(plan))
    meetings: list[Meeting] = []
    for meeting in (meeting for plan in plans for meeting in _meetings(plan)):
        apart = []
        for other in meetings:
            if meeting.streams & other.streams:
                meeting &= other
            else:
                apart.append(other)
        meetings = [*apart, meeting]
    for meeting in meetings:
        for stream in meeting.streams:
            found[stream] = tuple(key[stream] for key in meeting.keys)
    return found


def _meetings(plan: nodes.Node) -> Iterator[Meeting]:
    """What each part of a plan asks for."""
    for node in walk(plan):
        match node:
            case nodes.WindowAggregate():
                keys = (_trace(node.input, group) for group in node.groups)
                yield Meeting(_streams(node), _distinct(key for key in keys if key is not None))
            case nodes.WindowJoin():
                yield Meeting(_streams(node), ())
    for stream in _numbered(plan, frozenset(plan.schema.names)):
        yield Meeting(frozenset({stream}), ())


def _streams(plan: nodes.Node) -> frozenset[str]:
    return frozenset(n.stream.name for n in walk(plan) if isinstance(n, nodes.Source))


def _trace(node: nodes.Node, column: str) -> Key | None:
    """The column of each stream that a column is; None if it is computed somewhere."""
    match node:
        case nodes.Source():
            # What is stamped on entry is not there yet when rows are spread.
            arriving = (c.name for c in node.stream.arriving)
            return {node.stream.name: column} if column in arriving else None
        case nodes.Select():
            return _trace(node.input, column)
        case nodes.Project():
            value = next(c.value for c in node.columns if c.name == column)
            return _trace(node.input, value.name) if isinstance(value, Ref) else None
        case nodes.Union():
            return _trace_union(node, column)
        case nodes.WindowAggregate() if column in node.groups:
            return _trace(node.input, column)
    return None


def _trace_union(union: nodes.Union, column: str) -> Key | None:
    place = union.schema.names.index(column)
    traced: Key = {}
    for part in union.parts:
        found = part.schema.columns[place]
        key = _trace(part, found.name)
        # Equal values of different types do not have equal hashes.
        if key is None or found.type is not union.schema.columns[place].type:
            return None
        if any(traced.get(stream, name) != name for stream, name in key.items()):
            return None  # one stream, twice, by different columns
        traced |= key
    return traced


def _numbered(node: nodes.Node, used: frozenset[str]) -> Iterator[str]:
    """The streams whose row numbers are looked at, where of a node's columns these are used."""
    match node:
        case nodes.Source():
            if ROW_NUM in used:
                yield node.stream.name
        case nodes.Select():
            yield from _numbered(node.input, used | node.predicate.refs)
        case nodes.Project():
            refs = (name for c in node.columns if c.name in used for name in c.value.refs)
            yield from _numbered(node.input, frozenset(refs))
        case nodes.Union():
            places = [node.schema.names.index(name) for name in used]
            for part in node.parts:
                names = frozenset(part.schema.names[place] for place in places)
                yield from _numbered(part, names)
        case nodes.WindowAggregate():
            arguments = (r.aggregate.argument for r in node.results)
            refs = (name for a in arguments if a is not None for name in a.refs)
            below = frozenset((*node.groups, *node.window.columns(), *refs))
            yield from _numbered(node.input, below)
        # A join has one group anyway.


def _distinct(keys: Iterator[Key]) -> tuple[Key, ...]:
    found: list[Key] = []
    for key in keys:
        if key not in found:
            found.append(key)
    return tuple(found)
