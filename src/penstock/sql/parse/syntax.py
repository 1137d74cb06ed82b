"""What our dialect adds to sqlglot's syntax tree.

Nodes of the tree are sqlglot expressions; the inside of a window clause is plain frozen data,
because nothing of sqlglot ever looks at it. Every piece knows the stretch of text it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, TypeVar

from sqlglot import exp

from penstock.model.match import Skip
from penstock.windows.window import Unit, format_length

T = TypeVar("T")


@dataclass(frozen=True)
class Span:
    """A stretch of the text, half-open."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the beginning of this to the end of the other."""
        return Span(self.start, max(self.end, other.end))


@dataclass(frozen=True)
class Length:
    """`10 minutes`, `1000 rows` or `5`."""

    value: int
    unit: Unit
    span: Span

    def __str__(self) -> str:
        return format_length(self.value, self.unit)


@dataclass(frozen=True)
class Parameter:
    """A name that DECLARE gave a length to: `[RANGE n]`."""

    name: str
    span: Span


AnyLength: TypeAlias = Length | Parameter


@dataclass(frozen=True)
class EmitClause:
    """`EMIT EVERY 1 minute`, or `EMIT CHANGES`: then `every` is None."""

    span: Span
    every: AnyLength | None = None


@dataclass(frozen=True)
class Attribute:
    """A column named in a window clause; `row-num` stands here as `row_num`."""

    name: str
    qualifier: str | None
    span: Span
    ranked: bool = False  # written as rank(name)


@dataclass(frozen=True)
class WindowClause:
    """`[RANGE …, SLIDE …, WA …]`, as written; what it means is found when it is bound."""

    span: Span
    range: AnyLength | None = None
    range_all: bool = False
    tumbling: bool = False
    slide: AnyLength | None = None
    wattr: Attribute | None = None
    rattr: Attribute | None = None
    sattr: Attribute | None = None
    partition: tuple[Attribute, ...] = ()


@dataclass(frozen=True)
class SortKey:
    """A column of ORDER BY in MATCH_RECOGNIZE."""

    column: Attribute
    descending: bool


@dataclass(frozen=True)
class Measure:
    """`LAST(A.x) AS name`."""

    name: str
    value: exp.Expr
    span: Span


@dataclass(frozen=True)
class Definition:
    """`A AS condition`."""

    variable: str
    condition: exp.Expr
    span: Span


@dataclass(frozen=True)
class SkipClause:
    """`AFTER MATCH SKIP …`; the variable as written."""

    skip: Skip
    span: Span


#: Trees and plans that are deeper than this would exhaust the stack of whoever walks them.
DEEPEST = 150


def depth(root: T, children: Callable[[T], Iterable[T]]) -> int:
    """How many nodes deep a tree or a graph is."""
    deepest, level = 0, {id(root): root}
    while level:
        deepest += 1
        level = {id(below): below for node in level.values() for below in children(node)}
    return deepest


class Windowed(exp.Expression):
    """An aggregate with its window: `count(*) [RANGE …]`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "clause": True}


class Relation(exp.Expression):
    """One input in FROM: what it is, what it is called, its window, and PARTITION BY."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "alias": False,
        "clause": False,
        "partition": False,
        "as_of": False,  # Span of FOR SYSTEM_TIME AS OF …
    }


class MatchClause(exp.Expression):
    """`input MATCH_RECOGNIZE (…)`: one row per match of a pattern."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,  # Relation
        "partition": False,  # tuple of Attribute
        "order": True,  # tuple of SortKey
        "measures": False,  # tuple of Measure
        "skip": False,  # SkipClause
        "pattern": True,  # RowPattern, Span
        "within": False,  # AnyLength
        "define": False,  # tuple of Definition
    }


class StreamUnion(exp.Expression):
    """`a UNION b UNION c` in FROM: the rows of all, duplicates kept."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class WindowFunction(exp.Expression):
    """`TUMBLE(TABLE s, DESCRIPTOR(ts), …)`: a stream with a window, in Flink's spelling."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,  # the name, in capitals
        "data": True,  # Relation
        "timecol": True,  # Attribute
        "lengths": True,  # dict: SIZE, SLIDE, STEP, OFFSET -> Length
    }


class StreamSequence(exp.Expression):
    """`SEQ(a, b, …) MODE … PARTITION BY … WITHIN …`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "expressions": True,  # Relation
        "mode": True,  # SequenceMode
        "partition": True,  # Attribute
        "within": False,  # AnyLength
    }


class ExplodeClause(exp.Join):
    """`LATERAL VIEW explode(value) alias AS columns`, or UNNEST: a row for each element."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,  # the function: UNNEST, or Spark's name of it
        "value": True,
        "outer": False,  # rows without elements stay
        "ordinality": False,
        "alias": False,  # Identifier
        "columns": False,  # Identifiers
        "on": False,
        "hidden": False,  # stands in the SELECT list: no name reaches it from elsewhere
    }


class StreamJoin(exp.Join):
    """`[kind] JOIN this [WITHIN d] [ON condition]`, or a comma."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,  # JoinKind
        "asof": False,  # Span of ASOF JOIN
        "on": False,
        "within": False,  # AnyLength
    }
