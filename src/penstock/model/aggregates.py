"""Aggregate calls: one function over one expression.

`count(*)` has no argument. All others skip NULLs and give NULL where nothing is left, except
counts, which give 0, and lists, which are empty. Which functions there are stands in
`aggregate_functions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import TypeMismatch, UnknownName
from penstock.model.aggregate_functions import (
    AGGREGATES,
    DISTINCT_OF,
    SPELLINGS,
    AggregateFunction,
)
from penstock.model.expressions import Expression
from penstock.model.schema import suggest
from penstock.model.types import DecimalType, Type
from penstock.model.user_defined import UserAggregate, check_call


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function over one expression (None: over rows, as in `count(*)`).

    `by` is what a function that looks at the order of rows orders them by; `by_event_time`: the
    query names nothing, so it is the event time of the rows. `user` is set if a user
    has defined the function, `others` are its arguments behind the first.
    """

    function: str
    argument: Expression | None = None
    by: Expression | None = None
    parameters: tuple[float, ...] = ()
    user: UserAggregate | None = None
    others: tuple[Expression, ...] = ()
    by_event_time: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.user is not None:
            check_call(self.user, tuple(each.type for each in self.arguments))
            return
        if self.function not in AGGREGATES:
            raise UnknownName(
                f"no aggregate `{self.function}`", hint=suggest(self.function, SPELLINGS)
            )
        if self.argument is not None:
            self.definition.takes.check(self.function, self.argument, self.argument.type)
        elif self.function != "count":
            raise TypeMismatch(f"{self.function}(*) is not defined", hint="name a column")

    @property
    def definition(self) -> AggregateFunction:
        return AGGREGATES[self.function]

    @property
    def arguments(self) -> tuple[Expression, ...]:
        """What the function is of; nothing, if it is of rows."""
        return () if self.argument is None else (self.argument, *self.others)

    @property
    def type(self) -> Type:
        if self.user is not None:
            return self.user.returns
        given = Type.NULL if self.argument is None else self.argument.type
        return self.definition.gives.of(given)

    @property
    def is_holistic(self) -> bool:
        """Whether what has to be kept of a group grows with its rows."""
        return self.definition.holistic if self.user is None else not self.user.merges

    @property
    def is_condensed(self) -> bool:
        """Whether many rows can become little: a few numbers, or the different values.

        The same ones in whatever order rows come.
        """
        if self.user is not None:
            return self.user.merges
        definition = self.definition
        grows = definition.holistic and not definition.set
        return not (definition.ordered or grows or definition.sketch)

    @property
    def is_invertible(self) -> bool:
        """Whether rows can be taken away again, exactly."""
        if self.user is not None:
            return self.user.merges and self.user.subtracts
        if self.argument is None or self.function == "count":
            return True
        of = self.argument.type
        is_exact = isinstance(of, DecimalType) and self.function in ("sum", "avg")
        return is_exact or of in self.definition.invertible_of

    @property
    def refs(self) -> frozenset[str]:
        """The columns that are read."""
        read = (*self.arguments, *(() if self.by is None else (self.by,)))
        return frozenset(name for expression in read for name in expression.refs)

    def __str__(self) -> str:
        if self.argument is None:
            return f"{self.function}(*)"
        if self.function in DISTINCT_OF:
            return f"{DISTINCT_OF[self.function]}(DISTINCT {self.argument})"
        if self.user is not None:
            return f"{self.function}({', '.join(map(str, self.arguments))})"
        others = ([] if self.by is None else [str(self.by)]) + [f"{p:g}" for p in self.parameters]
        return f"{self.function}({', '.join([str(self.argument), *others])})"
