"""Partitioning: by which columns of each stream rows may be distributed over groups.

Rows that meet in a window aggregate or join must have come to the same group, from whatever stream.
So an aggregate needs its streams partitioned by its group-by columns, and a join by the columns
that must be equal, each traced down to the column it is in every one of them; an operator that
looks at single rows asks for nothing. Row numbers count all rows of a stream, which only one group
can do.

    None      no partitioning needed
    ()        everything must meet in one group
    (a, b)    rows with equal a and b must meet, and those of other streams with equal columns there

Several aggregates use the keys they have in common. Keys belong together across
streams, place by place: if one stream has to give one up, so have all that it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias

from penstock.model.schema import ROW_NUM
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.plan.graph import columns_used, streams_of, walk
from penstock.windows import EndedByRows, Landmark, Session

PartitionKeys: TypeAlias = tuple[str, ...] | None

#: One key: in each stream, the column that it is there.
Key: TypeAlias = dict[str, str]


@dataclass(frozen=True)
class Meeting:
    """Streams whose rows meet, and the keys by which they may all be partitioned."""

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


@dataclass(frozen=True)
class Partitioning:
    """What plans ask for, put together: the streams that they read, and which of these meet."""

    streams: frozenset[str] = frozenset()
    meetings: tuple[Meeting, ...] = ()

    @classmethod
    def of(cls, plan: nodes.Node) -> Partitioning:
        found = cls(frozenset(streams_of(plan)))
        for meeting in _meetings(plan):
            found = found._with(meeting)
        return found

    def __or__(self, other: Partitioning) -> Partitioning:
        """What satisfies both."""
        found = Partitioning(self.streams | other.streams, self.meetings)
        for meeting in other.meetings:
            found = found._with(meeting)
        return found

    def _with(self, meeting: Meeting) -> Partitioning:
        apart = []
        for other in self.meetings:
            if meeting.streams & other.streams:
                meeting &= other
            else:
                apart.append(other)
        return Partitioning(self.streams, (*apart, meeting))

    @property
    def keys(self) -> dict[str, PartitionKeys]:
        """For each stream, the columns its rows must be spread by.

        Streams that meet have as many columns, and corresponding ones in the same places.
        """
        # In the order of their names, so that what is said of them is the same every time.
        found: dict[str, PartitionKeys] = dict.fromkeys(sorted(self.streams))
        for meeting in self.meetings:
            for stream in meeting.streams:
                found[stream] = tuple(key[stream] for key in meeting.keys)
        return found


def partitioning(*plans: nodes.Node) -> dict[str, PartitionKeys]:
    """For each stream of the plans, the columns its rows must be spread by."""
    return reduce(or_, map(Partitioning.of, plans), Partitioning()).keys


def suits(keys: Mapping[str, PartitionKeys], plan: nodes.Node) -> bool:
    """Whether rows that are spread by these keys come together as a plan needs them.

    They may be spread by fewer keys than the plan would allow, but not by others.
    """
    if not streams_of(plan).keys() <= keys.keys():
        return False
    for meeting in _meetings(plan):
        spread = [keys[stream] for stream in meeting.streams]
        if None in spread or len({len(each) for each in spread if each is not None}) > 1:
            return False
        places = range(len(next(iter(spread)) or ()))
        together = ({s: (keys[s] or ())[place] for s in meeting.streams} for place in places)
        if not all(key in meeting.keys for key in together):
            return False
    return True


def _meetings(plan: nodes.Node) -> Iterator[Meeting]:
    """What each part of a plan asks for."""
    for node in walk(plan):
        match node:
            case nodes.WindowAggregate():
                keys = [_trace(node.input, group) for group in _groups(node)]
            case nodes.MatchRecognize():
                keys = [_trace(node.input, column) for column in node.match.partition]
            case nodes.Numbered():
                keys = []  # only one group can count them all
            case nodes.Join() | nodes.Sequence():
                keys = [_trace_key(node, group) for group in node.keys]
            case nodes.Source() | nodes.Select() | nodes.Project() | nodes.Union():
                continue
            case nodes.Explode():
                continue  # what it adds is no column of a stream, so no key either
            case nodes.TableJoin() | nodes.Table() | nodes.Ordered():
                continue  # every group has all of a table
            case _:
                raise nodes.unknown(node)
        yield Meeting(frozenset(streams_of(node)), _distinct(keys))
    for node, used in columns_used([plan]).items():
        if isinstance(node, nodes.Source) and ROW_NUM in used:
            yield Meeting(frozenset({node.stream.name}), ())


def _groups(node: nodes.WindowAggregate) -> tuple[str, ...]:
    """The columns by which an aggregate's rows can be told apart before it sees them."""
    match node.window:
        case Landmark() | EndedByRows():
            return ()  # rows of all groups decide which windows there are
        case Session() as window:
            return window.partition
    return node.groups


def _trace(node: nodes.Node, column: str) -> Key | None:
    """The column of each stream that a column is; None if it is computed somewhere."""
    if isinstance(node, nodes.Source):
        # What is stamped on entry is not there yet when rows are spread.
        known = (c.name for c in node.stream.exchanged)
        return {node.stream.name: column} if column in known else None
    return _trace_key(node, node.lineage(column), node.schema[column].type)


def _trace_key(
    node: nodes.Node, columns: Sequence[nodes.ChildColumn], of: Type | None = None
) -> Key | None:
    """Columns of all children of a node, which have equal values there, as one key."""
    # Of columns that are equal within one child, any will do.
    first = {each.child: each.column for each in reversed(columns)}
    if len(first) != len(node.children):
        return None  # rows of some child could not be told apart by it
    traced: Key = {}
    for number, column in sorted(first.items()):
        child = node.children[number]
        key = _trace(child, column)
        # Equal values of different types do not have equal hashes.
        if key is None or child.schema[column].type is not (of or child.schema[column].type):
            return None
        if any(traced.get(stream, name) != name for stream, name in key.items()):
            return None  # one stream, twice, by different columns
        traced |= key
    return traced


def _distinct(keys: Iterable[Key | None]) -> tuple[Key, ...]:
    """The keys that are there, each once."""
    found: list[Key] = []
    for key in keys:
        if key is not None and key not in found:
            found.append(key)
    return tuple(found)
