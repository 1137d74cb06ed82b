"""Inputs: what a join's driver and its tactics ask of whoever stores rows and finds partners.

`pair_inputs` does it for two, of every kind of join; `mjoin` for several at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from penstock.kernel.joins.key_index import KeyIndex
from penstock.kernel.joins.keys import HASHED_BY
from penstock.kernel.joins.reach import Reach
from penstock.kernel.joins.state import JoinState
from penstock.kernel.progress.release import Need, Times, Waiting


class Inputs(ABC):
    """The inputs of a join; lists have an entry for each of them."""

    state: JoinState  # the operator's
    names: list[str]  # of their tables
    on: list[str]  # their time, as rows come
    times: list[str]  # the same in results
    progressing: list[int]  # the inputs whose time results have, and which progresses there
    output: Sequence[str] | None = None  # columns of results; None: all that are found
    reach: Reach
    indexes: Sequence[KeyIndex]

    @property
    def ports(self) -> int:
        return len(self.on)

    def tables(self) -> dict[str, str]:
        """The tables that it keeps rows in, and the column that tells their time."""
        return {index.table: index.on for index in self.indexes}

    def meet(self, port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Join new rows with what is stored, and store those that can still find partners."""
        if self.state.hashed_by != HASHED_BY:
            for index in self.indexes:
                index.hash_again(self.state)
            self.state.hashed_by = HASHED_BY
        return self.join(port, rows)

    @abstractmethod
    def join(self, port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The same, where hashes of stored rows are ours."""

    def purge(self, port: int, keep_from: int) -> Iterable[pl.DataFrame]:
        """Forget stored rows below; gives those that come out because they never met a partner."""
        for index in self.indexes:
            if index.port == port:
                index.store.purge(self.state.table(index.table), keep_from)
        return ()

    def held(self) -> Iterable[Waiting]:
        """Rows that leave when it is certain that they have no partner."""
        return ()

    def passes(self, port: int, times: Times) -> Iterator[Waiting]:
        """A row may find partners at once; they lie at most so far back."""
        time = times[self.on[port]]
        if time is not None:
            yield Waiting((), self.least_times(port, time), certain=False)

    def least_times(self, port: int, time: int) -> Times:
        """Of a result with a row of that time."""
        return {
            self.times[each]: time if each == port else self.reach.first(each, port, time)
            for each in self.progressing
        }

    def needs(self, bounds: Iterable[int]) -> tuple[Need, ...]:
        """That inputs have these bounds."""
        return tuple(Need(port, self.on[port], bound) for port, bound in enumerate(bounds))
