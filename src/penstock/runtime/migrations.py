"""Migration: one change of a running query's operators, as an event.

Status has the latest of them, the log has all, EXPLAIN LIVE shows those of a query.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

_LOG = logging.getLogger("penstock")
#: How one set of joins gives way to another, and one aggregate to another.
MOVING_STATE, PARALLEL_TRACK, HANDOVER = "moving state", "parallel track", "handover"
#: So many are remembered.
REMEMBERED = 64


@dataclass(frozen=True)
class Migration:
    """Joins or aggregates that gave way to others, in one graph or in those of all groups.

    `began` and `ended` are times of the host's clock; while both run side by side, the second is
    None. `seconds` is the time from the one to the other, `pause` how long nothing could come out.
    Rows were `moved` as they are, `sorted_again` by other keys, `recomputed`, or `filtered`: by
    conditions that are tested before they are stored now.
    """

    query: str
    how: str
    before: str
    after: str
    reason: str
    began: int
    ended: int | None = None
    pause: float = 0.0
    moved: int = 0
    sorted_again: int = 0
    recomputed: int = 0
    groups: int = 1
    filtered: int = 0

    @property
    def seconds(self) -> float | None:
        return None if self.ended is None else (self.ended - self.began) / 1_000_000

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Migration:
        return cls(**data)

    def __add__(self, other: Migration) -> Migration:
        """The same change in further groups."""
        ended = [self.ended, other.ended]
        return replace(
            self,
            began=min(self.began, other.began),
            ended=None if None in ended else max(each for each in ended if each is not None),
            pause=max(self.pause, other.pause),
            moved=self.moved + other.moved,
            sorted_again=self.sorted_again + other.sorted_again,
            recomputed=self.recomputed + other.recomputed,
            groups=self.groups + other.groups,
            filtered=self.filtered + other.filtered,
        )

    @property
    def is_over(self) -> bool:
        return self.ended is not None

    def becomes(self, other: Migration) -> bool:
        """Whether the other is the same one, which has ended."""
        mine, others = (
            (each.query, each.how, each.before, each.after, each.began) for each in (self, other)
        )
        return mine == others and not self.is_over

    def __str__(self) -> str:
        """As EXPLAIN LIVE and the log tell it."""
        if self.ended is None:
            went = "both run side by side"
        else:
            went = f"took {self.seconds:.3f} s, of which nothing came out for {self.pause:.3f} s"
        rows = [
            f"{count:,} rows {what}"
            for count, what in (
                (self.moved, "moved"),
                (self.filtered, "filtered"),
                (self.sorted_again, "sorted again"),
                (self.recomputed, "recomputed"),
            )
            if count
        ]
        many = f" in {self.groups} groups" if self.groups > 1 else ""
        told = [f"{self.before} → {self.after} by {self.how}{many}: {went}", *rows, self.reason]
        return "; ".join(each for each in told if each)


def in_all_groups(migrations: Iterable[Migration]) -> tuple[Migration, ...]:
    """Changes of the same query from the same joins to the same others as one."""
    found: dict[tuple[object, ...], Migration] = {}
    for each in migrations:
        key = each.query, each.how, each.before, each.after, each.is_over
        found[key] = found[key] + each if key in found else each
    return tuple(found.values())


class Migrations:
    """The latest migrations of one graph."""

    def __init__(self) -> None:
        self._found: list[Migration] = []

    def note(self, migration: Migration) -> None:
        """One that began, or that began and ended, in any number of groups."""
        self._found = [each for each in self._found if not each.becomes(migration)]
        self._found = [*self._found, migration][-REMEMBERED:]
        _LOG.info("%s: %s", migration.query, migration)

    def end(self, query: str, how: str, now: int) -> None:
        """What was on its way in a query in this way is over."""
        for each in self._found:
            if (each.query, each.how) == (query, how) and not each.is_over:
                self.note(replace(each, ended=now))

    def __iter__(self) -> Iterator[Migration]:
        return iter(self._found)
