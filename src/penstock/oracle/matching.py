"""Matches of a pattern from the definition: every way is tried, in the order of preference.

    preference     alternatives from left to right; of a repetition one more iteration before none,
                   or after it where it is reluctant; of a sequence, first of its first step
    condition      asked when a row is taken, with the rows taken so far and this one
    WITHIN         a row more than so much later than the first one is not taken
    match_rows     nor one behind so many others of the match
    iterations     beyond the least number, one that takes no row is none

Rows of a partition are sorted; the first match from a row on is the match there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any

from penstock.errors import NotExecutable
from penstock.model.expressions import Expression, Literal
from penstock.model.match import (
    MatchAggregate,
    MatchDefinition,
    Navigation,
    SortColumn,
    replaced,
)
from penstock.model.row_patterns import (
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
)
from penstock.oracle.aggregates import aggregate, call_of
from penstock.oracle.expressions import order, value_of
from penstock.windows import Row

#: The variables of the rows so far.
Taken = tuple[str, ...]

#: Rows that are tried for one match before it is given up: there may be exponentially many ways.
MOST_TRIED = 20_000


def matches(match: MatchDefinition, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One row per match, of all partitions."""
    partitions: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row[match.on] is not None:
            key = tuple(_key(row[name]) for name in match.partition)
            partitions.setdefault(key, []).append(row)
    return [found for each in partitions.values() for found in _of_partition(match, each)]


def _of_partition(match: MatchDefinition, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The matches of one partition."""
    for each in reversed(match.order):
        rows = sorted(rows, key=cmp_to_key(_compare(each)), reverse=each.descending)
    start = 0
    while start < len(rows):
        attempt = _Attempt(match, rows, start)
        taken = next(attempt.ways(match.pattern, ()), None)
        if taken is None:
            start += 1
            continue
        keys = {name: rows[start][name] for name in match.partition}
        yield keys | {each.name: attempt.value(each.value, taken) for each in match.measures}
        start += _skipped(match, taken)


def _skipped(match: MatchDefinition, taken: Taken) -> int:
    skip = match.skip
    if skip.to == "past":
        return len(taken)
    of = [at for at, variable in enumerate(taken) if variable == skip.variable]
    if skip.to == "next" or not of:
        return 1
    return max(1, of[0] if skip.to == "first" else of[-1])


@dataclass(frozen=True)
class _Attempt:
    """Matches that begin at one row."""

    match: MatchDefinition
    rows: Sequence[Row]
    start: int
    tried: Counter[str] = field(default_factory=Counter)

    def ways(self, pattern: RowPattern, taken: Taken) -> Iterator[Taken]:
        """All ways to take more rows by a pattern, the preferred ones first."""
        match pattern:
            case PatternVariable():
                if self._can_take(pattern.name, taken):
                    yield (*taken, pattern.name)
            case PatternSequence():
                yield from self._sequence(pattern.steps, taken)
            case PatternChoice():
                for choice in pattern.choices:
                    yield from self.ways(choice, taken)
            case PatternRepeat():
                yield from self._repeat(pattern, 0, taken)

    def _sequence(self, steps: Sequence[RowPattern], taken: Taken) -> Iterator[Taken]:
        if not steps:
            yield taken
            return
        for longer in self.ways(steps[0], taken):
            yield from self._sequence(steps[1:], longer)

    def _repeat(self, repeat: PatternRepeat, done: int, taken: Taken) -> Iterator[Taken]:
        if done >= repeat.least and repeat.reluctant:
            yield taken
        if repeat.most is None or done < repeat.most:
            for longer in self.ways(repeat.part, taken):
                if longer != taken or done < repeat.least:
                    yield from self._repeat(repeat, done + 1, longer)
        if done >= repeat.least and not repeat.reluctant:
            yield taken

    def _can_take(self, variable: str, taken: Taken) -> bool:
        at, on = self.start + len(taken), self.match.on
        most = self.match.most_rows
        if at >= len(self.rows) or (most is not None and len(taken) >= most):
            return False
        self.tried[variable] += 1
        if sum(self.tried.values()) > MOST_TRIED:
            raise NotExecutable(
                "the reference matcher gives up: there are too many ways to match "
                f"PATTERN ({self.match.pattern})",
                hint="compare with fewer rows, or with a pattern in which fewer ways lead on",
            )
        within = self.match.within
        if within is not None and self.rows[at][on] - self.rows[self.start][on] > within:
            return False
        condition = dict(self.match.define).get(variable)
        return condition is None or self.value(condition, (*taken, variable)) is True

    def value(self, expression: Expression, taken: Taken) -> Any:
        """What an expression is, of a match that has taken these rows."""
        return value_of(replaced(expression, lambda leaf: self._leaf(leaf, taken)), {})

    def _leaf(self, leaf: Expression, taken: Taken) -> Literal:
        if isinstance(leaf, Navigation):
            return Literal(self._navigated(leaf, taken), leaf.type)
        if isinstance(leaf, MatchAggregate):
            call, rows = leaf.aggregate, [self.rows[at] for at in self._of(leaf.variable, taken)]
            return Literal(aggregate(rows, *call_of(call)), leaf.type)
        return Literal(taken[-1], leaf.type)

    def _of(self, variable: str | None, taken: Taken) -> list[int]:
        """The rows of a variable, or all of them."""
        return [
            self.start + at for at, each in enumerate(taken) if variable is None or each == variable
        ]

    def _navigated(self, leaf: Navigation, taken: Taken) -> Any:
        of = self._of(leaf.variable, taken)
        if leaf.last:
            of.reverse()
        at = of[leaf.offset] - leaf.back if leaf.offset < len(of) else -1
        return value_of(leaf.value, self.rows[at]) if at >= 0 else None


def _key(value: Any) -> Any:
    """What partitions are told apart by: all NaN are one."""
    return ("NaN",) if isinstance(value, float) and value != value else value


def _compare(by: SortColumn) -> Any:
    """NULL is the least."""

    def compare(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> int:
        one, other = mine[by.column], theirs[by.column]
        if one is None or other is None:
            return (one is not None) - (other is not None)
        one, other = order(one), order(other)
        return int(one > other) - int(one < other)

    return compare
