"""IN, EXISTS and NOT EXISTS over a query -> SEMI JOIN and ANTI JOIN.

    WHERE k IN (SELECT k FROM b WHERE x > 1)                 a SEMI JOIN b ON a.k = b.k AND b.x > 1
    WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)       a ANTI JOIN b ON b.k = a.k

A plain JOIN would give a row once for each partner. Both need to know how far apart in time
partners can be, which the hint says in its own words: 10 minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import NotExecutable, UnknownName
from penstock.sql.bind.context import Context
from penstock.sql.bind.join.parts import split
from penstock.sql.bind.rewrite.text import (
    Edit,
    as_input,
    columns_of,
    edited,
    end_of_from,
    inputs_of,
    known,
    named,
    qualified,
    span,
    visible_inputs,
)
from penstock.sql.parse.syntax import Relation, Span

#: Streams by time, streams by an integer, static tables.
_BOUNDS = (" WITHIN 10 MINUTES", " WITHIN 100", "")


@dataclass(frozen=True)
class _Test:
    """A condition that is about the rows of a query."""

    node: exp.In | exp.Exists
    negated: bool

    @property
    def spelled(self) -> str:
        word = "IN" if isinstance(self.node, exp.In) else "EXISTS"
        return f"NOT {word}" if self.negated else word

    @property
    def inner(self) -> exp.Expr:
        node = self.node.args["query"] if isinstance(self.node, exp.In) else self.node.this
        assert isinstance(node, exp.Expr)
        return node.unnest()


def refuse_subqueries(select: exp.Select, context: Context) -> None:
    """Refuse IN and EXISTS over a query, with the join to write instead."""
    where = select.args.get("where")
    parts = split(where.this) if where is not None else []
    for part in parts:
        test = _test_of(part)
        if test is not None:
            _refuse(select, test, part, context)
    for test in _tests_in(select):
        _refuse(select, test, None, context)


def _refuse(select: exp.Select, test: _Test, part: exp.Expr | None, context: Context) -> None:
    kind = "ANTI" if test.negated else "SEMI"
    which = "no partner" if test.negated else "a partner"
    nulls = "; a NULL has no partner" if test.spelled == "NOT IN" else ""
    raise NotExecutable(
        f"{test.spelled} over a query cannot be run in this release",
        position=context.position(test.node),
        hint=f"write {kind} JOIN, which gives rows that have {which} once, and how far apart in "
        f"time partners can be{nulls}",
        instead=known(_rewrites(select, test, part, context)),
    )


def _test_of(tree: exp.Expr) -> _Test | None:
    """A condition that is nothing but such a test."""
    negated = False
    node = tree.unnest()
    while isinstance(node, exp.Not):
        negated, node = not negated, node.this.unnest()
    if isinstance(node, exp.Exists):
        return _Test(node, negated)
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return _Test(node, negated != bool(node.args.get("negate")))
    return None


def _tests_in(select: exp.Select) -> Iterator[_Test]:
    """Those that stand elsewhere in a SELECT than alone in WHERE, not in queries inside it."""
    clauses = (select.args.get(name) for name in ("where", "having", "group"))
    for tree in (*select.expressions, *clauses):
        if tree is None:
            continue
        for node in tree.walk(prune=lambda n: isinstance(n, exp.Query)):
            negates = isinstance(node, exp.Not)
            if (negates or isinstance(node, (exp.In, exp.Exists))) and (test := _test_of(node)):
                yield test


def _rewrites(
    select: exp.Select, test: _Test, part: exp.Expr | None, context: Context
) -> Iterator[str]:
    outer, inner = visible_inputs(select), test.inner
    if not outer or not isinstance(inner, exp.Select) or _is_more(inner):
        return
    within = inputs_of(inner)
    if within is None or len(within) != 1:
        return
    join = _join(test, inner, outer, within[0], context)
    if join is None:
        return
    name = named(outer[0])
    for bound in _BOUNDS:
        whole = f"{join}{bound}"
        if part is not None:
            without = _without(part, select, context)
            yield edited(context, [Edit(end_of_from(select), f" {whole}"), *without])
            if len(outer) == 1:
                clause = outer[0].args.get("clause")
                place = span(outer[0])
                if clause is not None:
                    behind = context.text[clause.span.start : clause.span.end]
                    text = f"(SELECT {name}.* FROM {as_input(outer[0])} {whole}) AS {name} {behind}"
                else:
                    text = f"(SELECT {name}.* FROM {as_input(outer[0])} {whole}) AS {name}"
                yield edited(context, [Edit(place, text), *without])
    if part is None:
        for bound in _BOUNDS:
            yield f"SELECT {name}.* FROM {as_input(outer[0])} {join}{bound}"


def _is_more(select: exp.Select) -> bool:
    """Whether it has more than columns, one input and conditions."""
    plain = ("expressions", "from_", "where", "distinct", "kind", "hint")
    return any(value for name, value in select.args.items() if name not in plain)


def _join(
    test: _Test, inner: exp.Select, outer: list[Relation], right: Relation, context: Context
) -> str | None:
    """`SEMI JOIN b ON …`, without how far apart rows may be."""
    names = [str(named(each)).lower() for each in outer]
    name = str(named(right))
    as_written = name.lower() not in names
    if not as_written:
        if right.args.get("alias") is not None:
            return None
        name = f"{name}_2"
    try:
        theirs = dict.fromkeys((c.lower() for c in columns_of(right, context)), name)
        ours = {
            column.lower(): str(named(each))
            for each in reversed(outer)
            for column in columns_of(each, context)
        }
    except UnknownName:
        return None
    both = {**ours, **theirs}
    conditions = []
    if isinstance(test.node, exp.In):
        mine = test.node.this.unnest()
        left = mine.expressions if isinstance(mine, exp.Tuple) else [mine]
        if len(left) != len(inner.expressions):
            return None
        for one, other in zip(left, inner.expressions, strict=True):
            there = qualified(context, other.unalias(), theirs, None)
            conditions.append(f"{qualified(context, one, ours, None)} = {there}")
    where = inner.args.get("where")
    if where is not None:
        if not as_written and any(c.table.lower() in names for c in where.find_all(exp.Column)):
            return None  # which of the two is meant cannot be told
        text = qualified(context, where.this, both, None)
        is_list = isinstance(where.this, exp.Or) and bool(conditions)
        conditions.append(f"({text})" if is_list else text)
    if not conditions:
        return None
    kind = "ANTI" if test.negated else "SEMI"
    of = as_input(right) if as_written else f"{right.this.name} AS {name}"
    return f"{kind} JOIN {of} ON {' AND '.join(conditions)}"


def _without(part: exp.Expr, select: exp.Select, context: Context) -> list[Edit]:
    """Take a condition out of WHERE, with its AND, or WHERE with it."""
    where = select.args["where"]
    place = _whole(part, context)
    if len(split(where.this)) == 1:
        return [Edit(Span(span(where).start, max(span(where).end, place.end)), "")]
    before = re.search(r"\bAND\s*$", context.text[: place.start], re.I)
    if before is not None:
        return [Edit(Span(before.start(), place.end), "")]
    after = re.match(r"\s*AND\b", context.text[place.end :], re.I)
    return [Edit(Span(place.start, place.end + after.end()), "")] if after else []


def _whole(part: exp.Expr, context: Context) -> Span:
    """A condition with NOT before it, and the bracket behind it that nobody has noted."""
    place = span(part)
    head = re.search(r"\bNOT\s*$", context.text[: place.start], re.I)
    start = head.start() if isinstance(part, exp.Not) and head is not None else place.start
    inside = context.text[place.start : place.end]
    tail = re.match(r"\s*\)", context.text[place.end :])
    is_open = inside.count("(") > inside.count(")")
    return Span(start, place.end + (tail.end() if is_open and tail else 0))
