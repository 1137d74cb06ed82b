"""Arguments that must be constants, and the values they may have.

A pattern, a unit or a number of digits is fixed when the query is built, so that it is compiled
once; a wrong one is refused then, not at the first row.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import TypeMismatch, UnknownName
from penstock.model.schema import suggest
from penstock.model.zones import zone_named

#: Units of `date_trunc`, as written -> as computed.
TRUNC_UNITS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    "quarter": "quarter",
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    "week": "week",
    **dict.fromkeys(("day", "dd"), "day"),
    **{name: name for name in ("hour", "minute", "second", "millisecond", "microsecond")},
}


def check_constant(function: str, position: int, value: Any) -> None:
    """Refuse a value that means nothing; NULL always means NULL."""
    if value is None:
        return
    if function == "date_trunc" and position == 2:
        zone_named(value)
        return
    if function == "date_trunc" and value.lower() not in TRUNC_UNITS:
        raise UnknownName(
            f"`{value}` is not a unit of date_trunc",
            hint=suggest(value.lower(), dict.fromkeys(TRUNC_UNITS.values())),
        )
    if function in ("like", "ilike") and position == 2 and len(value) != 1:
        raise TypeMismatch(
            f"ESCAPE takes one character, not '{value}'", hint="leave it out to use a backslash"
        )
