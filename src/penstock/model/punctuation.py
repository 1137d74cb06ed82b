"""Punctuation: a bound that travels with the rows.

`Punctuation("ts", b)` says: no later row of this stream has `ts < b`. The comparison is strict, so
a row with `ts = b` may still come. Such punctuation is *linear*: its bounds only rise.

Punctuation may be for some rows only: `where` holds a pattern for further attributes, and only rows
that match all of them are meant. A pattern is a constant, or a half-open range; an attribute that
is not named is a wild card. It is *group-wise linear* then: bounds rise within each pattern.
Dropping punctuation is always safe, it only delays results.

It may also be about the *latest* of several columns, NULLs left out: `latest_of` is what `on` is
then called. A join can say more of that than of any of its times: every result to come has a row
that is new.  Spec: window-queries 1.2, 6.3.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any, TypeAlias

from penstock.model.timestamps import END, to_ticks

Pattern: TypeAlias = tuple[Any, ...]
"""`(value,)`: a constant. `(low, high)`: from low to below high; None: without an end."""

Where: TypeAlias = tuple[tuple[str, Pattern], ...]


@dataclass(frozen=True)
class Punctuation:
    """No later row that matches `where` has `on` below `bound`."""

    on: str
    bound: int
    where: Where = ()

    def __post_init__(self) -> None:
        if self.where:
            object.__setattr__(self, "where", from_json(self.where))

    @property
    def is_final(self) -> bool:
        """Whether it says that no row comes at all."""
        return self.bound >= END


_LATEST = "__latest "


def latest_of(columns: Iterable[str]) -> str:
    """What punctuation calls the greatest of several columns.

    >>> latest_of(["b.ts", "a.ts"])
    '__latest ["a.ts", "b.ts"]'
    """
    return _LATEST + json.dumps(sorted(columns))


@lru_cache(maxsize=1024)
def columns_of(on: str) -> frozenset[str]:
    """The columns that punctuation is about: one, or those of which it means the greatest.

    >>> columns_of("ts"), sorted(columns_of(latest_of(["a", "b"])))
    (frozenset({'ts'}), ['a', 'b'])
    """
    return frozenset(json.loads(on.removeprefix(_LATEST)) if is_latest(on) else (on,))


def is_latest(on: str) -> bool:
    """Whether punctuation is about the greatest of several columns."""
    return on.startswith(_LATEST)


def where_of(patterns: Mapping[str, Any]) -> Where:
    """Patterns as people write them: a value is a constant, a pair of values a range.

    >>> where_of({"src": "10.0.0.1", "port": (0, 1024)})
    (('port', (0, 1024)), ('src', ('10.0.0.1',)))
    """
    return tuple(
        (name, tuple(map(_ticks, value if isinstance(value, tuple) else (value,))))
        for name, value in sorted(patterns.items())
    )


def _ticks(value: Any) -> Any:
    return to_ticks(value) if isinstance(value, datetime) else value


def to_json(where: Where) -> list[list[Any]]:
    """Patterns as JSON can hold them: state and messages are JSON, values may be dates and bytes.

    >>> to_json((("day", (date(2026, 1, 1),)), ("id", (b"\\x00\\xff", None))))
    [['day', [{'date': '2026-01-01'}]], ['id', [{'bytes': '00ff'}, None]]]
    """
    return [[name, [_to_json(value) for value in pattern]] for name, pattern in where]


def from_json(where: Any) -> Where:
    """Patterns out of JSON; those that never were in it stay as they are.

    >>> from_json([["day", [{"date": "2026-01-01"}]], ["k", [1]]])
    (('day', (datetime.date(2026, 1, 1),)), ('k', (1,)))
    """
    return tuple((str(name), tuple(map(_from_json, pattern))) for name, pattern in where)


def _to_json(value: Any) -> Any:
    if isinstance(value, date):
        return {"date": value.isoformat()}
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


def _from_json(value: Any) -> Any:
    match value:
        case {"date": text}:
            return date.fromisoformat(text)
        case {"bytes": text}:
            return bytes.fromhex(text)
    return value
