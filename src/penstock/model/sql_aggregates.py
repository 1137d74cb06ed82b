"""Aggregates that are written in SQL: local tables, and statements that change them.

The first row of a group runs INITIALIZE, each other one ITERATE, and TERMINATE gives the result, as
in Stream Mill's language. Names of arguments stand for the values of the row; every other name is a
column of the one table that a statement reads or changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Expression, Named
from penstock.model.schema import Column

#: The table that TERMINATE inserts the result into.
RETURN = "return"


@dataclass(frozen=True)
class LocalTable:
    """A table that each group has for itself; it begins empty."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class LocalStatement:
    """Changes the rows of `table`, those for which `where` holds."""

    table: str
    where: Expression | None = None


@dataclass(frozen=True)
class Insert(LocalStatement):
    """A row for each row of `source` for which `where` holds, or one if there is no source.

    With `aggregates`, one row of what they come to over those of the source.
    """

    values: tuple[Named, ...] = ()  # by the names of the columns
    source: str | None = None
    aggregates: tuple[tuple[str, Aggregate], ...] = ()


@dataclass(frozen=True)
class Update(LocalStatement):
    values: tuple[Named, ...] = ()


@dataclass(frozen=True)
class Delete(LocalStatement):
    """Forgets rows."""


@dataclass(frozen=True)
class FoldedColumn:
    """A column of a table of one row, which is the sum, or the extreme, of a term of all rows."""

    name: str
    how: str  # sum, least or greatest
    term: Expression


@dataclass(frozen=True)
class SqlAggregate:
    """The body of an aggregate; `folded`: all that its statements come to, where that is so little.

    Then states merge: `folded` are the columns of its one table, `answer` what is read off them.
    """

    tables: tuple[LocalTable, ...]
    initialize: tuple[LocalStatement, ...]
    iterate: tuple[LocalStatement, ...]
    terminate: tuple[LocalStatement, ...]
    expire: tuple[LocalStatement, ...] = ()
    folded: tuple[FoldedColumn, ...] = ()
    answer: Expression | None = None
