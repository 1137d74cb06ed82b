"""Texts of a query in which some stretches are replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from sqlglot import exp

from penstock.sql.bind.context import Context
from penstock.sql.parse.positions import span_of
from penstock.sql.parse.syntax import Relation, Span, StreamJoin

#: Quoted text stays as it is; comments and line ends become blanks.
_PIECES = re.compile(r"""('(?:[^'\\]|\\.|'')*'|"[^"]*"|`[^`]*`)|(?:--[^\n]*|/\*.*?\*/|\s)+""", re.S)


class Edit(NamedTuple):
    """A stretch of the text, and what stands there instead."""

    span: Span
    text: str


def edited(context: Context, edits: Iterable[Edit], within: Span | None = None) -> str:
    """The query, or a part of it, with edits, on one line."""
    place = within or context.query
    text, at = [], place.start
    for edit in sorted(edits, key=lambda edit: edit.span.start):
        text += [context.text[at : edit.span.start], edit.text]
        at = edit.span.end
    whole = "".join([*text, context.text[at : place.end]])
    return _PIECES.sub(lambda found: found[1] or " ", whole).strip()


class _Unplaced(Exception):
    """Raised where nobody has noted the place of a node: then nothing can be replaced there."""


def known(rewrites: Iterable[str]) -> tuple[str, ...]:
    """The rewrites, up to the first for which the place of something is not known."""
    found = []
    with suppress(_Unplaced):
        for text in rewrites:
            found.append(text)
    return tuple(found)


def span(node: exp.Expr) -> Span:
    """What a node covers, which the parser has noted."""
    found = span_of(node)
    if found is None:
        raise _Unplaced
    return found


def behind(node: exp.Expr) -> Span:
    """The place directly behind a node."""
    return Span(span(node).end, span(node).end)


def named(relation: Relation) -> str | None:
    """What an input that is a plain stream or table is called; None: it is none."""
    if not isinstance(relation.this, exp.Table):
        return None
    alias = relation.args.get("alias")
    return relation.this.name if alias is None else str(alias.name)


def as_input(relation: Relation) -> str:
    """A plain stream or table as FROM has it, without a window.

    >>> as_input(Relation(this=exp.to_table("a"), alias=exp.to_identifier("b")))
    'a AS b'
    """
    alias = relation.args.get("alias")
    return relation.this.name if alias is None else f"{relation.this.name} AS {alias.name}"


def inputs_of(select: exp.Select) -> list[Relation] | None:
    """The inputs of FROM, where all are streams or tables by name, joined or not."""
    joins = select.args.get("joins") or []
    if any(not isinstance(join, StreamJoin) for join in joins):
        return None
    found = [select.args["from_"].this, *(join.this for join in joins)]
    plain = [each for each in found if isinstance(each, Relation) and named(each) is not None]
    return plain if len(plain) == len(found) else None


def visible_inputs(select: exp.Select) -> list[Relation] | None:
    """Those whose columns can be named: not what a SEMI JOIN only looks for."""
    found = inputs_of(select)
    if found is None:
        return None
    kinds = [join.args["kind"] for join in select.args.get("joins") or []]
    return [
        found[0],
        *(i for i, kind in zip(found[1:], kinds, strict=True) if not kind.is_one_sided),
    ]


def end_of_from(select: exp.Select) -> Span:
    """The place behind FROM and its joins."""
    end = max(span(each).end for each in (_from(select), *(select.args.get("joins") or [])))
    return Span(end, end)


def end_of_where(select: exp.Select) -> Span:
    """The place behind WHERE, or behind FROM if there is none."""
    where = select.args.get("where")
    return end_of_from(select) if where is None else behind(where)


def before_from(select: exp.Select, context: Context) -> Span:
    """The place behind the SELECT list."""
    head = context.text[: span(_from(select)).start].rstrip()
    end = len(head[: -len("FROM")].rstrip())
    return Span(end, end)


def qualified(context: Context, node: exp.Expr, columns: dict[str, str], others: str | None) -> str:
    """The text of an expression whose columns all say which input they are of.

    `columns`: in lower case those of one input, and what that is called; `others`: what all others
    are of.
    """
    edits = []
    for column in node.find_all(exp.Column):
        if column.table or isinstance(column.this, exp.Star):
            continue
        of = columns.get(column.name.lower(), others)
        if of is not None:
            place = span(column)
            edits.append(Edit(Span(place.start, place.start), f"{of}."))
    return edited(context, edits, span(node))


def columns_of(relation: Relation, context: Context) -> list[str]:
    """The columns of a plain input."""
    return [name for name in context.lookup(relation.this.name).schema.names if name != "row_num"]


def _from(select: exp.Select) -> exp.Expr:
    relation: exp.Expr = select.args["from_"].this
    return relation
