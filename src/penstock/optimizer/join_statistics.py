"""JoinStatistics: how many rows come to joins, and which share of their pairs match.

They are made of cells (`kernel/statistics/`), of which later ones count more: with every cell that
is looked at, what is known from before loses 4 % of its weight, so that after 16 cells it has half.
Every figure says how many rows or pairs it was made from; what nobody has seen is not there.

What was measured in windows of one width is kept apart from that of others: keys that only match
for some time make more of all pairs match in a narrow window than in a wide one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.kernel.statistics.cell import Cell
from penstock.kernel.statistics.join_meter import key_of
from penstock.kernel.statistics.key_sketch import equal_pairs
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.model.timestamps import SECOND

#: Cells after which what was known before has half its weight.
HALF_LIFE = 16
_KEPT = 0.5 ** (1 / HALF_LIFE)


@dataclass(frozen=True)
class InputFigures:
    """Rows of an input, in so many ticks; `seen` is how many there were in all."""

    title: str
    rows: float = 0.0
    ticks: float = 0.0
    bytes: float = 0.0
    seen: int = 0
    is_time: bool = True

    @property
    def rate(self) -> float | None:
        """Rows a second of their own time; where that is a number, in one step of it."""
        if not self.seen or not self.ticks:
            return None
        return self.rows / self.ticks * (SECOND if self.is_time else 1)

    @property
    def width(self) -> float | None:
        """Bytes of a row."""
        return self.bytes / self.rows if self.rows else None

    def plus(self, rows: int, ticks: int, bytes: int) -> InputFigures:
        return InputFigures(
            self.title,
            self.rows * _KEPT + rows,
            self.ticks * _KEPT + ticks,
            self.bytes * _KEPT + bytes,
            self.seen + rows,
            self.is_time,
        )


@dataclass(frozen=True)
class PairFigures:
    """Matches among pairs of rows; `seen` is how many rows they were made of, or tried."""

    title: str
    matches: float = 0.0
    pairs: float = 0.0
    variance: float = 0.0  # of the matches
    seen: int = 0

    @property
    def selectivity(self) -> float | None:
        """Which share of pairs match."""
        return min(1.0, max(0.0, self.matches / self.pairs)) if self.pairs else None

    @property
    def error(self) -> float | None:
        """The standard error of that."""
        return math.sqrt(self.variance) / self.pairs if self.pairs else None

    def plus(self, later: PairFigures) -> PairFigures:
        return PairFigures(
            self.title,
            self.matches * _KEPT + later.matches,
            self.pairs * _KEPT + later.pairs,
            self.variance * _KEPT**2 + later.variance,
            self.seen + later.seen,
        )


@dataclass(frozen=True)
class JoinStatistics:
    """Figures by the keys of inputs; those of pairs and conditions by theirs, and by width."""

    inputs: Mapping[str, InputFigures] = field(default_factory=dict)
    pairs: Mapping[str, Mapping[int, PairFigures]] = field(default_factory=dict)

    def plus(self, join: MeasuredJoin, cells: Iterable[Cell]) -> JoinStatistics:
        """These, and what cells of a join say."""
        inputs = dict(self.inputs)
        pairs = {key: dict(by_width) for key, by_width in self.pairs.items()}
        for cell in cells:
            own = {each.key: n for n, each in enumerate(join.inputs)}  # one stream may be both
            for key, number in own.items():
                of = join.inputs[number]
                known = inputs.get(key, InputFigures(of.title, is_time=join.is_time))
                inputs[key] = known.plus(cell.rows[number], cell.span, cell.bytes[number])
            for key, new in _found(join, cell):
                by_width = pairs.setdefault(key, {})
                known_pair = by_width.get(_class(join.width), PairFigures(new.title))
                by_width[_class(join.width)] = known_pair.plus(new)
        return JoinStatistics(inputs, pairs)

    def pair(self, key: str, width: int) -> PairFigures | None:
        """Figures of a pair or condition, from windows as wide as these, or nearly so."""
        by_width = self.pairs.get(key, {})
        known = {of: each for of, each in by_width.items() if each.pairs}
        if not known:
            return None
        return known[min(known, key=lambda of: (abs(of - _class(width)), of))]

    def __or__(self, later: JoinStatistics) -> JoinStatistics:
        """These, and others that count where both know something."""
        pairs = {
            key: {**self.pairs.get(key, {}), **later.pairs.get(key, {})}
            for key in {**self.pairs, **later.pairs}
        }
        return JoinStatistics({**self.inputs, **later.inputs}, pairs)

    def latest(self, most: int) -> JoinStatistics:
        """At most so many inputs and pairs, those that were noted last."""
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
        yield pair.key, PairFigures(pair.title, matches, one * other, error**2, one + other)
    for condition in join.conditions:
        tried, held = cell.tried[condition.key]
        share = held / tried if tried else 0.0
        # Combinations of a few rows are not independent: they tell little more than the rows do.
        rows = tried ** (1 / len(condition.inputs))
        variance = tried**2 * share * (1 - share) / rows if tried else 0.0
        yield condition.key, PairFigures(condition.title, held, tried, variance, tried)
