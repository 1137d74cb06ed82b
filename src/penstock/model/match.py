"""What MATCH_RECOGNIZE asks for, as a value: partitions, order, pattern, conditions, measures.

Conditions and measures are expressions with three more leaves, which speak of rows of the match:

    Navigation       a value in one row: the first, the last or the n-th of a variable, or a row so
                     many before that one in its partition
    MatchAggregate   an aggregate over the rows of a variable, or over all of the match
    Classifier       the variable of the last row

In a condition the match ends with the row that is asked about, which counts as one of the
variable's. A navigation without a variable to the last row is that row itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Expression, Named, Ref, substituted
from penstock.model.row_patterns import RowPattern
from penstock.model.types import Type

#: Aggregates that a condition can ask for: they are known row by row.
RUNNING_AGGREGATES = ("count", "sum", "avg", "min", "max")


@dataclass(frozen=True)
class Navigation(Expression):
    """`value` in the last (or first) row of a variable, `offset` rows of it further back (on).

    None: of all rows. `back`: so many rows before that one, of the partition. NULL: no such row.
    """

    value: Expression
    variable: str | None = None
    last: bool = True
    offset: int = 0
    back: int = 0

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value,)

    @property
    def is_of_current_row(self) -> bool:
        """Whether it is known without the match, when its last row is."""
        return self.variable is None and self.last and self.offset == 0

    def __str__(self) -> str:
        text = _of(self.variable, self.value)
        if not self.last or self.offset:
            more = f", {self.offset}" if self.offset else ""
            text = f"{'LAST' if self.last else 'FIRST'}({text}{more})"
        if self.back:
            text = f"PREV({text}{f', {self.back}' if self.back > 1 else ''})"
        return text


@dataclass(frozen=True)
class MatchAggregate(Expression):
    """An aggregate over the rows of a variable; None: over all rows of the match."""

    aggregate: Aggregate
    variable: str | None = None

    @property
    def type(self) -> Type:
        return self.aggregate.type

    @cached_property
    def refs(self) -> frozenset[str]:
        return self.aggregate.refs

    def __str__(self) -> str:
        if self.variable is None:
            return str(self.aggregate)
        of = self.aggregate.argument
        argument = f"{self.variable}.*" if of is None else _of(self.variable, of)
        return f"{self.aggregate.function}({argument})"


@dataclass(frozen=True)
class Classifier(Expression):
    """The name of the variable that the last row is of."""

    @property
    def type(self) -> Type:
        return Type.STRING

    def __str__(self) -> str:
        return "CLASSIFIER()"


@dataclass(frozen=True)
class SortColumn:
    """A column by which rows of equal time are ordered; NULL counts as the least."""

    column: str
    descending: bool = False

    def __str__(self) -> str:
        return f"{self.column} DESC" if self.descending else self.column


@dataclass(frozen=True)
class Skip:
    """Where the search goes on behind a match.

    `to`: "past" its last row, the "next" row behind its first, or the "first" or "last" row of the
    variable. Where that is no row of the match, or its first, it is the row behind the first: the
    same match would be found again.
    """

    to: str = "past"
    variable: str | None = None

    def __str__(self) -> str:
        if self.to in _SKIPS:
            return f"AFTER MATCH SKIP {_SKIPS[self.to]}"
        return f"AFTER MATCH SKIP TO {self.to.upper()} {self.variable}"


_SKIPS = {"past": "PAST LAST ROW", "next": "TO NEXT ROW"}


@dataclass(frozen=True)
class MatchDefinition:
    """The whole clause. Rows are ordered by `on`, then `further`, then all else that is read."""

    partition: tuple[str, ...]
    on: str
    further: tuple[SortColumn, ...]
    pattern: RowPattern
    define: tuple[tuple[str, Expression], ...]
    measures: tuple[Named, ...]
    skip: Skip = Skip()
    within: int | None = None  # the last row is at most so much later than the first
    most_rows: int | None = None  # an attempt takes so many rows at most

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return self.pattern.variables()

    @property
    def dependent(self) -> tuple[str, ...]:
        """The variables whose conditions depend on the match so far."""
        return tuple(variable for variable, condition in self.define if not is_of_rows(condition))

    @property
    def looks_at_rows(self) -> bool:
        """Whether all conditions are about a row and those before it, whatever the match."""
        return not self.dependent

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, those by which rows are sorted first."""
        sorted_by = (*self.partition, self.on, *(each.column for each in self.further))
        read = (*(condition for _, condition in self.define), *self.measures)
        others = frozenset[str]().union(*(expression.refs for expression in read))
        return tuple(dict.fromkeys((*sorted_by, *sorted(others))))

    @cached_property
    def order(self) -> tuple[SortColumn, ...]:
        """How the rows of a partition are sorted: rows that are equal here are equal to us."""
        given = {each.column for each in self.further} | {self.on, *self.partition}
        rest = (SortColumn(name) for name in self.columns if name not in given)
        return (SortColumn(self.on), *self.further, *rest)

    @cached_property
    def times(self) -> dict[str, Navigation]:
        """The measures that are times of rows of the match, and never NULL: they progress."""
        return {
            measure.name: value
            for measure in self.measures
            if isinstance(value := measure.value, Navigation)
            and isinstance(value.value, Ref)
            and value.value.name == self.on
            and value.back == value.offset == 0
            and (value.variable is None or self.pattern.always_has(value.variable))
        }

    @property
    def decides_at_once(self) -> bool:
        """Whether a match is known to be one as soon as its last row is: all are equally long."""
        return self.pattern.least_rows == self.pattern.most_rows


def leaves(expression: Expression) -> Iterator[Navigation | MatchAggregate | Classifier]:
    """What an expression asks of the match."""
    if isinstance(expression, Navigation | MatchAggregate | Classifier):
        yield expression
        return
    for child in expression.children:
        yield from leaves(child)


def replaced(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with something else for each leaf that speaks of the match."""
    return substituted(
        expression,
        lambda part: (
            change(part) if isinstance(part, Navigation | MatchAggregate | Classifier) else part
        ),
    )


def is_of_rows(condition: Expression) -> bool:
    """Whether it is about a row and those before it alone, whatever the match."""
    return all(isinstance(e, Navigation) and e.is_of_current_row for e in leaves(condition))


def _of(variable: str | None, value: Expression) -> str:
    if variable is None:
        return str(value)
    return f"{variable}.{value}" if isinstance(value, Ref) else f"{variable}: {value}"
