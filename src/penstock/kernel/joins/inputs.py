"""Inputs: what a join's driver and its tactics ask of whoever stores rows and finds partners.

`pair_inputs` does it for two, of every kind of join; `mjoin` for several at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import polars as pl

from penstock.kernel.joins.key_index import KeyIndex
from penstock.kernel.joins.keys import HASHED_BY
from penstock.kernel.joins.reach import Reach
from penstock.kernel.joins.state import JoinState
from penstock.kernel.progress.release import Need, Times, Waiting


class KeptFor(Protocol):
    """Others that need rows of a join's inputs (`migration/retention`)."""

    def keep_from(self, port: int) -> int: ...

    def follow(self) -> None: ...


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
    #: What else than the other inputs may need rows of an input.
    retained: Sequence[KeptFor] = ()

    @abstractmethod
    def columns(self, port: int) -> Sequence[str]:
        """The columns of an input's rows as they are stored."""

    @property
    @abstractmethod
    def found(self) -> Sequence[str]:
        """The columns of results as they are found, before `output`."""

    @property
    def ports(self) -> int:
        return len(self.on)

    def tables(self) -> dict[str, str]:
        """The tables that it keeps rows in, and the column that tells their time."""
        return {index.table: index.on for index in self.indexes}

    def meet(self, port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Join new rows with what is stored, and store those that can still find partners."""
        self.have_our_hashes()
        return self.join(port, rows)

    def have_our_hashes(self) -> None:
        """Another version of Polars may have kept the state: hash the rows again then."""
        if self.state.hashed_by != HASHED_BY:
            for index in self.indexes:
                index.hash_again(self.state)
            self.state.hashed_by = HASHED_BY

    @abstractmethod
    def join(self, port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The same, where hashes of stored rows are ours."""

    @abstractmethod
    def put_in(self, port: int, rows: pl.DataFrame) -> None:
        """Store rows as they come, without looking for partners."""

    @abstractmethod
    def results(self) -> Iterator[pl.DataFrame]:
        """All results of the rows that are stored."""

    def keep_from(self, port: int) -> int:
        """First timestamp of an input's rows to keep; the state notes that none below is."""
        least = self.reach.keep_from(port, self.state.bounds)
        least = min((least, *(each.keep_from(port) for each in self.retained)))
        self.state.forgotten[port] = max(self.state.forgotten[port], least)
        return least

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
