"""MATCH_RECOGNIZE: from the clause to a node of the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.errors import CannotOrder, DuplicateName, NotExecutable, TypeMismatch, UnknownName
from penstock.model.expressions import Expression, Named, Ref
from penstock.model.match import MatchDefinition, Skip, SortColumn
from penstock.model.row_patterns import (
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
)
from penstock.model.schema import suggest
from penstock.model.types import Type
from penstock.plan.nodes import MatchRecognize, Node
from penstock.sql.bind.context import Context
from penstock.sql.bind.match.expression import MatchBinder
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.bind.window.window import check_unit, resolve_attribute
from penstock.sql.parse.durations import resolve_length
from penstock.sql.parse.syntax import Attribute, MatchClause, SkipClause, SortKey

#: Variables, each of which is a bit; and their occurrences when repetitions are written out.
MOST_VARIABLES, MOST_PLACES = 60, 500


def bind_match(clause: MatchClause, node: Node, scope: Scope, context: Context) -> MatchRecognize:
    """The node for a clause over an input."""
    given = clause.args
    partition = [_column(each, scope, context) for each in given.get("partition") or ()]
    on, further = _order(given["order"], scope, context)
    pattern, place = given["pattern"]
    with context.located(place):
        variables = _variables(pattern)
        pattern = _named(pattern, variables)
        _check_pattern(pattern)
    skip = _skip(given.get("skip"), pattern, variables, context)
    within = given.get("within")
    length = None
    if within is not None:
        found = resolve_length(within, context)
        check_unit(found, on, context)
        length = found.value
    define = tuple(_define(clause, scope, variables, on, context))
    measures = tuple(_measures(clause, scope, variables, on, partition, context))
    match = MatchDefinition(
        tuple(field.column for field in partition),
        on.column,
        further,
        pattern,
        define,
        measures,
        skip,
        length,
    )
    if not match.looks_at_rows:
        match = replace(match, most_rows=context.names.match_rows)
    if not match.partition and not measures:
        raise NotExecutable(
            "a match would give a row without columns",
            hint="add MEASURES: what is to be told of a match",
        )
    return MatchRecognize(node, match)


def _column(attribute: Attribute, scope: Scope, context: Context) -> Field:
    return resolve_attribute(attribute, scope, context)


def _order(
    keys: tuple[SortKey, ...], scope: Scope, context: Context
) -> tuple[Field, tuple[SortColumn, ...]]:
    first, *others = keys
    on = _column(first.column, scope, context)
    usable = [str(field) for field in scope.fields if field.progresses]
    if not on.progresses or not on.type.can_progress or first.descending:
        why = (
            "in a stream, the last row never comes"
            if first.descending
            else "it does not progress, so an earlier row could always come"
        )
        how = " DESC" if first.descending else ""
        raise CannotOrder(
            f"rows cannot be ordered by `{on.name}`{how} first: {why}",
            position=context.position(first.column.span),
            hint=f"ORDER BY one of these first: {', '.join(usable) or 'nothing'}",
        )
    further = (SortColumn(_column(k.column, scope, context).column, k.descending) for k in others)
    return on, tuple(further)


def _variables(pattern: RowPattern) -> dict[str, str]:
    """Variables by their names in lower case, as they are written first."""
    found: dict[str, str] = {}
    for name in pattern.variables():
        found.setdefault(name.lower(), name)
    return found


def _named(pattern: RowPattern, variables: dict[str, str]) -> RowPattern:
    """The pattern with every variable under one spelling."""
    match pattern:
        case PatternVariable():
            return PatternVariable(variables[pattern.name.lower()])
        case PatternSequence():
            return PatternSequence(tuple(_named(step, variables) for step in pattern.steps))
        case PatternChoice():
            return PatternChoice(tuple(_named(each, variables) for each in pattern.choices))
        case PatternRepeat():
            return replace(pattern, part=_named(pattern.part, variables))
    raise AssertionError(f"no such pattern: {pattern!r}")


def _check_pattern(pattern: RowPattern) -> None:
    if pattern.least_rows == 0:
        raise NotExecutable(
            f"PATTERN ({pattern}) can match no rows at all, so there would be a match everywhere",
            hint="let one variable occur at least once: A+ instead of A*",
        )
    if len(pattern.variables()) > MOST_VARIABLES or pattern.positions > MOST_PLACES:
        raise NotExecutable(
            f"this pattern is too large: it has {len(pattern.variables())} variables, and "
            f"{pattern.positions} places when repetitions are written out",
            hint=f"use at most {MOST_VARIABLES} variables and {MOST_PLACES} places; for long "
            "repetitions use + or *, and count in DEFINE: A AS count(A.*) <= 1000",
        )


def _skip(
    clause: SkipClause | None, pattern: RowPattern, variables: dict[str, str], context: Context
) -> Skip:
    """Where the search goes on; refused if that would be at the same row for ever."""
    if clause is None or clause.skip.variable is None:
        return Skip() if clause is None else clause.skip
    with context.located(clause.span):
        name = _known(clause.skip.variable, variables)
        skip = replace(clause.skip, variable=name)
        # All occurrences are at the first row: the search would never go on.
        begins = pattern.may_begin_with() == {name}
        if begins and (skip.to == "first" or _is_only_first(pattern, name)):
            raise NotExecutable(
                f"{skip} goes back to the first row of the match, and would find it for ever",
                hint="write AFTER MATCH SKIP TO NEXT ROW, or skip to a later variable",
            )
        return skip


def _is_only_first(pattern: RowPattern, name: str) -> bool:
    """Whether a variable can be of the first row only."""
    if isinstance(pattern, PatternSequence):
        first, *others = pattern.steps
        later = any(name in step.variables() for step in others)
        return first.least_rows > 0 and not later and _is_only_first(first, name)
    if isinstance(pattern, PatternChoice):
        return all(_is_only_first(choice, name) for choice in pattern.choices)
    return pattern == PatternVariable(name)


def _known(name: str, variables: dict[str, str]) -> str:
    if name.lower() not in variables:
        raise UnknownName(
            f"`{name}` does not occur in PATTERN", hint=suggest(name, variables.values())
        )
    return variables[name.lower()]


def _define(
    clause: MatchClause, scope: Scope, variables: dict[str, str], on: Field, context: Context
) -> Iterator[tuple[str, Expression]]:
    seen: set[str] = set()
    for given in clause.args.get("define") or ():
        with context.located(given.span):
            name = _known(given.variable, variables)
            if name in seen:
                raise DuplicateName(f"`{name}` is defined twice", hint="combine both with AND")
            seen.add(name)
            binder = MatchBinder(context, scope, variables, _ref(on), defining=name)
            binder.check_shapes(given.condition)
            condition = binder.bind(given.condition)
            if condition.type not in (Type.BOOLEAN, Type.NULL):
                raise TypeMismatch(
                    f"the condition of {name} is {condition.type}, and must be BOOLEAN",
                    hint=f"write a comparison: DEFINE {name} AS {name}.x > 1",
                )
            yield name, condition


def _measures(
    clause: MatchClause,
    scope: Scope,
    variables: dict[str, str],
    on: Field,
    partition: list[Field],
    context: Context,
) -> Iterator[Named]:
    binder = MatchBinder(context, scope, variables, _ref(on))
    taken = {field.name.lower() for field in partition}
    for measure in clause.args.get("measures") or ():
        with context.located(measure.span):
            if measure.name.lower() in taken:
                raise DuplicateName(
                    f"two columns of the match are called `{measure.name}`",
                    hint=f"give one of them another name: … AS {measure.name}_2",
                )
            taken.add(measure.name.lower())
            binder.check_shapes(measure.value)
            yield Named(measure.name, binder.bind(measure.value))


def _ref(field: Field) -> Ref:
    return Ref(field.column, field.type)
