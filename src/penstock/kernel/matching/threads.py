"""Matches where conditions depend on the match so far: all ways to go on are followed, row by row.

A *thread* is one way to have come so far: the place that may take the next row, what conditions ask
about the match (`known`), and which row was of what. Threads stand in the order of preference. Two
that are at the same place and know the same have the same future, so the less preferred one ends;
when one reaches the end of the pattern, all that are less preferred do.

`known` has a value for each thing that conditions ask: the rows of a navigation, counts and sums of
an aggregate. A row that is tried counts in it, as one of its variable.
"""

from __future__ import annotations

from collections.abc import Callable
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
from penstock.model.types import Type

_Update = Callable[[Any, int], Any]


class ThreadSearch:
    """Tries matches from given rows on."""

    def __init__(self, automaton: Automaton, conditions: VariableConditions) -> None:
        self._automaton = automaton
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
        is_float = leaf.type in (Type.DOUBLE, Type.FLOAT)
        if function == "avg":
            return lambda known, row: known[slot][0] / known[slot][1] if known[slot][1] else None
        if function == "sum":

            def total(known: tuple[Any, ...], row: int) -> Any:
                found, count = known[slot]
                if not count:
                    return None
                return found if is_float else (found + (1 << 63)) % (1 << 64) - (1 << 63)

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
        limit = self._rows.limit(start)
        end, at = self.walk(start, limit)
        is_open = at < 0 and limit == self._rows.stops[start] and not self._rows.is_over(start)
        return None if is_open else end

    def walk(self, start: int, limit: int) -> tuple[int, int]:
        """The last row of the best match before a row, and the row at which nothing went on.

        -1: there is none; something could go on behind the limit.
        """
        automaton, conditions, updates = self._automaton, self._conditions, self._updates
        of, after, masks = automaton.of, automaton.after, self._masks
        threads: list[tuple[int, tuple[Any, ...], Any]]
        threads = [(place, self._nothing, None) for place in automaton.first]
        end = -1
        for row in range(start, limit):
            mask, found, ended = masks[row], [], False
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
                return end, row
        return end, -1

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
