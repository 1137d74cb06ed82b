"""Where in the text a part of the syntax tree stands, and errors that say so.

sqlglot notes offsets at names, literals and functions; the parser adds some more. The place of a
node is what its parts cover. Constructors of plan nodes and expressions know no text, so what they
raise gets its place on the way out: `located`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from penstock.errors import NotExecutable, Position, QueryError
from penstock.sql.parse.syntax import Span

#: Arguments that hold no meaning of their own: how sqlglot would translate to other dialects.
_ANNOTATIONS = {"typed", "safe", "coalesce", "nested", "_type", "fraction_in_string", "quoted"}

#: How clauses are called where the tree's word differs from SQL's.
_CLAUSES = {
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "hint": "a hint",
    "kind": "SELECT AS",
    "columns": "a list of column names after an alias",
    "grouping_sets": "GROUPING SETS",
    "db": "a name of three parts",
    "by_name": "BY NAME",
    "all": "GROUP BY ALL",
    "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE",
    "locks": "a locking clause",
    "query": "a subquery in IN",
    "field": "IN without a list",
    "joins": "a join",
    "operation_modifiers": "a SELECT modifier",
    "key_expressions": "USING KEY",
}


def span_of(node: exp.Expr) -> Span | None:
    """What the node covers of the text; None where nobody noted it."""
    starts, ends = [], []
    for part in node.walk():
        meta = part.meta
        if "start" in meta:
            starts.append(meta["start"])
            ends.append(meta["end"] + 1)
    return Span(min(starts), max(ends)) if starts else None


def cover(node: exp.Expr, span: Span) -> None:
    """Note that the node covers at least that stretch."""
    node.meta["start"], node.meta["end"] = span.start, span.end - 1


def position_of(text: str, place: exp.Expr | Span | None) -> Position | None:
    """The place as errors carry it."""
    span = span_of(place) if isinstance(place, exp.Expr) else place
    return Position(text, span.start, span.end) if span else None


@contextmanager
def located(text: str, place: exp.Expr | Span | None) -> Iterator[None]:
    """Give a QueryError that has no position this one; the innermost place wins."""
    try:
        yield
    except QueryError as error:
        if error.position is None:
            error.position = position_of(text, place)
        raise


def only(text: str, node: exp.Expr, *handled: str) -> None:
    """Refuse a node that says more than the caller is going to read."""
    for name, value in node.args.items():
        if value in (None, False, []) or name in handled or name in _ANNOTATIONS:
            continue
        clause = _CLAUSES.get(name, name.rstrip("_").upper())
        place = value[0] if isinstance(value, list) else value
        position = position_of(text, place if isinstance(place, exp.Expr) else node)
        raise NotExecutable(
            f"{clause} cannot be run in this release",
            position=position or position_of(text, node),
            hint=_WAYS_OUT.get(name, "leave it out"),
        )


_WAYS_OUT = {
    "distinct": "GROUP BY the columns, with a window, gives each combination once per window",
    "limit": "a continuous query has no end; limit where you read the results",
    "db": "a column is `name` or `input.name`, and a field of a struct `name.field`: there are no "
    "databases",
    "columns": "name the columns inside: (SELECT a AS x, …) AS name",
    "query": "join the two streams instead",
    "qualify": "filter in an outer query: SELECT … FROM (…) WHERE …",
}
