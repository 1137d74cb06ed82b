"""JoinMeter: rates, and which share of pairs match, of the inputs of one join.

Time is cut into *cells*, as wide as the widest window of the join: rows of one cell are about as
far apart as rows that may match. In a cell the rows of every input are counted, their keys sketched
(`key_sketch`), and some rows kept to try other conditions by (`row_sample`). So it is known of
every two inputs which share of their pairs match, whether or not the running operators ever bring
just these two together; and of keys that only match for some time, as the number of an order does,
it is known within that time.

A cell is over when all inputs have bounds behind it. Every cell is looked at, so that changes show
within a few windows, and of a cell with many rows only a few rows, drawn at random, each of which
counts for those that are left out. What that loses is little: of a row's partners, an eighth of the
rows tells about 0.1, whatever their number. Rows are collected until there are some to look at
together. Where so little comes that this would still cost much beside the join, one cell in 2, 4, …
is looked at: by all groups of a pipeline the same, for its number tells. So it is, after the first
one, where nobody waits for changes to show (`least`).

A meter that may be gone with the next batch, as on Spark, tells after every batch what has come to
its cells since the last one (`report`), and whoever hears all groups adds it up. What it goes on by
are a few numbers, which are kept with the state (`facts`): cells may take many batches, and on
Spark a group is with one Python worker now and with another then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.kernel.block import Block
from penstock.kernel.buffer import Item
from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.keys import Keys
from penstock.kernel.joins.run import Codes
from penstock.kernel.statistics.cell import NOTHING, Cell, KeyOf, Tried, sum_of
from penstock.kernel.statistics.key_sketch import KeySketch, mixed
from penstock.kernel.statistics.measured_join import MeasuredCondition, MeasuredJoin, MeasuredPair
from penstock.kernel.statistics.row_sample import RowSample
from penstock.model.expressions import Ref
from penstock.model.joins import qualified
from penstock.model.timestamps import BEGINNING, END
from penstock.model.types import Type, common_type

#: Cells that are open at once; where there would be more, fewer are looked at.
OPEN = 8
#: Rows of an input that are looked at in a cell at least, if it has them; of more, one in so many.
LOOKED_AT, ONE_IN = 2_048, 8
#: Rows of an input that are looked at together.
TOGETHER = 32_768
#: What comes between two cells that are looked at, so that these cost little beside it: so many
#: rows; a block takes a join as long as some rows do.
BETWEEN, BLOCK = 49_152, 8_192
#: At least one cell in so many is looked at.
MOST = 1 << 20
#: Where nobody waits for changes to show, one cell in so many is, or fewer.
UNHURRIED = 8
#: Cells that are looked for one by one in rows that are in order.
NEAR = 64
#: Combinations of rows by which a condition is tried in a cell.
COMBINATIONS = 8_192


class JoinMeter:
    """Measures one join; `taps` are given what comes to each input."""

    def __init__(self, spec: MeasuredJoin) -> None:
        self.spec = spec
        #: One cell in so many is looked at, or fewer, when the first is over.
        self.least = 1
        self.closed: list[Cell] = []
        self._keys = keys_of(spec)
        #: Columns of whole numbers that are keys, on both sides.
        self._whole = {
            key_of(pair, side): [key.name for key in keys if isinstance(key, Ref)]
            for pair in spec.pairs
            for side, keys in enumerate((pair.mine, pair.theirs))
            if _is_whole(pair)
        }
        # Of a stream that is joined twice, conditions have one key, and columns of their own.
        self._tests = [(each, compile_expression(each.condition)) for each in spec.conditions]
        self._tested = frozenset[str]().union(*(each.condition.refs for each in spec.conditions))
        self._columns = [self._read(port) for port in range(len(spec.inputs))]
        self._samples: dict[tuple[int, int], RowSample] = {}  # by cell and input
        self._waiting: list[list[pl.DataFrame]] = [[] for _ in spec.inputs]  # to be looked at
        self._held = [0] * len(spec.inputs)  # rows that wait
        self._usual = [0] * len(spec.inputs)  # rows of a cell
        self._random = np.random.default_rng(len(spec.inputs))
        self._open: dict[int, Cell] = {}
        self._reported: dict[int, list[int]] = {}  # of open cells, the rows that were reported
        self._bounds = [BEGINNING] * len(spec.inputs)
        self._reached = BEGINNING  # cells that end here are over
        self._first, self._last = END, BEGINNING  # the times that have been seen
        self._came = 0  # since a cell was over, in rows …
        self._adapted: int | None = None  # … which was this one
        #: One cell in so many is looked at; for those before `_fresh`, one in `_before`.
        self._stride = self._before = 1
        self._fresh = BEGINNING

    @property
    def taps(self) -> list[Callable[[Item], None]]:
        """One for each input."""

        def tap(port: int) -> Callable[[Item], None]:
            def take(item: Item) -> None:
                if isinstance(item, Block):
                    self._take_rows(port, item.rows)
                elif not item.where and item.on == self.spec.inputs[port].on:
                    self._take_bound(port, item.bound)

            return take

        return [tap(port) for port in range(len(self.spec.inputs))]

    def take_closed(self) -> list[Cell]:
        """The cells that are over since this was asked."""
        closed, self.closed = self.closed, []
        return closed

    def report(self) -> dict[str, Any]:
        """What has come to cells since this was asked, as JSON; cells begin anew with it.

        looks      which cells are looked at (`is_looked_at`)
        reached    up to where all inputs have come
        parts      cells, with what has come since
        over       by cell that is over, the rows of each input in all of its parts
        """
        self._look_at_all()
        closed = self.take_closed()
        for cell in self._open.values():
            self._try_conditions(cell)
        parts = [*closed, *(cell for cell in self._open.values() if any(cell.looked_at))]
        said = {
            "looks": self._looks,
            "reached": self._reached,
            "parts": [cell.as_json() for cell in parts],
            "over": {cell.number: self._all_rows(cell) for cell in closed},
        }
        self._reported = {number: self._all_rows(cell) for number, cell in self._open.items()}
        self._open = {number: self._nothing(number) for number in self._open}
        if self._fresh * self.spec.width <= self._reached:
            self._before = self._stride  # all cells that were looked at otherwise are over
        return said

    @property
    def _looks(self) -> list[int]:
        """Which cells are looked at from now on."""
        return [self._stride, self._before, self._fresh]

    def facts(self) -> dict[str, Any]:
        """What a meter goes on by that has just reported, as JSON."""
        return {
            "looks": self._looks,
            "bounds": self._bounds,
            "times": [self._first, self._last],
            "usual": self._usual,
            "came": self._came,
            "adapted": self._adapted,
            "reported": self._reported,
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Go on where another meter was."""
        self._stride, self._before, self._fresh = facts["looks"]
        self._bounds, self._usual = list(facts["bounds"]), list(facts["usual"])
        self._reached = min(self._bounds)
        self._first, self._last = facts["times"]
        self._came, self._adapted = facts["came"], facts["adapted"]
        self._reported = {int(number): rows for number, rows in facts["reported"].items()}
        self._open = {number: self._nothing(number) for number in self._reported}

    def _all_rows(self, cell: Cell) -> list[int]:
        """The rows of each input in a cell, with those that were reported."""
        before = self._reported.get(cell.number, [0] * len(cell.rows))
        return [a + b for a, b in zip(before, cell.rows, strict=True)]

    def _nothing(self, number: int) -> Cell:
        """A cell without rows."""
        count = len(self.spec.inputs)
        rows, bytes_, looked_at = ([0] * count for _ in range(3))
        sketches = {of: KeySketch() for of in self._keys}
        return Cell(number, 0, rows, bytes_, looked_at, [0.0] * count, sketches)

    def open_cells(self) -> list[Cell]:
        """The cells that rows still come to, as they are."""
        self._look_at_all()
        return [self._finished(cell) for cell in self._open.values()]

    def _look_at_all(self) -> None:
        for port in range(len(self.spec.inputs)):
            self._look(port)

    def _read(self, port: int) -> list[str]:
        """The columns of an input that keys and conditions are about."""
        of = self.spec.inputs[port]
        pairs = self.spec.pairs
        sides = [side for e in pairs for side in zip(e.ends, (e.mine, e.theirs), strict=True)]
        keys = {ref for end, keys in sides if end == port for key in keys for ref in key.refs}
        tested = {c.name for c in of.columns if qualified(of.name, c.name) in self._tested}
        return [c.name for c in of.columns if c.name in {of.on, *keys, *tested}]

    # -- rows ---------------------------------------------------------------------------------

    def _take_rows(self, port: int, rows: pl.DataFrame) -> None:
        """Collect rows until there are some to look at together."""
        self._came += rows.height + BLOCK
        self._waiting[port].append(rows)
        self._held[port] += rows.height
        if self._held[port] >= TOGETHER:
            self._look(port)

    def _look(self, port: int) -> None:
        """Look at rows that were collected."""
        waiting, self._waiting[port], self._held[port] = self._waiting[port], [], 0
        if not waiting:
            return
        of, width = self.spec.inputs[port], self.spec.width
        came = sum(each.height for each in waiting)
        each_row = sum(each.estimated_size() for each in waiting) / came, len(waiting) / came
        rows = self._columns_of(port, waiting)
        column = rows.get_column(of.on).cast(pl.Int64)
        if column.null_count():
            rows, column = rows.filter(column.is_not_null()), column.drop_nulls()
        if not rows.height:
            return
        times: NDArray[np.int64] = column.to_numpy()
        first, last = int(times.min()) - of.shift, int(times.max()) - of.shift
        self._first, self._last = min(self._first, first), max(self._last, last)
        step = min(self._stride, self._before)
        near = range(-(-(first // width) // step) * step, last // width + 1, step)
        if not near:
            return
        one_in = self._one_in(port, rows.height // (last // width - first // width + 1))
        if one_in > 1:
            drawn = self._drawn(rows.height, one_in)
            rows, times = rows[pl.Series(drawn)], times[drawn]
        if len(near) <= NEAR and bool((times[1:] >= times[:-1]).all()):
            starts = [number * width + of.shift for number in near]
            begin = np.searchsorted(times, starts)
            end = np.searchsorted(times, [start + width for start in starts])
            there = [n for n, some in zip(near, end > begin, strict=True) if some]
            places = dict(zip(near, zip(begin.tolist(), end.tolist(), strict=True), strict=True))
            for number in self._looked_at(there):
                low, high = places[number]
                self._add(number, port, rows.slice(low, high - low), each_row, one_in)
            return
        numbers = (times - of.shift) // width
        begun = numbers[1:][numbers[1:] != numbers[:-1]]  # few, where rows are nearly in order
        for number in self._looked_at(map(int, np.unique(np.append(begun, numbers[:1])))):
            part = rows if step == 1 and len(near) == 1 else rows[np.flatnonzero(numbers == number)]
            self._add(number, port, part, each_row, one_in)

    def _columns_of(self, port: int, blocks: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The columns that are looked at, of all blocks; Polars takes longer to select them."""
        parts = ([block.get_column(name) for block in blocks] for name in self._columns[port])
        return pl.DataFrame([each[0] if len(each) == 1 else pl.concat(each) for each in parts])

    def _one_in(self, port: int, rows: int) -> int:
        """Of how many rows one is looked at, where so many have come of a cell."""
        return min(ONE_IN, max(1, max(self._usual[port], rows) // LOOKED_AT))

    def _drawn(self, rows: int, one_in: int) -> NDArray[np.uint32]:
        """The rows that are looked at: one of every few, as likely any of them as another."""
        begin = np.arange(0, rows, one_in, dtype=np.uint32)
        drawn = begin + self._random.integers(0, one_in, len(begin), dtype=np.uint32)
        return drawn[drawn < rows]

    def _is_looked_at(self, number: int) -> bool:
        looks = self._stride, self._before, self._fresh
        return is_looked_at(number, looks) and (number + 1) * self.spec.width > self._reached

    def _looked_at(self, numbers: Iterable[int]) -> list[int]:
        """The cells among these to look at."""
        found = [number for number in numbers if self._is_looked_at(number)]
        while len(self._open.keys() | found) > OPEN:
            self._look_at_fewer()
            found = [number for number in found if self._is_looked_at(number)]
        return found

    def _add(
        self, number: int, port: int, rows: pl.DataFrame, each: tuple[float, float], times: int
    ) -> None:
        """Look at rows of a cell, each of which was drawn from so many.

        `each` is what one has: bytes, and its share of a block.
        """
        size, share = each
        cell = self._open.get(number)
        if cell is None:
            cell = self._open[number] = self._nothing(number)
        cell.rows[port] += rows.height * times
        cell.bytes[port] += round(rows.height * times * size)
        cell.looked_at[port] += rows.height
        cell.blocks[port] += rows.height * times * share
        for of, keys in self._keys.items():
            if of[0] == port:
                cell.sketches[of].add(self._hashes(of, keys, keys.without_null(rows)), times)
        if any(port in condition.inputs for condition in self.spec.conditions):
            self._sample(number, port).add(rows)

    def _hashes(self, of: KeyOf, keys: Keys, rows: pl.DataFrame) -> Codes:
        if of not in self._whole:
            return keys.whole_hashes(rows)
        columns = (rows.get_column(name).cast(pl.Int64).to_numpy() for name in self._whole[of])
        return mixed(*columns)

    def _sample(self, number: int, port: int) -> RowSample:
        if (number, port) not in self._samples:
            of = self.spec.inputs[port]
            names = {column.name: qualified(of.name, column.name) for column in of.columns}
            columns = {own: name for own, name in names.items() if name in self._tested}
            self._samples[number, port] = RowSample(columns, seed=port)
        return self._samples[number, port]

    # -- cells --------------------------------------------------------------------------------

    def _take_bound(self, port: int, bound: int) -> None:
        shift = 0 if bound in (BEGINNING, END) else self.spec.inputs[port].shift
        self._bounds[port] = max(self._bounds[port], bound - shift)
        reached = min(self._bounds)
        if reached <= self._reached:
            return
        if reached // self.spec.width > self._reached // self.spec.width:
            self._look_at_all()
        self._reached = reached
        over = [n for n in sorted(self._open) if (n + 1) * self.spec.width <= reached]
        for number in over:
            self.closed.append(self._finished(self._open.pop(number)))
        if over:
            self._usual = self._all_rows(self.closed[-1])
            self._forget_samples()
            self._adapt()

    def _adapt(self) -> None:
        """Look at more cells or at fewer, by what came in a cell since some were over."""
        if self._reached == END:
            return
        now = self._reached // self.spec.width
        before = self._first // self.spec.width if self._adapted is None else self._adapted
        each = self._came / max(1, now - before)
        self._came, self._adapted = 0, now
        looked = self._stride
        while self._stride < self.least or (each * self._stride < BETWEEN and self._stride < MOST):
            self._look_at_fewer()
        if self._stride > looked and self._fresh <= now:
            self._before, self._fresh = looked, now  # those that are over count
        if self._stride > self.least and each * self._stride > 3 * BETWEEN:
            # Of cells that have begun already only a part would be seen.
            self._before = max(self._before, self._stride)
            self._fresh = self._last // self.spec.width + 1
            self._stride //= 2

    def _look_at_fewer(self) -> None:
        self._stride *= 2
        self._before = max(self._before, self._stride)
        for number in [n for n in self._open if not self._is_looked_at(n)]:
            del self._open[number]
        self._forget_samples()

    def _forget_samples(self) -> None:
        """Those of cells that are not looked at any more."""
        self._samples = {of: each for of, each in self._samples.items() if of[0] in self._open}

    def _finished(self, cell: Cell) -> Cell:
        """A cell with what follows from its rows."""
        width = self.spec.width
        begin = max(cell.number * width, self._first)
        end = min((cell.number + 1) * width, self._last + 1)
        is_whole = self._reached < END and (cell.number + 1) * width <= self._reached
        cell.span = ((cell.number + 1) * width if is_whole else end) - begin
        self._try_conditions(cell, is_over=True)
        return cell

    def _try_conditions(self, cell: Cell, *, is_over: bool = False) -> None:
        """Try conditions on the rows that were sampled; a cell that goes on samples others then.

        Rows wait for those of inputs that lag behind.
        """
        cell.tried = {}
        seen: set[int] = set()
        for each, test in self._tests:
            tried = self._tried(cell, each, test)
            # Of a stream that is joined twice, several have one key.
            cell.tried[each.key] = sum_of(cell.tried.get(each.key, NOTHING), tried)
            seen.update(each.inputs if tried[0] else ())
        for port in () if is_over else seen:
            del self._samples[cell.number, port]

    def _tried(self, cell: Cell, of: MeasuredCondition, test: pl.Expr) -> Tried:
        """How many combinations of sampled rows there are, how many satisfy a condition, and the
        variance of that."""
        most = max(1, int(COMBINATIONS ** (1 / len(of.inputs))))
        samples = [self._samples.get((cell.number, port)) for port in of.inputs]
        drawn = [each.rows.head(most) for each in samples if each and each.rows is not None]
        if len(drawn) < len(of.inputs):
            return NOTHING
        counts = [each.height for each in drawn]
        places = np.indices(counts).reshape(len(counts), -1)
        parts = (each[place] for each, place in zip(drawn, places, strict=True))
        rows = pl.DataFrame([column for part in parts for column in part])
        holds = rows.select(test).to_series().fill_null(False)
        held = holds.to_numpy().reshape(counts).astype(np.float64)
        # Combinations that have a row in common are not independent: rows differ in how many of
        # theirs satisfy it, and those were drawn.
        axes = range(len(counts))
        shares = (held.mean(axis=tuple(n for n in axes if n != axis)) for axis in axes)
        variance = sum(float(each.var()) / len(each) for each in shares)
        # Where none does, one might have.
        return rows.height, int(held.sum()), max(1.0, variance * rows.height**2)


def is_looked_at(number: int, looks: Sequence[int]) -> bool:
    """Whether a cell is one of those that a meter looks at: one in `stride`, and of cells before
    `fresh` one in `before`.

    >>> [number for number in range(12) if is_looked_at(number, (2, 4, 7))]
    [0, 4, 8, 10]
    """
    stride, before, fresh = looks
    return number % (stride if number >= fresh else before) == 0


def _is_whole(pair: MeasuredPair) -> bool:
    """Whether what must be equal are columns of whole numbers, of one type on both sides."""
    return all(
        isinstance(one, Ref)
        and isinstance(other, Ref)
        and one.type is other.type
        and one.type in (Type.BIGINT, Type.INT)
        for one, other in zip(pair.mine, pair.theirs, strict=True)
    )


def keys_of(spec: MeasuredJoin) -> dict[KeyOf, Keys]:
    """By input, the keys that are sketched; inputs may ask for the same."""
    found: dict[KeyOf, Keys] = {}
    for pair, side in product(spec.pairs, (0, 1)):
        mine, theirs = (pair.mine, pair.theirs)[:: 1 - 2 * side]
        found.setdefault(key_of(pair, side), Keys(mine, theirs))
    return found


def key_of(pair: MeasuredPair, side: int) -> KeyOf:
    """What names the keys of one end of a pair."""
    mine, theirs = (pair.mine, pair.theirs)[:: 1 - 2 * side]
    types = [common_type(a.type, b.type) for a, b in zip(mine, theirs, strict=True)]
    return pair.ends[side], ", ".join(f"{key} {of}" for key, of in zip(mine, types, strict=True))
