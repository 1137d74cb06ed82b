"""Join: rows of several inputs that lie near each other in time.

All columns come out as `name.column`, however many inputs there are. An inner join has as many
inputs as were written; how many of them meet at once is the optimizer's choice, which makes joins
of joins of it, and so is in which order rows ask for partners (`orders`). Joins that
keep rows without a partner have two inputs. A join or a table join that is an input has no name of
its own: its columns have theirs already.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from penstock.errors import CannotJoin
from penstock.model.expressions import Call, Expression
from penstock.model.joins import JoinKind, qualified
from penstock.model.schema import Column, Schema
from penstock.plan.nodes.node import ChildColumn, Node, check_pair, check_progress, check_refs
from penstock.plan.nodes.spread import Bands, spreads
from penstock.windows import JoinBand


@dataclass(frozen=True)
class Edge:
    """How far apart two inputs may lie: the columns that carry their time, as the join has them."""

    left: str
    right: str
    band: JoinBand


@dataclass(frozen=True)
class Join(Node):
    """One row of each input, such that all lie within bands of time and match.

    Edges make a tree: each brings in one input more, the inputs in their order. The times of all
    inputs progress, and columns of theirs that lie within bands of these; of a semi or anti join
    only the left time.
    """

    inputs: tuple[Node, ...]
    names: tuple[str, ...]
    edges: tuple[Edge, ...]
    equalities: tuple[tuple[str, str], ...] = ()  # a column of one input and one of a later input
    conditions: tuple[Expression, ...] = ()
    kind: JoinKind = JoinKind.INNER
    # of each input, the others in the order in which its rows meet them; none: as is best then
    orders: tuple[tuple[int, ...], ...] = ()
    note: str = field(default="", compare=False)  # why it has its shape

    def __post_init__(self) -> None:
        assert self.kind is JoinKind.INNER or len(self.inputs) == 2, f"{self.kind} of several"
        for name in self.names:
            if name and self.names.count(name) > 1:
                raise CannotJoin(
                    f"two inputs of the join are called `{name}`",
                    hint=f"name one of them: {name} AS other",
                )
        for number, edge in enumerate(self.edges, start=1):
            for column, inputs in ((edge.left, range(number)), (edge.right, [number])):
                child, own = self.origin(column)
                assert child in inputs, f"{edge} does not bring in input {number}"
                check_progress(self.inputs[child], own)
        for pair in self.equalities:
            check_pair(*map(self._column, pair))
        for condition in self.conditions:
            check_refs(self._all, condition)

    @cached_property
    def _all(self) -> Schema:
        columns = [
            Column(qualified(name, column.name), column.type)
            for name, child in zip(self.names, self.inputs, strict=True)
            for column in child.schema
        ]
        progressing = {*self.times, *self.carried}
        return Schema.of(columns, progressing, filter(self._may_be_null, progressing))

    @cached_property
    def schema(self) -> Schema:
        if self.kind.is_one_sided:
            on = self.edges[0].left
            left = self._all.columns[: len(self.inputs[0].schema)]
            return Schema.of(left, (on,), filter(self._may_be_null, (on,)))
        return self._all

    @cached_property
    def carried(self) -> dict[str, Bands]:
        """Columns that progress beside the times, and how far from the time of their input."""
        found = {}
        for time in () if self.kind.is_one_sided else self.times:
            number, on = self._origins[time]
            child = self.inputs[number]
            for column, bands in spreads(child, on).items():
                if column != on and column in child.schema.progressing:
                    found[qualified(self.names[number], column)] = bands
        return found

    # -- columns ------------------------------------------------------------------------------

    @cached_property
    def _origins(self) -> dict[str, ChildColumn]:
        return {
            qualified(name, column): ChildColumn(number, column)
            for number, (name, child) in enumerate(zip(self.names, self.inputs, strict=True))
            for column in child.schema.names
        }

    def origin(self, column: str) -> ChildColumn:
        """The input that a column is of, and what it is called there."""
        if column not in self._origins:
            _ = self._all[column]  # says which there are
        return self._origins[column]

    def _may_be_null(self, column: str) -> bool:
        child, own = self._origins[column]
        return own in self.inputs[child].schema.nullable or self.is_padded(child)

    def is_padded(self, child: int) -> bool:
        """Whether rows may have NULL in place of a child's, for want of a partner."""
        return self.kind is not JoinKind.INNER and self.kind.keeps_alone(1 - child)

    def _column(self, column: str) -> Column:
        child, own = self.origin(column)
        return self.inputs[child].schema[own]

    def step(self, columns: frozenset[str]) -> int:
        """The edge, counted from 1, behind which inputs are there that have all these columns."""
        return max((1, *(self.origin(column).child for column in columns)))

    @property
    def times(self) -> tuple[str, ...]:
        """The column of each input that carries its time, as the join has it."""
        return (self.edges[0].left, *(edge.right for edge in self.edges))

    @cached_property
    def on(self) -> tuple[str, ...]:
        """The column of each input that carries its time, as that calls it."""
        return tuple(self.origin(time).column for time in self.times)

    @property
    def timed(self) -> tuple[tuple[Node, str], ...]:
        """The inputs, each with the column that carries its time."""
        return tuple(zip(self.inputs, self.on, strict=True))

    @cached_property
    def keys(self) -> tuple[tuple[ChildColumn, ...], ...]:
        """Columns of one type that must be equal to each other, directly or through others."""
        groups: list[list[str]] = []
        for pair in self.equalities:
            if self._column(pair[0]).type is self._column(pair[1]).type:
                met = [group for group in groups if set(group) & set(pair)]
                columns = dict.fromkeys((*(each for group in met for each in group), *pair))
                groups = [group for group in groups if group not in met] + [list(columns)]
        return tuple(tuple(map(self.origin, group)) for group in groups)

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        own = self.origin(column)
        if self.is_padded(own.child):
            return ()
        equal = next((group for group in self.keys if own in group), ())
        return (own, *(each for each in equal if each != own))

    @property
    def order(self) -> frozenset[str]:
        return frozenset(self.times) if self.kind is JoinKind.INNER else frozenset()

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        times = (column for edge in self.edges for column in (edge.left, edge.right))
        equal = (column for pair in self.equalities for column in pair)
        needed = used.union(times, equal, *(condition.refs for condition in self.conditions))
        return tuple(
            frozenset(c for c in child.schema.names if qualified(name, c) in needed)
            for name, child in zip(self.names, self.inputs, strict=True)
        )

    @property
    def label(self) -> str:
        edges = (
            f"{_qualifier(edge.left)}, {_qualifier(edge.right)} {edge.band}" for edge in self.edges
        )
        terms = [f"{left} = {right}" for left, right in self.equalities]
        where = " AND ".join([*terms, *map(_in_conjunction, self.conditions)])
        kind = "" if self.kind is JoinKind.INNER else f"{self.kind.value} "
        return f"Join {kind}{'; '.join(edges)}{' where ' if where else ''}{where}"

    @property
    def titles(self) -> tuple[str, ...]:
        """What messages call the inputs."""
        return tuple(map(", ".join, self.names_within))

    @property
    def names_within(self) -> tuple[tuple[str, ...], ...]:
        """By input its name; or, if it is a join itself, the names of those that it joins."""
        return tuple(
            (name,) if name else tuple(dict.fromkeys(map(_qualifier, child.schema.names)))
            for name, child in zip(self.names, self.inputs, strict=True)
        )


def _qualifier(column: str) -> str:
    return column.rpartition(".")[0]


def _in_conjunction(condition: Expression) -> str:
    binds_less = isinstance(condition, Call) and condition.function == "or"
    return f"({condition})" if binds_less else str(condition)
