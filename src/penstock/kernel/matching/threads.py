"""Matches where conditions depend on the match so far: all ways to go on are followed, row by row.

A *thread* is one way to have come so far: the place that may take the next row, what conditions ask
about the match (`known`), and which row was of what. Threads stand in the order of preference. Two
that are at the same place and know the same have the same future, so the less preferred one ends;
when one reaches the end of the pattern, all that are less preferred do.

An attempt of many rows that is not decided goes on where it was when more rows come. It takes a
number of rows at most (`match_rows`), because each is tried with all that came before it.

`known` has a value for each thing that conditions ask: the rows of a navigation, counts and sums of
an aggregate. A row that is tried counts in it, as one of its variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from penstock.kernel.expressions import project
from penstock.kernel.matching.automaton import ACCEPT, Automaton
from penstock.kernel.matching.conditions import VariableConditions, earlier
from penstock.kernel.matching.lazy_dfa import Ints
from penstock.kernel.matching.scalar import Value, scalar
from penstock.kernel.matching.sorted_rows import SortedRows
from penstock.model.expressions import Expression
from penstock.model.match import MatchAggregate, Navigation, leaves

_Update = Callable[[Any, int], Any]
_Threads = list[tuple[int, tuple[Any, ...], Any]]

#: Attempts of so many rows are remembered as far as they have come.
LONG = 64


@dataclass(frozen=True)
class _Attempt:
    """How far an attempt had come: from which row, how many rows, with which best match."""

    start: int
    rows: int
    end: int
    path: Any
    threads: _Threads


class ThreadSearch:
    """Tries matches from given rows on."""

    def __init__(
        self, automaton: Automaton, conditions: VariableConditions, partition: Sequence[str]
    ) -> None:
        self._automaton = automaton
        self._partition = list(partition)
        self._masks: list[int] = []
        self._columns: dict[tuple[Expression, int], list[Any]] = {}
        asked = {
            leaf
            for condition in conditions.dependent
            if condition is not None
            for leaf in leaves(condition)
            if not (isinstance(leaf, Navigation) and leaf.is_of_current_row)
        }
        self._slots = {leaf: slot for slot, leaf in enumerate(sorted(asked, key=repr))}
        self._conditions = [
            None if each is None else scalar(each, self._read) for each in conditions.dependent
        ]
        self._nothing = tuple(map(_nothing, self._slots))
        self._updates = [
            [
                (slot, self._update(leaf))
                for leaf, slot in self._slots.items()
                if leaf.variable in (None, variable)  # type: ignore[union-attr]
            ]
            for variable in automaton.variables
        ]
        self._paths: dict[int, Any] = {}
        self._navigations = {s for leaf, s in self._slots.items() if isinstance(leaf, Navigation)}
        self._begun: dict[tuple[Any, ...], _Attempt] = {}
        #: Attempts that could have gone on, and had as many rows as one can have.
        self.ended = 0

    def forget(self) -> None:
        """Nothing is remembered of attempts: they are gone again from their first rows."""
        self._begun.clear()

    # -- what conditions ask ------------------------------------------------------------------

    def _read(self, leaf: Expression) -> Value:
        """How a condition reads a leaf."""
        if isinstance(leaf, Navigation):
            column = self._column(leaf.value, leaf.back)
            if leaf.is_of_current_row:
                return lambda known, row: column[row]
            slot, offset = self._slots[leaf], leaf.offset

            def navigated(known: tuple[Any, ...], row: int) -> Any:
                rows = known[slot]
                return column[rows[offset]] if len(rows) > offset else None

            return navigated
        assert isinstance(leaf, MatchAggregate)
        slot, function = self._slots[leaf], leaf.aggregate.function
        wraps = leaf.type.is_integer
        if function == "avg":
            return lambda known, row: known[slot][0] / known[slot][1] if known[slot][1] else None
        if function == "sum":

            def total(known: tuple[Any, ...], row: int) -> Any:
                found, count = known[slot]
                if not count:
                    return None
                return (found + (1 << 63)) % (1 << 64) - (1 << 63) if wraps else found

            return total
        return lambda known, row: known[slot]

    def _column(self, value: Expression, back: int) -> list[Any]:
        """The values of all rows; filled anew for each block."""
        return self._columns.setdefault((value, back), [])

    def _update(self, leaf: Expression) -> _Update:
        """What becomes of what is known of a leaf when one more row counts in it."""
        if isinstance(leaf, Navigation):
            most = leaf.offset + 1
            if leaf.last:
                return lambda rows, row: (row, *rows)[:most]
            return lambda rows, row: rows if len(rows) >= most else (*rows, row)
        assert isinstance(leaf, MatchAggregate)
        function, argument = leaf.aggregate.function, leaf.aggregate.argument
        if argument is None:
            return lambda count, row: count + 1
        column = self._column(argument, 0)
        if function == "count":
            return lambda count, row: count + (column[row] is not None)
        if function in ("sum", "avg"):
            return lambda known, row: _added(known, column[row])
        return lambda known, row: _extreme(known, column[row], function == "min")

    # -- looking ------------------------------------------------------------------------------

    def begins(self, rows: SortedRows, masks: Ints) -> list[int]:
        """Look at other rows; gives those in which a match may begin."""
        self._rows, self._masks = rows, masks.tolist()
        self._paths.clear()
        if self._columns:
            frame = rows.rows.with_columns(pl.Series("__rank", rows.ranks))
            computed = [
                earlier(value, back).alias(f"__{number}")
                for number, (value, back) in enumerate(self._columns)
            ]
            found = project(frame, computed)
            for column, values in zip(self._columns.values(), found, strict=True):
                column[:] = values.to_list()
        first = sum({1 << self._automaton.of[place] for place in self._automaton.first})
        usable: list[int] = (((masks & first) != 0) & ~rows.back).nonzero()[0].tolist()
        return usable

    def attempt(self, start: int) -> int | None:
        """The last row of the match from there on; -1: there is none, None: not known yet."""
        rows, limit = self._rows, self._rows.limit(start)
        stop = rows.stops[start]
        threads, end, begin = self._first, -1, start
        if rows.goes_on[start] and rows.known[stop] - rows.known[start] >= LONG:
            attempt = self._begun.pop(self._key(start), None)
            if attempt is not None and attempt.rows == rows.known[stop] - rows.known[start]:
                threads, end = self._moved(attempt, start)
                begin += attempt.rows
        end, at, threads = self._go(start, begin, limit, threads, end)
        is_open = at < 0 and limit == stop and not rows.is_over(start)
        self.ended += at < 0 and rows.is_full(start)
        if is_open and stop - start >= LONG:
            path = self._paths.get(start)
            self._begun[self._key(start)] = _Attempt(start, stop - start, end, path, threads)
        return None if is_open else end

    def _key(self, row: int) -> tuple[Any, ...]:
        """The partition of a row."""
        return self._rows.key(row, self._partition)

    def _moved(self, attempt: _Attempt, start: int) -> tuple[_Threads, int]:
        """Threads and last row of an attempt, whose rows stand elsewhere now."""
        by = start - attempt.start

        def moved(known: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(
                tuple(row + by for row in value) if slot in self._navigations else value
                for slot, value in enumerate(known)
            )

        self._paths[start] = attempt.path
        threads = [(place, moved(known), path) for place, known, path in attempt.threads]
        return threads, attempt.end + by if attempt.end >= 0 else -1

    def walk(self, start: int, limit: int) -> tuple[int, int]:
        """The last row of the best match before a row, and the row at which nothing went on.

        -1: there is none; something could go on behind the limit.
        """
        return self._go(start, start, limit, self._first, -1)[:2]

    @property
    def _first(self) -> _Threads:
        return [(place, self._nothing, None) for place in self._automaton.first]

    def _go(
        self, start: int, begin: int, limit: int, threads: _Threads, end: int
    ) -> tuple[int, int, _Threads]:
        """The same from some row on, with the threads and the match so far; and the threads."""
        automaton, conditions, updates = self._automaton, self._conditions, self._updates
        of, after, masks = automaton.of, automaton.after, self._masks
        for row in range(begin, limit):
            mask, ended = masks[row], False
            found: _Threads = []
            seen: set[tuple[int, tuple[Any, ...]]] = set()
            for place, known, path in threads:
                variable = of[place]
                if not mask >> variable & 1:
                    continue
                if updates[variable]:
                    changed = list(known)
                    for slot, update in updates[variable]:
                        changed[slot] = update(changed[slot], row)
                    known = tuple(changed)
                condition = conditions[variable]
                if condition is not None and condition(known, row) is not True:
                    continue
                longer = (path, variable)
                for then in after[place]:
                    if then == ACCEPT:
                        end, ended = row, True
                        self._paths[start] = longer
                        break
                    if (then, known) not in seen:
                        seen.add((then, known))
                        found.append((then, known, longer))
                if ended:
                    break
            threads = found
            if not threads:
                return end, row, threads
        return end, -1, threads

    def variables(self, start: int, end: int) -> list[int]:
        """The variable of each row of the match that was found there last."""
        found, path = [], self._paths[start]
        while path is not None:
            path, variable = path
            found.append(variable)
        return found[::-1]


def _nothing(leaf: Expression) -> Any:
    """What is known of a leaf before the first row."""
    if isinstance(leaf, Navigation):
        return ()
    assert isinstance(leaf, MatchAggregate)
    match leaf.aggregate.function:
        case "count":
            return 0
        case "sum" | "avg":
            return (0, 0)
    return None


def _added(known: tuple[Any, int], value: Any) -> tuple[Any, int]:
    return known if value is None else (known[0] + value, known[1] + 1)


def _extreme(known: Any, value: Any, least: bool) -> Any:
    """The less (or greater) of two; NaN is greater than every other number."""
    if known is None or value is None:
        return value if known is None else known
    has_nan = known != known or value != value
    is_less = known == known if has_nan else known <= value
    return known if is_less is least else value
