"""Lengths that may be parameters -> lengths.

Queries look parameters up when they are bound; what is read before anything is declared (streams,
settings) looks them up as it is read, among those that stand before it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from penstock.errors import UnknownName
from penstock.model.assignments import Duration, ParameterValue, Rows
from penstock.sql.bind.context import Context
from penstock.sql.parse.syntax import AnyLength, Length


def resolve_length(length: AnyLength, context: Context) -> Length:
    """The length itself; a parameter's is the one it was declared with."""
    with context.located(length.span):
        return declared_length(length, context.names.parameters)


def declared_length(length: AnyLength, parameters: Mapping[str, ParameterValue]) -> Length:
    """The length itself, or what stands under its name among the parameters."""
    if isinstance(length, Length):
        return length
    value = parameters.get(length.name.lower())
    if value is None:
        near = difflib.get_close_matches(length.name.lower(), parameters, n=1, cutoff=0.5)
        declare = f"declare it first: DECLARE {length.name} = 3 SECONDS"
        raise UnknownName(
            f"no parameter `{length.name}`",
            hint=f"did you mean `{near[0]}`? else {declare}" if near else declare,
        )
    match value:
        case Duration():
            return Length(value.ticks, "time", length.span)
        case Rows():
            return Length(value.count, "rows", length.span)
    return Length(value, "number", length.span)
