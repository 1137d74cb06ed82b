"""Partitioning: by which columns of each stream rows may be spread over groups.

Rows that meet in a window aggregate or join must have come to the same group, from whatever stream.
So an aggregate asks that its streams be spread by its group-by columns, and a join by the columns
that must be equal, each traced down to the column it is in every one of them; an operator that
looks at single rows asks for nothing. Row numbers count all rows of a stream, which only one group
can do.

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
from penstock.model.joins import JoinKind
from penstock.model.schema import ROW_NUM, Column
from penstock.optimizer.rules.prune import of_stream
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.windows import EndedByRows, Landmark, Session

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
    # In the order of their names, so that what is said of them is the same every time.
    streams = sorted({stream for plan in plans for stream in _streams(plan)})
    found: dict[str, Keys] = dict.fromkeys(streams)
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
                keys = (_trace(node.input, group) for group in _groups(node))
                yield Meeting(_streams(node), _distinct(key for key in keys if key is not None))
            case nodes.WindowJoin():
                keys = (_trace_equality(node, pair) for pair in node.equalities)
                yield Meeting(_streams(node), _distinct(key for key in keys if key is not None))
    for stream in _numbered(plan, frozenset(plan.schema.names)):
        yield Meeting(frozenset({stream}), ())


def _groups(node: nodes.WindowAggregate) -> tuple[str, ...]:
    """The columns by which an aggregate's rows can be told apart before it sees them."""
    match node.window:
        case Landmark() | EndedByRows():
            return ()  # rows of all groups decide which windows there are
        case Session() as window:
            return window.partition
    return node.groups


def _streams(plan: nodes.Node) -> frozenset[str]:
    return frozenset(n.stream.name for n in walk(plan) if isinstance(n, nodes.Source))


def _trace(node: nodes.Node, column: str) -> Key | None:
    """The column of each stream that a column is; None if it is computed somewhere."""
    match node:
        case nodes.Source():
            # What is stamped on entry is not there yet when rows are spread.
            arriving = (c.name for c in node.stream.arriving)
            return {node.stream.name: column} if column in arriving else None
        case nodes.Select() | nodes.Ordered():
            return _trace(node.input, column)
        case nodes.Project():
            value = next(c.value for c in node.columns if c.name == column)
            return _trace(node.input, value.name) if isinstance(value, Ref) else None
        case nodes.Union():
            return _trace_union(node, column)
        case nodes.WindowAggregate() if column in node.groups:
            return _trace(node.input, column)
        case nodes.WindowJoin():
            return _trace_join(node, column)
        case nodes.TableJoin():
            return _trace_table_join(node, column)
    return None


#: Sides of which a join can give rows with NULL for every column: that is not what they were
#: spread by.
_PADDED = {JoinKind.LEFT: (1,), JoinKind.RIGHT: (0,), JoinKind.FULL: (0, 1)}


def _trace_join(join: nodes.WindowJoin, column: str) -> Key | None:
    """A column that must be equal on both sides is a column of both."""
    for pair in join.equalities:
        for side, (name, own) in enumerate(zip(join.names, pair, strict=True)):
            if column == f"{name}.{own}" and side not in _PADDED.get(join.kind, ()):
                return _trace_equality(join, pair)
    return None


def _trace_table_join(join: nodes.TableJoin, column: str) -> Key | None:
    """A static table is in every group, so only the stream's own columns can be spread by."""
    name, table = join.names
    own = column.removeprefix(f"{name}.")
    if column == f"{name}.{own}" and own in join.input.schema.names:
        return _trace(join.input, own)
    for mine, theirs in join.equalities:
        alike = join.input.schema[mine].type is join.table.schema[theirs].type
        # Where no partner was found the table's column is NULL, and not what rows were spread by.
        if column == f"{table}.{theirs}" and alike and join.kind is JoinKind.INNER:
            return _trace(join.input, mine)
    return None


def _trace_equality(join: nodes.WindowJoin, pair: tuple[str, str]) -> Key | None:
    sides = zip(join.children, pair, strict=True)
    return _trace_all([(side, side.schema[name]) for side, name in sides])


def _trace_union(union: nodes.Union, column: str) -> Key | None:
    place = union.schema.names.index(column)
    parts = [(part, part.schema.columns[place]) for part in union.parts]
    return _trace_all(parts) if parts[0][1].type is union.schema.columns[place].type else None


def _trace_all(columns: list[tuple[nodes.Node, Column]]) -> Key | None:
    """Columns of several inputs as one key."""
    traced: Key = {}
    for node, column in columns:
        key = _trace(node, column.name)
        # Equal values of different types do not have equal hashes.
        if key is None or column.type is not columns[0][1].type:
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
        case nodes.Ordered():
            yield from _numbered(node.input, used | {node.on})
        case nodes.Project():
            refs = (name for c in node.columns if c.name in used for name in c.value.refs)
            yield from _numbered(node.input, frozenset(refs))
        case nodes.Union():
            places = [node.schema.names.index(name) for name in used]
            for part in node.parts:
                names = frozenset(part.schema.names[place] for place in places)
                yield from _numbered(part, names)
        case nodes.WindowAggregate():
            refs = (name for result in node.results for name in result.aggregate.refs)
            below = frozenset((*node.groups, *node.window.columns(), *refs))
            yield from _numbered(node.input, below)
        case nodes.TableJoin():
            yield from _numbered(node.input, of_stream(node, used))
        case nodes.WindowJoin():
            residual = node.residual.refs if node.residual is not None else frozenset[str]()
            for place, (name, side) in enumerate(zip(node.names, node.children, strict=True)):
                own = {
                    column.removeprefix(f"{name}.")
                    for column in used | residual
                    if column.startswith(f"{name}.")
                }
                keys = {pair[place] for pair in node.equalities}
                yield from _numbered(side, frozenset({*own, *keys, node.on[place]}))


def _distinct(keys: Iterator[Key]) -> tuple[Key, ...]:
    found: list[Key] = []
    for key in keys:
        if key not in found:
            found.append(key)
    return tuple(found)
