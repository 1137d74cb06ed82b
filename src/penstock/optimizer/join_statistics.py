"""JoinStatistics: how many rows come to joins, and which share of their pairs match.

They are made of cells (`kernel/statistics/`), of which later ones count more: with every cell that
is looked at, what is known from before loses 4 % of its weight, so that after 16 cells it has half.
So a load that stays gives figures that stay. If two cells in a row say clearly more than what is
known, or clearly less, then the load has changed: what was before is forgotten, and the second of
them counts alone, for the first may have a part of both loads.
Every figure says how many rows or pairs it was made from; what nobody has seen is not there.

What was measured in windows of one width is kept apart from that of others: keys that only match
for some time make more of all pairs match in a narrow window than in a wide one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from penstock.kernel.statistics.cell import NOTHING, Cell
from penstock.kernel.statistics.join_meter import key_of
from penstock.kernel.statistics.key_sketch import equal_pairs
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.model.timestamps import SECOND

#: Cells after which what was known before has half its weight.
HALF_LIFE = 16
_KEPT = 0.5 ** (1 / HALF_LIFE)
#: A cell says something else if it differs by this factor, and by so many standard errors.
FACTOR, ERRORS = 1.5, 4.0


@dataclass(frozen=True)
class InputFigures:
    """Rows of an input, in so many ticks; `seen` is how many there were in all."""

    title: str
    rows: float = 0.0
    ticks: float = 0.0
    bytes: float = 0.0
    seen: int = 0
    is_time: bool = True
    odd: int = 0  # the last cell had clearly more (1) or fewer (-1)
    blocks: float = 0.0  # in which the rows came; earlier releases did not count them

    @property
    def rate(self) -> float | None:
        """Rows a second of their own time; where that is a number, in one step of it."""
        return self._a_second(self.rows) if self.ticks else None

    @property
    def likely_rate(self) -> float | None:
        """The same, to count with: of an input without rows, half a one in all that time."""
        return self._a_second(max(self.rows, 0.5)) if self.ticks else None

    def _a_second(self, rows: float) -> float:
        return rows / self.ticks * (SECOND if self.is_time else 1)

    @property
    def width(self) -> float | None:
        """Bytes of a row."""
        return self.bytes / self.rows if self.rows else None

    @property
    def block_rate(self) -> float | None:
        """Blocks a second, as `rate` counts; None: they were not counted."""
        if self.rate is None or (self.rows and not self.blocks):
            return None
        return self.rate * self.blocks / self.rows if self.rows else 0.0

    def plus(self, rows: int, ticks: int, bytes: int, blocks: float) -> InputFigures:
        expected = self.rows / self.ticks * ticks if self.ticks else float(rows)
        odd = _differs(rows, expected, math.sqrt(max(rows, expected)))
        kept = 0.0 if odd and odd == self.odd else _KEPT
        return InputFigures(
            self.title,
            self.rows * kept + rows,
            self.ticks * kept + ticks,
            self.bytes * kept + bytes,
            self.seen + rows,
            self.is_time,
            odd if kept else 0,
            self.blocks * kept + blocks,
        )


@dataclass(frozen=True)
class PairFigures:
    """Matches among pairs of rows; `seen` is how many rows they were made of, or tried."""

    title: str
    matches: float = 0.0
    pairs: float = 0.0
    variance: float = 0.0  # of the matches
    seen: int = 0
    odd: int = 0  # of the last cell clearly more (1) or fewer (-1) matched

    @property
    def selectivity(self) -> float | None:
        """Which share of pairs match."""
        return min(1.0, max(0.0, self.matches / self.pairs)) if self.pairs else None

    @property
    def error(self) -> float | None:
        """The standard error of that."""
        return math.sqrt(self.variance) / self.pairs if self.pairs else None

    def plus(self, later: PairFigures) -> PairFigures:
        odd = 0
        if self.pairs and later.pairs:
            scale = later.pairs / self.pairs
            error = math.sqrt(later.variance + self.variance * scale**2)
            odd = _differs(later.matches, self.matches * scale, error)
        kept = 0.0 if odd and odd == self.odd else _KEPT
        return PairFigures(
            self.title,
            self.matches * kept + later.matches,
            self.pairs * kept + later.pairs,
            self.variance * kept**2 + later.variance,
            self.seen + later.seen,
            # A cell without pairs says nothing.
            self.odd if not later.pairs else odd if kept else 0,
        )


def _differs(found: float, expected: float, error: float) -> int:
    """Whether clearly more was found than expected (1), or less (-1).

    >>> [_differs(found, 100.0, error=10.0) for found in (130.0, 145.0, 160.0, 50.0)]
    [0, 0, 1, -1]
    """
    if abs(found - expected) <= ERRORS * error:
        return 0
    least, most = sorted((max(found, error), max(expected, error)))
    return 0 if most < FACTOR * least else 1 if found > expected else -1


@dataclass(frozen=True)
class JoinStatistics:
    """Figures by the keys of inputs; those of pairs and conditions by theirs, and by width.

    They stand in the order in which they were seen last.
    """

    inputs: Mapping[str, InputFigures] = field(default_factory=dict)
    pairs: Mapping[str, Mapping[int, PairFigures]] = field(default_factory=dict)

    def plus(
        self, join: MeasuredJoin, cells: Iterable[Cell], *, are_over: bool = True
    ) -> JoinStatistics:
        """These, and what cells of a join say; to cells that are not over, rows may still come."""
        cells, inputs = list(cells), dict(self.inputs)
        own = {each.key: n for n, each in enumerate(join.inputs)}  # one stream may be both
        for cell in cells:
            for key, number in own.items():
                of = join.inputs[number]
                known = inputs.pop(key, None) or InputFigures(of.title, is_time=join.is_time)
                if not are_over and not known.ticks and not cell.rows[number]:
                    continue  # it may lag behind
                counts = cell.bytes[number], cell.blocks[number]
                inputs[key] = known.plus(cell.rows[number], cell.span, *counts)
        return replace(self.plus_pairs(join, cells), inputs=inputs)

    def plus_pairs(self, join: MeasuredJoin, cells: Sequence[Cell]) -> JoinStatistics:
        """These, and what cells of a join say of pairs and conditions."""
        if not cells:
            return self
        pairs, width = dict(self.pairs), _class(join.width)
        for cell in cells:
            for key, new in _found(join, cell):
                by_width = pairs.pop(key, {})
                known_pair = by_width.get(width, PairFigures(new.title))
                pairs[key] = {**by_width, width: known_pair.plus(new)}
        return replace(self, pairs=pairs)

    def pair(self, key: str, width: int) -> PairFigures | None:
        """Figures of a pair or condition, from windows as wide as these, or nearly so."""
        by_width = self.pairs.get(key, {})
        known = {of: each for of, each in by_width.items() if each.pairs}
        if not known:
            return None
        return known[min(known, key=lambda of: (abs(of - _class(width)), of))]

    def __or__(self, later: JoinStatistics) -> JoinStatistics:
        """These, and others that count where both know something."""
        inputs = {key: each for key, each in self.inputs.items() if key not in later.inputs}
        pairs = {key: each for key, each in self.pairs.items() if key not in later.pairs}
        for key, by_width in later.pairs.items():
            pairs[key] = {**self.pairs.get(key, {}), **by_width}
        return JoinStatistics({**inputs, **later.inputs}, pairs)

    def latest(self, most: int) -> JoinStatistics:
        """At most so many inputs and pairs, those that were seen last."""
        if max(len(self.inputs), len(self.pairs)) <= most:
            return self
        pairs, inputs = list(self.pairs.items()), list(self.inputs.items())
        return JoinStatistics(dict(inputs[-most:]), dict(pairs[-most:]))

    def as_json(self) -> dict[str, Any]:
        return {
            "inputs": {key: asdict(each) for key, each in self.inputs.items()},
            "pairs": {
                key: {str(width): asdict(each) for width, each in by_width.items()}
                for key, by_width in self.pairs.items()
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JoinStatistics:
        return cls(
            {key: InputFigures(**each) for key, each in data["inputs"].items()},
            {
                key: {int(width): PairFigures(**each) for width, each in by_width.items()}
                for key, by_width in data["pairs"].items()
            },
        )


def _class(width: int) -> int:
    """Windows of about one width are alike."""
    return width.bit_length()


def _found(join: MeasuredJoin, cell: Cell) -> Iterator[tuple[str, PairFigures]]:
    """What a cell says of pairs and conditions, by their keys."""
    for pair in join.pairs:
        one, other = (cell.rows[end] for end in pair.ends)
        matches, error = equal_pairs(*(cell.sketches[key_of(pair, side)] for side in (0, 1)))
        drawn = _of_drawing(matches, *((cell.rows[n], cell.looked_at[n]) for n in pair.ends))
        variance = error**2 + drawn
        yield pair.key, PairFigures(pair.title, matches, one * other, variance, one + other)
    # Of a stream that is joined twice, conditions of one key are tried together.
    for condition in {each.key: each for each in join.conditions}.values():
        tried, held, variance = cell.tried.get(condition.key, NOTHING)
        yield condition.key, PairFigures(condition.title, held, tried, variance, tried)


def _of_drawing(matches: float, one: tuple[int, int], other: tuple[int, int]) -> float:
    """The variance of matches that comes from looking at some of the rows of each side only.

    Pairs are drawn, and those that have a row in common are drawn together.
    """
    times = [rows / max(looked_at, 1) for rows, looked_at in (one, other)]
    partners = [max(matches, 0.0) / max(rows, 1) for rows, _ in (one, other)]
    together = sum((each - 1) * of for each, of in zip(times, partners, strict=True))
    return max(matches, 0.0) * (times[0] * times[1] - 1 + together)
