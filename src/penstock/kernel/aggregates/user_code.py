"""What a user's aggregate computes: for many groups at once, whatever way it is written.

    vectorised    add(groups, *arguments)   -> a column of the state per column, a place per group
                  merge(groups, *state)     -> the same of states
                  subtract(state, gone)     -> the same, place by place
                  result(*state)            -> a column of results
    row by row    empty() -> state;  add(state, *arguments) -> state;  merge(state, other) -> state
                  subtract(state, gone) -> state;  result(state) -> value

A state of which every column is NULL is that of no rows: code of users never gets it to merge or to
subtract, and its result is that of `empty()`, or NULL without one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from penstock.errors import PenstockError, UserCodeError
from penstock.kernel.aggregates.grouping import Grouping, Ids
from penstock.kernel.types import polars_type
from penstock.kernel.user_columns import blamed, failed, kept, seen, shown_row, values_as
from penstock.model.schema import Column
from penstock.model.user_defined import UserAggregate, code_of

Series: TypeAlias = Sequence[pl.Series]

#: The column of `Members.frame` that tells the group.
GROUP = "group"


class Members(Grouping):
    """Which group each row is in, and what groups make of a column: `groups` of users' code.

    Groups are numbered 0 … size - 1, none is empty, and `ids` are those of the rows.
    """

    def sum(self, values: pl.Series) -> pl.Series:
        """The sum per group: BIGINT of whole numbers, else DOUBLE."""
        wide = pl.Int64 if values.dtype.is_integer() or values.dtype == pl.Boolean else pl.Float64
        return super().sum(values.cast(wide))

    def frame(self, **columns: pl.Series) -> pl.DataFrame:
        """The rows as a table, with the number of their group as the column `group`."""
        return pl.DataFrame({GROUP: self.ids, **columns})


@dataclass(frozen=True)
class UserCode:
    """The code of a declared aggregate."""

    of: UserAggregate

    def start(self, arguments: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        """The state of each group of rows; rows in which an argument is NULL do not count."""
        there = _not_null(arguments)
        if there is None:
            with self.of.around():
                return self._start(arguments, groups)
        rows = [column.filter(pl.Series(there)) for column in arguments]
        return self._scattered(rows, groups.ids[there], groups.size, self._start)

    def merge(self, states: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        """The state of each group of states."""
        there = _not_empty(states)
        if there is None:
            with self.of.around():
                return self._merge(states, groups)
        states = [column.filter(pl.Series(there)) for column in states]
        return self._scattered(states, groups.ids[there], groups.size, self._merge)

    def subtract(self, states: Series, gone: Series) -> tuple[pl.Series, ...]:
        """States without what has gone of each; only where something has."""
        there = _not_empty(gone)
        if there is None:
            with self.of.around():
                return self._subtract(states, gone)
        index = np.flatnonzero(there)
        if not len(index):
            return tuple(states)
        with self.of.around():
            fewer = self._subtract(_taken(states, index), _taken(gone, index))
        places = np.arange(len(there))
        places[index] = len(there) + np.arange(len(index))
        return tuple(
            pl.concat([old, new]).gather(places) for old, new in zip(states, fewer, strict=True)
        )

    def result(self, states: Series) -> pl.Series:
        """The answer for each state."""
        there = _not_empty(states)
        if there is None:
            with self.of.around():
                return self._result(states)
        index = np.flatnonzero(there)
        with self.of.around():
            known = self._result(_taken(states, index)) if len(index) else None
            nothing = self._of_nothing()
        found = nothing if known is None else pl.concat([nothing, known])
        places = np.zeros(len(there), dtype=np.int64)
        places[index] = 1 + np.arange(len(index))
        return found.gather(places)

    def _scattered(
        self,
        columns: Series,
        ids: Ids,
        size: int,
        compute: Callable[[Series, Grouping], tuple[pl.Series, ...]],
    ) -> tuple[pl.Series, ...]:
        """What the groups with rows come to, and the state of nothing for the others."""
        if not len(ids):
            return tuple(pl.Series([None], dtype=t).new_from_index(0, size) for t in self._types)
        present, dense = np.unique(ids, return_inverse=True)
        with self.of.around():
            found = compute(columns, Grouping(dense.astype(np.int64), len(present)))
        if len(present) == size:
            return found
        places = np.full(size, len(present))
        places[present] = np.arange(len(present))
        # One more, of nothing, for the groups that have none.
        return tuple(pl.concat([column, column.clear(1)]).gather(places) for column in found)

    @property
    def _types(self) -> list[pl.DataType]:
        return [polars_type(column.type) for column in self.of.state]

    def _start(self, arguments: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        raise NotImplementedError

    def _merge(self, states: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        raise NotImplementedError

    def _subtract(self, states: Series, gone: Series) -> tuple[pl.Series, ...]:
        raise NotImplementedError

    def _result(self, states: Series) -> pl.Series:
        raise NotImplementedError

    def _of_nothing(self) -> pl.Series:
        raise NotImplementedError


class Vectorised(UserCode):
    """Code that takes columns of many groups."""

    def _start(self, arguments: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        rows = _seen(arguments, self.of.arguments)

        def add(some: Series, ids: Ids) -> tuple[pl.Series, ...]:
            members = _members(ids, groups.size if len(ids) == len(groups.ids) else None)
            return self._state(code_of(self.of).add(members, *some), members.size, "add")

        try:
            return add(rows, groups.ids)
        except PenstockError:
            raise
        except Exception as cause:
            guilty = _guilty(rows, groups.ids, add)
            raise failed(self.of, "add", shown_row(self.of.arguments, guilty), cause) from cause

    def _merge(self, states: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        seen_states = _seen(states, self.of.state)
        with blamed(self.of, "merge", f"{len(groups.ids):,} states"):
            members = Members(groups.ids, groups.size)
            merged = code_of(self.of).merge(members, *seen_states)
            return self._state(merged, groups.size, "merge")

    def _subtract(self, states: Series, gone: Series) -> tuple[pl.Series, ...]:
        a, b = _seen(states, self.of.state), _seen(gone, self.of.state)
        with blamed(self.of, "subtract", f"{len(a[0]):,} states"):
            return self._state(code_of(self.of).subtract(tuple(a), tuple(b)), len(a[0]), "subtract")

    def _result(self, states: Series) -> pl.Series:
        seen_states = _seen(states, self.of.state)
        with blamed(self.of, "result", f"{len(states[0]):,} states"):
            found = code_of(self.of).result(*seen_states)
            return kept(found, self.of.returns, len(states[0]), _whose(self.of, "result"))

    def _of_nothing(self) -> pl.Series:
        code = code_of(self.of)
        if not hasattr(code, "empty"):
            return pl.Series([None], dtype=polars_type(self.of.returns))
        with blamed(self.of, "empty", "no rows"):
            values = code.empty()
            values = values if isinstance(values, tuple | list) else (values,)
            columns = [
                kept([value], column.type, 1, _whose(self.of, "empty"))
                for value, column in zip(values, self.of.state, strict=True)
            ]
        return self._result(columns)

    def _state(self, given: Any, size: int, method: str) -> tuple[pl.Series, ...]:
        names = [column.name for column in self.of.state]
        if isinstance(given, pl.DataFrame):
            if GROUP in given.columns:
                groups = pl.DataFrame({GROUP: np.arange(size)})
                rows = given.with_columns(pl.col(GROUP).cast(pl.Int64))
                given = groups.join(rows, on=GROUP, how="left", maintain_order="left")
            given = given.to_dict()
        if isinstance(given, dict):
            lacking = [name for name in names if name not in given]
            if lacking:
                raise UserCodeError(f"{_whose(self.of, method)} gave no column `{lacking[0]}`")
            given = tuple(given[name] for name in names)
        if not isinstance(given, tuple | list):
            given = (given,)
        if len(given) != len(names):
            raise UserCodeError(
                f"{_whose(self.of, method)} gave {len(given)} columns, and its state has "
                f"{len(names)}: {', '.join(names)}"
            )
        return tuple(
            kept(each, column.type, size, _whose(self.of, method))
            for each, column in zip(given, self.of.state, strict=True)
        )


class RowByRow(UserCode):
    """Code that takes one row at a time."""

    def _start(self, arguments: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        code, of = code_of(self.of), self.of
        states: list[Any] = [None] * groups.size
        begun = [False] * groups.size
        rows = zip(*(c.to_list() for c in _seen(arguments, of.arguments)), strict=True)
        row: tuple[Any, ...] = ()
        try:
            for group, row in zip(groups.ids.tolist(), rows, strict=True):
                if not begun[group]:
                    states[group], begun[group] = code.empty(), True
                states[group] = code.add(states[group], *row)
        except Exception as cause:
            raise failed(of, "add", shown_row(of.arguments, row), cause) from cause
        return self._packed(states, "add")

    def _merge(self, states: Series, groups: Grouping) -> tuple[pl.Series, ...]:
        code = code_of(self.of)
        merged: list[Any] = [None] * groups.size
        begun = [False] * groups.size
        pair: tuple[Any, ...] = ()
        try:
            for group, state in zip(groups.ids.tolist(), self._unpacked(states), strict=True):
                if begun[group]:
                    pair = merged[group], state
                    merged[group] = code.merge(*pair)
                else:
                    merged[group], begun[group] = state, True
        except Exception as cause:
            raise failed(self.of, "merge", f"the states {pair!r}", cause) from cause
        return self._packed(merged, "merge")

    def _subtract(self, states: Series, gone: Series) -> tuple[pl.Series, ...]:
        code, found = code_of(self.of), []
        for pair in zip(self._unpacked(states), self._unpacked(gone), strict=True):
            with blamed(self.of, "subtract", f"the states {pair!r}"):
                found.append(code.subtract(*pair))
        return self._packed(found, "subtract")

    def _result(self, states: Series) -> pl.Series:
        return self._results(self._unpacked(states))

    def _of_nothing(self) -> pl.Series:
        with blamed(self.of, "empty", "no rows"):
            empty = code_of(self.of).empty()
        return self._results(iter([empty]))

    def _results(self, states: Iterator[Any]) -> pl.Series:
        code, found = code_of(self.of), []
        state: Any = None
        try:
            for state in states:
                found.append(code.result(state))
        except Exception as cause:
            raise failed(self.of, "result", f"the state {state!r}", cause) from cause
        return kept(found, self.of.returns, len(found), _whose(self.of, "result"))

    def _packed(self, states: list[Any], method: str) -> tuple[pl.Series, ...]:
        whose, columns = _whose(self.of, method), self.of.state
        if self.of.has_json_state:
            with blamed(self.of, method, "a state that JSON cannot hold"):
                return (values_as([json.dumps(state) for state in states], pl.String()),)
        if len(columns) == 1:
            return (kept(states, columns[0].type, len(states), whose),)
        for state in states:
            if not isinstance(state, tuple | list) or len(state) != len(columns):
                raise UserCodeError(
                    f"{whose} gave the state {state!r}",
                    hint=f"a state is a tuple of {', '.join(each.name for each in columns)}",
                )
        values = zip(*states, strict=True) if states else ((),) * len(columns)
        return tuple(
            kept(each, column.type, len(states), whose)
            for each, column in zip(values, columns, strict=True)
        )

    def _unpacked(self, states: Series) -> Iterator[Any]:
        if self.of.has_json_state:
            return map(json.loads, states[0].to_list())
        columns = [column.to_list() for column in _seen(states, self.of.state)]
        return iter(columns[0]) if len(columns) == 1 else zip(*columns, strict=True)


def _whose(of: UserAggregate, method: str) -> str:
    return f"`{method}` of aggregate `{of.name}`"


def _seen(columns: Series, declared: Sequence[Column]) -> list[pl.Series]:
    return [
        seen(column, each.type).alias(each.name)
        for column, each in zip(columns, declared, strict=True)
    ]


def _taken(columns: Series, index: Ids) -> list[pl.Series]:
    return [column.gather(index) for column in columns]


def _not_null(columns: Series) -> Any:
    """Where all are there; None: everywhere."""
    gaps = [column for column in columns if column.null_count()]
    if not gaps:
        return None
    return np.logical_and.reduce([column.is_not_null().to_numpy() for column in gaps])


def _not_empty(states: Series) -> Any:
    """Where a state is not that of no rows; None: everywhere."""
    if any(not column.null_count() for column in states):
        return None
    return np.logical_or.reduce([column.is_not_null().to_numpy() for column in states])


def _members(ids: Ids, size: int | None) -> Members:
    if size is not None:
        return Members(ids, size)
    present, dense = np.unique(ids, return_inverse=True)
    return Members(dense.astype(np.int64), len(present))


def _guilty(rows: Series, ids: Ids, add: Callable[[Series, Ids], Any]) -> list[Any]:
    """The row at which columns fail, or the first of those that only fail together."""
    low, high = 0, len(ids)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            add([column[low:middle] for column in rows], ids[low:middle])
        except PenstockError:
            break
        except Exception:
            high = middle
        else:
            low = middle
    return [column[low] for column in rows]
