"""Lengths that may be parameters -> lengths."""

from __future__ import annotations

from penstock.catalog.settings import Duration
from penstock.errors import UnknownName
from penstock.sql.bind.context import Context
from penstock.sql.parse.syntax import AnyLength, Length


def resolve_length(length: AnyLength, context: Context) -> Length:
    """The length itself; a parameter's is the one it was declared with."""
    if isinstance(length, Length):
        return length
    value = context.names.parameter(length.name)
    if value is None:
        raise UnknownName(
            f"no parameter `{length.name}`",
            position=context.position(length.span),
            hint=f"declare it first: DECLARE {length.name} = 3 SECONDS",
        )
    if isinstance(value, Duration):
        return Length(value.ticks, "time", length.span)
    return Length(value, "number", length.span)
