"""Join figures: what is known of a join's inputs and predicates when its shape is chosen.

What runs now has been measured; of what has run before something may be remembered; all else is
guessed, always in the same way, so that without any statistics a choice depends on the query alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from penstock.kernel.statistics.measured_join import MeasuredInput, MeasuredJoin
from penstock.optimizer.join_statistics import PairFigures
from penstock.optimizer.measured_joins import measured_of
from penstock.plan import nodes

if TYPE_CHECKING:
    from penstock.optimizer.statistics import Statistics

#: Where figures come from, the best first.
MEASURED, REMEMBERED, GUESSED = "measured", "remembered", "guessed"
#: What is guessed: rows a second, bytes of a row, shares of pairs with equal keys, and of those for
#: which another condition holds.
RATE, WIDTH, EQUAL, HOLDS = 100.0, 64.0, 0.01, 1 / 3


@dataclass(frozen=True)
class Figure:
    """A number; `seen` rows, or combinations of rows, it was made from."""

    value: float
    source: str
    seen: int = 0
    error: float = 0.0  # its standard error
    in_doubt: bool = False  # what came last says something else


@dataclass(frozen=True)
class JoinFigures:
    """By input, and by pairs (i, j), i < j, of those that have a predicate.

    `implied` are pairs whose keys are equal because of others: a third input that is joined with
    both says so. Where that one is there, they say nothing new.
    """

    rates: tuple[Figure, ...]
    widths: tuple[Figure, ...]
    selectivities: Mapping[tuple[int, int], Figure]
    implied: Mapping[tuple[int, int], Figure]
    blocks: tuple[float, ...] = ()  # a second, of each input; none: not known of all of them

    @property
    def in_doubt(self) -> bool:
        """Whether some of them may be about to change."""
        return any(each.in_doubt for each in (*self.rates, *self.selectivities.values()))

    @property
    def source(self) -> str:
        """Where the least known of them comes from."""
        found = chain(self.rates, self.selectivities.values())
        known = [figure.source for figure in found]
        return max(known, key=(MEASURED, REMEMBERED, GUESSED).index)


def join_figures(join: nodes.Join, statistics: Statistics) -> JoinFigures:
    """What is known of a join; its inputs in the order in which they stand in the query."""
    of = measured_of(join)
    selectivities: dict[tuple[int, int], Figure] = {}
    implied: dict[tuple[int, int], Figure] = {}
    for pair in of.pairs:
        figure = _share(of, pair.key, EQUAL ** min(2, len(pair.mine)), statistics)
        (implied if pair.implied else selectivities)[pair.ends] = figure
    for condition in of.conditions:
        if len(condition.inputs) == 2:
            ends = condition.inputs[0], condition.inputs[1]
            figure = _share(of, condition.key, HOLDS, statistics)
            known = selectivities.get(ends)
            selectivities[ends] = figure if known is None else _both(known, figure)
    return JoinFigures(
        tuple(_rate(each, statistics) for each in of.inputs),
        tuple(_width(each, statistics) for each in of.inputs),
        selectivities,
        implied,
        _blocks(of, statistics),
    )


def _rate(of: MeasuredInput, statistics: Statistics) -> Figure:
    for joins, source in statistics.by_source:
        known = joins.inputs.get(of.key)
        if known is not None and known.likely_rate is not None:
            return Figure(known.likely_rate, source, known.seen, in_doubt=bool(known.odd))
    return Figure(RATE, GUESSED)


def _width(of: MeasuredInput, statistics: Statistics) -> Figure:
    for joins, source in statistics.by_source:
        known = joins.inputs.get(of.key)
        if known is not None and known.width is not None:
            return Figure(known.width, source, known.seen)
    return Figure(WIDTH, GUESSED)


def _blocks(of: MeasuredJoin, statistics: Statistics) -> tuple[float, ...]:
    """In how many blocks a second inputs come, if that is known of all of them."""
    found = [_block_rate(each, statistics) for each in of.inputs]
    return tuple(each for each in found if each is not None) if None not in found else ()


def _block_rate(of: MeasuredInput, statistics: Statistics) -> float | None:
    for joins, _ in statistics.by_source:
        known = joins.inputs.get(of.key)
        if known is not None and known.rate is not None:
            return known.block_rate
    return None


def _share(of: MeasuredJoin, key: str, guess: float, statistics: Statistics) -> Figure:
    for joins, source in statistics.by_source:
        known = joins.pair(key, of.width)
        if known is not None:
            error = known.error or 0.0
            return Figure(likely(known), source, known.seen, error, in_doubt=bool(known.odd))
    return Figure(guess, GUESSED)


def likely(figures: PairFigures) -> float:
    """The share of pairs that match, to count with: of matches that are too few to be told apart
    from none, as many as there may be."""
    assert figures.selectivity is not None and figures.error is not None
    return min(1.0, max(figures.selectivity, figures.error / 2))


def _both(one: Figure, other: Figure) -> Figure:
    """Two conditions that have nothing to do with each other."""
    source = max(one.source, other.source, key=(MEASURED, REMEMBERED, GUESSED).index)
    seen = min(one.seen, other.seen)
    in_doubt = one.in_doubt or other.in_doubt
    return Figure(one.value * other.value, source, seen, one.error * other.value, in_doubt)
