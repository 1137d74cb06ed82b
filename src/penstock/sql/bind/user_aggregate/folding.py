"""Which aggregates written in SQL can be folded: computed for many rows at once, and merged.

    TABLE state (total BIGINT, n BIGINT);
    INITIALIZE: INSERT INTO state VALUES (x, 1);
    ITERATE:    UPDATE state SET total = total + x, n = n + 1;
    TERMINATE:  INSERT INTO RETURN SELECT total / n FROM state;

One table that always has one row, each of whose columns is the sum, the least or the greatest of a
term of every row: the first row puts it there, others add it. Then it does not matter in which
order rows come, nor in how many parts. Terms must not be NULL, which would stay for ever in a sum.
Everything else is computed row by row, as it is written.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.expressions import Call, Case, Cast, Expression, Literal, Ref
from penstock.model.sql_aggregates import FoldedColumn, Insert, SqlAggregate, Update
from penstock.model.types import Type

_SUM, _LEAST, _GREATEST = "sum", "least", "greatest"

#: Of these types, sums are the same in any order, or as near as those of `sum` itself.
_SUMMED = (Type.BIGINT, Type.DOUBLE)
_COMPARED = {"<": _LEAST, "<=": _LEAST, ">": _GREATEST, ">=": _GREATEST}


def folded(body: SqlAggregate) -> SqlAggregate:
    """The same with what its columns are the sums and extremes of, if they are."""
    if len(body.tables) != 1:
        return body
    [table] = body.tables
    match body.initialize, body.iterate, body.terminate:
        case (
            [Insert(into, None, first, None, ())],
            [Update(updated, None, then)],
            [Insert("return", None, [answer], source, ())],
        ) if into == updated == source == table.name:
            pass
        case _:
            return body
    own = {column.name for column in table.columns}
    later = {each.name: each.value for each in then}
    columns = []
    for column, begin in zip(table.columns, first, strict=True):
        found = _column(Ref(column.name, column.type), begin.value, later.get(column.name), own)
        if found is None:
            return body
        columns.append(found)
    if not answer.refs <= own:
        return body
    return replace(body, folded=tuple(columns), answer=answer.value)


def can_subtract(body: SqlAggregate) -> bool:
    """Whether EXPIRE takes away what ITERATE adds, exactly."""
    [table] = body.tables
    match body.expire:
        case [Update(updated, None, values)] if updated == table.name:
            less = {each.name: each.value for each in values}
        case _:
            return False
    for column, each in zip(table.columns, body.folded, strict=True):
        wanted = Call("-", (Ref(column.name, column.type), each.term))
        if each.how != _SUM or column.type is not Type.BIGINT:
            return False
        if _bare(less.get(column.name)) != _bare(wanted):
            return False
    return True


def _column(
    ref: Ref, first: Expression, later: Expression | None, own: set[str]
) -> FoldedColumn | None:
    """What a column is of all rows; None: nothing that is known."""
    if not _is_never_null(first, own):
        return None
    if later is None:
        constant = isinstance(_bare(first), Literal)
        return FoldedColumn(ref.name, _LEAST, first) if constant else None
    found = _step(ref, _bare(later))
    if found is None:
        return None
    how, term = found
    if how == _SUM and ref.type not in _SUMMED:
        return None
    is_same = _same(first, term, ref.type)
    return FoldedColumn(ref.name, how, first) if is_same else None


def _step(ref: Ref, later: Expression | None) -> tuple[str, Expression] | None:
    """How a row changes a column, and by which term."""
    match later:
        case Call("+" | "least" | "greatest" as name, (one, other)):
            how = _SUM if name == "+" else name
            if _bare(one) == ref:
                return how, other
            return (how, one) if _bare(other) == ref else None
        case Case(((Call(name, (one, other)), then),), otherwise) if name in _COMPARED:
            one, other, then, otherwise = map(_stripped, (one, other, then, otherwise))
            if otherwise == ref and then == one and other == ref:
                return _COMPARED[name], one
            if otherwise == ref and then == other and one == ref:
                return (_GREATEST if _COMPARED[name] == _LEAST else _LEAST), other
    return None


def _same(first: Expression, term: Expression, of: Type) -> bool:
    one, other = _stripped(first), _stripped(term)
    if isinstance(one, Literal) and isinstance(other, Literal):
        return bool(one.value == other.value)
    return one == other


def _is_never_null(term: Expression, own: set[str]) -> bool:
    match term:
        case Ref():
            return term.name not in own
        case Literal():
            return term.value is not None
        case Cast():
            numbers = term.input.type.is_numeric and term.to in _SUMMED
            return (numbers or term.input.type is term.to) and _is_never_null(term.input, own)
        case Call("+" | "-" | "*" | "negative" | "abs", args):
            return all(_is_never_null(arg, own) for arg in args)
    return False


def _stripped(value: Expression) -> Expression:
    """Without casts between numbers, which INSERT and UPDATE add."""
    while isinstance(value, Cast) and value.input.type.is_numeric and value.to.is_numeric:
        value = value.input
    return value


def _bare(value: Expression | None) -> Expression | None:
    """The same all the way down."""
    if value is None:
        return None
    value = _stripped(value)
    if isinstance(value, Call):
        return Call(value.function, tuple(_bare(arg) or arg for arg in value.args))
    return value
