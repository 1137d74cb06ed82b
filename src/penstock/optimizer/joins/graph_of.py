"""The join graph of a join in a query: what is known of it, or guessed.

Times are in the unit in which rates count: seconds, or steps of a time that is a number. A band is
closed, so it is a tick wider than its ends are apart.
"""

from __future__ import annotations

from itertools import combinations

from penstock.model.timestamps import SECOND
from penstock.optimizer.join_figures import JoinFigures
from penstock.optimizer.joins.inputs import Inputs, inputs_of
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_windows import JoinWindows
from penstock.optimizer.joins.nearness import Nearness
from penstock.plan.nodes import Join
from penstock.windows import Band, TumblingBand


def graph_of(join: Join, figures: JoinFigures, blocks: tuple[float, ...] = ()) -> JoinGraph:
    """Rates, selectivities, windows and widths of a join's inputs, and in how many blocks a second
    they come, if that is known."""
    pairs = {**figures.implied, **figures.selectivities}
    return JoinGraph(
        tuple(each.value for each in figures.rates),
        {pair: figure.value for pair, figure in pairs.items()},
        windows_of(join),
        tuple(each.value for each in figures.widths),
        classes_of(join),
        frozenset(pair for pair in pairs if _is_keyed(join, pair)),
        blocks,
    )


def _is_keyed(join: Join, pair: tuple[int, int]) -> bool:
    ends = ({join.origin(one).child, join.origin(other).child} for one, other in join.equalities)
    groups = ({each.child for each in group} for group in join.keys)
    return any({*pair} <= each for each in (*ends, *groups))


def windows_of(join: Join) -> JoinWindows:
    """How far apart rows of a join's inputs may lie."""
    count = len(join.inputs)
    tick = 1 / SECOND if join.schema[join.times[0]].type.is_time else 1.0
    tumbling = {edge.band for edge in join.edges if isinstance(edge.band, TumblingBand)}
    if len(tumbling) == 1 and all(edge.band in tumbling for edge in join.edges):
        [band] = tumbling
        return JoinWindows.in_the_same(count, band.width * tick)
    near, bands = Nearness(join), {}
    for one, other in combinations(range(count), 2):
        low, high = _ends(near.band(join.times[one], join.times[other]))
        bands[one, other] = (low - 0.5) * tick, (high + 0.5) * tick
    return JoinWindows(count, bands, whole_runs=True)


def _ends(band: Band | TumblingBand) -> tuple[float, float]:
    if isinstance(band, Band):
        return band.low, band.high
    return -band.width / 2, band.width / 2


def classes_of(join: Join) -> tuple[Inputs, ...]:
    """Inputs, three and more, that must have the same key."""
    found = (inputs_of({each.child for each in group}) for group in join.keys)
    return tuple(dict.fromkeys(each for each in found if each.bit_count() > 2))
