"""Migration: one change of a running query's joins, as an event.

Status has the latest of them, the log has all, EXPLAIN LIVE shows those of a query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

#: How one set of joins gives way to another.
MOVING_STATE, PARALLEL_TRACK = "moving state", "parallel track"
#: So many are remembered.
REMEMBERED = 64


@dataclass(frozen=True)
class Migration:
    """Joins that gave way to others, in one graph or in those of all groups.

    `began` and `ended` are times of the host's clock; while both run side by side, the second is
    None. `seconds` is the time from the one to the other, `pause` how long nothing could come out.
    Rows were `moved` as they are, `sorted_again` by other keys, or `recomputed`.
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

    @property
    def seconds(self) -> float | None:
        return None if self.ended is None else (self.ended - self.began) / 1_000_000

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Migration:
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
        )

    @property
    def is_over(self) -> bool:
        return self.ended is not None

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
                (self.sorted_again, "sorted again"),
                (self.recomputed, "recomputed"),
            )
            if count
        ]
        many = f" in {self.groups} groups" if self.groups > 1 else ""
        told = [f"{self.before} → {self.after} by {self.how}{many}: {went}", *rows, self.reason]
        return "; ".join(each for each in told if each)


class Migrations:
    """The latest migrations of one graph."""

    def __init__(self) -> None:
        self._found: list[Migration] = []

    def begin(self, migration: Migration) -> None:
        self._found = [*self._found, migration][-REMEMBERED:]

    def end(self, query: str, now: int) -> None:
        """What was on its way in a query is over."""
        self._found = [
            replace(each, ended=now) if each.query == query and not each.is_over else each
            for each in self._found
        ]

    def __iter__(self) -> Iterator[Migration]:
        return iter(self._found)
