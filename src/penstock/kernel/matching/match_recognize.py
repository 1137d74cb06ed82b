"""MatchRecognize: matches of a pattern in the rows of each partition, in their order.

Rows wait until the bound has passed them: then all rows of their time are here, and rows of equal
time can be put in order. Partitions that have got rows are searched together, with what they hold:
the rows of an attempt at a match that is not decided, and as many before it as PREV looks back. An
attempt is decided when no row can make it longer or another way preferred; when the bound is more
than WITHIN beyond its first row; when it has had as many rows as it may; or when the input is over.
Then the match is output, the rows before the place where the search goes on are forgotten, and it
goes on. Partitions that hold many rows are kept apart (`long_partitions`).

The times that a match has been given as measures are at or after its first row. So behind here the
bound is the first row of the oldest attempt; for the time of the last row, as many rows further as
the shortest match has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.matching.automaton import Automaton
from penstock.kernel.matching.conditions import VariableConditions, rows_looked_back
from penstock.kernel.matching.long_partitions import MANY_ROWS, LongPartitions, unnumbered
from penstock.kernel.matching.measures import Measures
from penstock.kernel.matching.scan import Scan
from penstock.kernel.matching.search import (
    NextMatch,
    Search,
    find_matches,
    next_matches,
)
from penstock.kernel.matching.sorted_rows import BACK, SEEN, SOON, START, SortedRows
from penstock.kernel.matching.threads import ThreadSearch
from penstock.kernel.operator import Operator, Output
from penstock.kernel.operators.least_held import LeastHeld
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State
from penstock.model.match import MatchDefinition, Navigation
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END

#: Rows that are looked through to say which match comes next, and how often one may be tried.
MOST_ROWS, MOST_TRIED = 1 << 12, 1 << 14


@dataclass
class MatchState(State):
    """Rows that the bound has not passed; rows of attempts that are not decided; bounds; counts."""

    waiting: SegmentTable = table()
    held: SegmentTable = table()
    long: SegmentTable = table()  # of partitions that have many
    bound: int = BEGINNING
    sent: dict[str, int] = field(default_factory=dict)
    ended: int = 0  # attempts that had as many rows as one can have


class MatchRecognize(Operator):
    """Looks for matches in the order of a progressing column."""

    state: MatchState

    def __init__(self, match: MatchDefinition) -> None:
        super().__init__()
        self.state = MatchState(SegmentTable(on=match.on), SegmentTable(on=START))
        self._match = match
        automaton = Automaton(match.pattern)
        self._conditions = VariableConditions(match)
        self._back = rows_looked_back(match, automaton)
        self._least_rows = match.pattern.least_rows
        self._search: Search
        self._long: LongPartitions | None = None
        if self._conditions.depend_on_match:
            self._search = ThreadSearch(automaton, self._conditions, match.partition)
        else:
            all_count = match.skip.to == "next"
            scan = Scan(automaton, match.partition, match.within, all_count=all_count)
            self._search = scan
            self._long = LongPartitions(match, self._conditions, scan, self._back)
        self._measures = Measures(match)
        self._least = LeastHeld()
        self._held = self.state.held

    def useful(self) -> frozenset[str]:
        return frozenset((self._match.on,))

    @property
    def ended_attempts(self) -> int | None:
        return None if self._match.most_rows is None else self.state.ended

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        # A row without a time has no place in the order.
        rows = block.rows.select(self._match.columns).drop_nulls(self._match.on)
        self.state.waiting.append_sorted(rows)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if punctuation.on != self._match.on or punctuation.bound <= self.state.bound:
            return
        self._find_restored()
        self.state.bound = bound = punctuation.bound
        coming = self.state.waiting.take_below(bound)
        found = self._look(coming, bound) if coming or self._is_due(bound) else None
        if found is not None:
            out.batch(Block(found))
        for name, time in self._match.times.items():
            held = min(bound, self._oldest(_held_by(time)))
            if held > self.state.sent.get(name, BEGINNING):
                self.state.sent[name] = held
                out.punctuation(Punctuation(name, held))

    def _is_due(self, bound: int) -> bool:
        """Whether an attempt is decided by the bound alone."""
        if bound >= END:
            return bool(self.state.held.segments or self.state.long.segments)
        return self._oldest(START) < self._over_below(bound)

    def _oldest(self, column: str) -> int:
        """The least time that rows of attempts which are not decided hold back."""
        held = self._least.of(self.state.held, column)
        if self._long is None:
            return held
        behind = self._least_rows - 1 if column == SOON else 0
        return min(held, self._long.first_start(behind))

    def _find_restored(self) -> None:
        """Where state was restored, what is remembered was of other rows."""
        state = self.state
        if state.held is self._held:
            return
        self._held = state.held
        self._search.forget()
        if self._long is not None:
            self._long.forget()
            for rows in state.long:
                state.held.append(unnumbered(rows))
            state.long.clear()

    def _over_below(self, bound: int) -> int:
        """Attempts whose first row is below that are decided."""
        within = self._match.within
        return END if bound >= END else BEGINNING if within is None else bound - within

    def _look(self, coming: list[pl.DataFrame], bound: int) -> pl.DataFrame | None:
        """The results of all matches that are decided now."""
        recalled: list[pl.DataFrame] = []
        if self._long is not None:
            over = self._over_below(bound)
            recalled, coming = self._long.take(self.state.long, coming, bound, over)
        kept = self._take_held(coming, bound) + recalled
        if not kept and not coming:
            return None
        rows = SortedRows.of(_together(kept, coming), self._match, bound)
        masks = self._conditions.masks(rows)
        match = self._match
        ended = self._search.ended
        results = []
        for matches in find_matches(self._search, rows, masks, match.skip, match.variables):
            held = matches.held
            if matches.starts:
                results.append(self._measures.results(rows, matches))
        self.state.ended += self._search.ended - ended
        if bound < END:
            self._hold(rows, held)
        return pl.concat(results) if results else None

    def _take_held(self, coming: list[pl.DataFrame], bound: int) -> list[pl.DataFrame]:
        """Take out the rows of partitions that have got rows, or whose attempt is over."""
        held, keys = self.state.held, list(self._match.partition)
        if not held.segments:
            return []
        if bound >= END or (coming and not keys):
            taken = list(held)
            held.clear()
            return taken
        over = pl.col(START) < self._over_below(bound)
        if not coming:
            return held.take_where(lambda rows: rows.select(over).to_series().to_numpy())
        having = pl.concat([rows.select(keys) for rows in coming]).unique()
        having = having.with_columns(pl.lit(True).alias("__met"))

        def going(rows: pl.DataFrame) -> np.typing.NDArray[np.bool_]:
            met = rows.select(*keys, over.alias("__over")).join(
                having, on=keys, how="left", nulls_equal=True, maintain_order="left"
            )
            leaves = pl.col("__met").is_not_null() | pl.col("__over")
            return met.select(leaves).to_series().to_numpy()

        return held.take_where(going)

    def _hold(self, rows: SortedRows, held: Mapping[int, int]) -> None:
        """Keep what is not decided, and what PREV may look back to."""
        firsts = rows.partitions
        stops = rows.stop[firsts]
        starts = stops.copy()
        if held:
            open_ = np.searchsorted(stops, list(held))
            starts[open_] = list(held.values())
        sizes = stops - firsts
        if self._long is not None and (is_long := stops - starts >= MANY_ROWS).any():
            self._long.keep(self.state.long, rows, starts[is_long].tolist())
            kept_from = np.where(is_long, stops + self._back, starts)
        else:
            kept_from = starts
        begin = np.repeat(kept_from, sizes)
        number = np.arange(len(rows.times))
        kept = number >= begin - self._back
        if not kept.any():
            return
        ends = starts + self._least_rows - 1
        times = np.append(rows.times, END)
        begun = times[np.where(starts < stops, starts, -1)]
        soon = times[np.where(ends < stops, ends, -1)]
        rows_kept = (
            rows.rows.with_columns(
                pl.Series(BACK, number < begin),
                pl.Series(START, np.repeat(begun, sizes)),
                pl.Series(SOON, np.repeat(soon, sizes)),
            )
            .filter(kept)
            .drop(SEEN)
        )
        self.state.held.append(rows_kept, lambda parts: pl.concat(parts, rechunk=True))

    # -- what it waits for --------------------------------------------------------------------

    def waits(self, inputs: Sequence[Cursor]) -> bool:
        state = self.state
        if state.waiting.segments:
            return True
        return self._match.within is not None and self._oldest(START) < END

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        state = self.state
        self._find_restored()
        count = state.waiting.rows + state.held.rows + state.long.rows
        if not count:
            return ()
        found: list[NextMatch] | None = None
        if count <= MOST_ROWS:
            kept = [*state.held, *map(unnumbered, state.long)]
            rows = SortedRows.of(_together(kept, state.waiting), self._match, END)
            masks = self._conditions.masks(rows)
            found = next_matches(self._search, rows, masks, MOST_TRIED)
        if found is None:
            return (self._next_at_the_earliest(),)
        needs = [(Need(0, self._match.on, each.bound),) for each in found]
        return [Waiting(n, self._times(rows, each)) for n, each in zip(needs, found, strict=True)]

    def _next_at_the_earliest(self) -> Waiting:
        """Before this nothing is decided; to look for matches in all rows takes too long."""
        lowest = self.state.waiting.lowest()
        first = END if lowest is None else lowest
        oldest = self._oldest(START)
        within = END if self._match.within is None else self._match.within
        bound = min(first + 1, oldest + within + 1, END)
        times = dict.fromkeys(self._match.times, min(oldest, first))
        return Waiting((Need(0, self._match.on, bound),), times, certain=False)

    def _times(self, rows: SortedRows, match: NextMatch) -> dict[str, int]:
        """The times that a match has as measures."""
        found = {}
        for name, time in self._match.times.items():
            meant = range(len(match.variables))
            if time.variable is not None:
                number = self._match.variables.index(time.variable)
                meant = [at for at in meant if match.variables[at] == number]  # type: ignore[assignment]
            found[name] = rows.ticks[match.start + meant[-1 if time.last else 0]]
        return found

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        """It may complete a match that has begun, or decide one."""
        time = times[self._match.on]
        if time is None:
            return ()
        least = min(time, self._oldest(START))
        needs = (Need(0, self._match.on, time + 1),)
        return (Waiting(needs, dict.fromkeys(self._match.times, least), certain=False),)

    def needed(self, on: str, bound: int) -> Needs | None:
        if on not in self._match.times:
            return None
        first = self.state.waiting.lowest()
        begun = self._oldest(_held_by(self._match.times[on]))
        oldest = min(END if first is None else first, begun)
        certain = bound >= END or oldest >= bound
        return Needs((Need(0, self._match.on, bound),), certain)

    def known(self, port: int, on: str) -> int:
        return self.state.bound if on == self._match.on else BEGINNING


def _together(held: Iterable[pl.DataFrame], new: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Rows that were held, and new ones."""
    before = (
        rows.drop(START, SOON, strict=False).with_columns(pl.lit(True).alias(SEEN)) for rows in held
    )
    unseen = {BACK: pl.lit(False), SEEN: pl.lit(False)}
    return pl.concat([*before, *(rows.with_columns(**unseen) for rows in new)])


def _held_by(time: Navigation) -> str:
    """What holds the bound of a measure back."""
    return SOON if time.variable is None and time.last else START
