"""Releases: what lets the next row of a query out, as bounds that its streams must reach.

`kernel/progress/release.py` finds them; hosts pass them on, and `plan/blockers.py` tells people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from penstock.model.timestamps import BEGINNING

#: More of them than anybody reads, and few enough to be sent with every batch.
MOST = 8

T = TypeVar("T")

Bounds: TypeAlias = Mapping[tuple[str, str], int]
"""(stream, column) -> bound."""


@dataclass(frozen=True)
class Release:
    """Bounds that together let a row out."""

    bounds: Bounds
    certain: bool = True

    def within(self, other: Release) -> bool:
        """Whether it asks for no more than another one."""
        return all(other.bounds.get(key, BEGINNING) >= bound for key, bound in self.bounds.items())

    def as_json(self) -> list[Any]:
        return [self.certain, [[*key, bound] for key, bound in self.bounds.items()]]

    @classmethod
    def from_json(cls, text: Any) -> Release:
        certain, bounds = text
        return cls({(stream, on): bound for stream, on, bound in bounds}, certain)


@dataclass(frozen=True)
class Releases:
    """All releases of one query; not `known`: something waits besides that cannot be told."""

    releases: tuple[Release, ...] = ()
    known: bool = True

    def as_json(self) -> list[Any]:
        return [self.known, [release.as_json() for release in self.releases]]

    @classmethod
    def from_json(cls, text: Any) -> Releases:
        known, releases = text
        return cls(tuple(map(Release.from_json, releases)), known)

    @classmethod
    def of_all(cls, parts: Iterable[Releases]) -> Releases:
        """Those of several graphs that work side by side."""
        every = list(parts)
        found = least(release for part in every for release in part.releases)
        return cls(tuple(found), all(part.known for part in every))


def least(releases: Iterable[Release]) -> list[Release]:
    """Without those that ask for more than another one.

    >>> a, b = Release({("s", "ts"): 5}), Release({("s", "ts"): 5, ("r", "ts"): 1})
    >>> least([b, a]) == [a]
    True
    """
    found = minimal(releases, Release.within)
    return sorted(found, key=lambda r: (len(r.bounds), sum(r.bounds.values())))[:MOST]


def minimal(items: Iterable[T], within: Callable[[T, T], bool]) -> list[T]:
    """Those that no other one is within, of equal ones the first."""
    items = list(items)
    if len(items) < 2:
        return items
    found: list[T] = []
    for item in items:
        if not any(within(other, item) for other in found):
            found = [other for other in found if not within(item, other)]
            found.append(item)
    return found
