"""Sequence: rows of a step, each behind rows of the steps before it.

A sequence of several steps stands on that of all but the last: SEQ(a, b, c) is a sequence of
SEQ(a, b) and c, and a row of SEQ(a, b) has the time of its last step. So sequences that begin alike
share that. Columns come out as those of a join do, as `name.column`.

Rows of one time are in the order of their columns (`model.sequences.tie_break`), so all columns
are read, whichever are asked for: which row is the latest must not depend on that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.errors import CannotJoin
from penstock.model.expressions import Expression
from penstock.model.joins import qualified
from penstock.model.schema import ROW_NUM, Column, Schema
from penstock.model.sequences import SequenceMode
from penstock.model.timestamps import format_duration
from penstock.model.types import Type
from penstock.plan.nodes.node import ChildColumn, Node, check_pair, check_progress, check_refs


@dataclass(frozen=True)
class Sequence(Node):
    """Rows of the last step, each with rows of the steps before it that its mode gives it.

    `times` are those of all steps, as the sequence has them. `within`: how far the last may lie
    behind the first; None: any time. The last time progresses, and with `within` all of them do.
    """

    inputs: tuple[Node, Node]  # the steps before, and the last
    names: tuple[str, str]
    times: tuple[str, ...]
    mode: SequenceMode
    within: int | None = None
    equalities: tuple[tuple[str, str], ...] = ()  # a column of a step before, and one of the last
    conditions: tuple[Expression, ...] = ()

    def __post_init__(self) -> None:
        for number, time in ((0, self.times[-2]), (1, self.times[-1])):
            child, own = self.origin(time)
            assert child == number, f"{time} is not the time of input {number}"
            check_progress(self.inputs[child], own)
        kinds = {self._column(time).type is Type.TIMESTAMP for time in self.times}
        if len(kinds) > 1:
            raise CannotJoin(
                f"the steps cannot be put in order: {' and '.join(map(self._typed, self.times))}",
                hint="the times of all steps must be of the same kind",
            )
        for pair in self.equalities:
            check_pair(*map(self._column, pair))
        for condition in self.conditions:
            check_refs(self.schema, condition)

    @cached_property
    def schema(self) -> Schema:
        columns = [
            Column(qualified(name, column.name), column.type)
            for name, child in zip(self.names, self.inputs, strict=True)
            for column in child.schema
        ]
        return Schema.of(columns, self.times if self.within is not None else self.times[-1:])

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
            _ = self.schema[column]  # says which there are
        return self._origins[column]

    def _column(self, column: str) -> Column:
        child, own = self.origin(column)
        return self.inputs[child].schema[own]

    def _typed(self, column: str) -> str:
        return f"`{column}` is {self._column(column).type}"

    @property
    def on(self) -> tuple[str, str]:
        """The column of each input that carries its time, as that calls it."""
        return self.origin(self.times[-2]).column, self.origin(self.times[-1]).column

    @property
    def timed(self) -> tuple[tuple[Node, str], ...]:
        """The inputs, each with the column that carries its time."""
        return tuple(zip(self.inputs, self.on, strict=True))

    @cached_property
    def keys(self) -> tuple[tuple[ChildColumn, ChildColumn], ...]:
        """Columns of one type, of one input and of the other, that must be equal."""
        pairs = ((self.origin(mine), self.origin(theirs)) for mine, theirs in self.equalities)
        return tuple(
            pair
            for pair in pairs
            if self.inputs[0].schema[pair[0].column].type
            is self.inputs[1].schema[pair[1].column].type
        )

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        own = self.origin(column)
        equal = (each for pair in self.keys if own in pair for each in pair)
        return tuple(dict.fromkeys((own, *equal)))

    @property
    def order(self) -> frozenset[str]:
        """Rows leave as those of the last step come, or in the order of time, by turns."""
        kept = self.mode.in_turn or self.inputs[1].order == {self.on[1]}
        return frozenset(self.times[-1:] if kept else ())

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        needed = used.union(*(condition.refs for condition in self.conditions))
        return tuple(
            frozenset(
                c
                for c in child.schema.names
                if c.rpartition(".")[2] != ROW_NUM or qualified(name, c) in needed
            )
            for name, child in zip(self.names, self.inputs, strict=True)
        )

    @property
    def label(self) -> str:
        steps = ", ".join(time.rpartition(".")[0] for time in self.times)
        terms = [f"{left} = {right}" for left, right in self.equalities]
        where = " AND ".join([*terms, *map(str, self.conditions)])
        return f"Sequence {self.mode.value} {steps}{self._span}{' where ' if where else ''}{where}"

    @property
    def _span(self) -> str:
        if self.within is None:
            return ""
        is_time = self._column(self.times[-1]).type is Type.TIMESTAMP
        return f" within {format_duration(self.within) if is_time else self.within}"
