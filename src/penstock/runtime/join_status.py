"""What is known of the inputs and predicates of joins, by the queries that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.joins.flat_join import flat_join
from penstock.optimizer.measured_joins import joins_of, measured_join
from penstock.plan.nodes import Node
from penstock.runtime.status import InputStatus, PredicateStatus


def join_statuses(
    queries: Mapping[str, Node], known: JoinStatistics
) -> tuple[tuple[InputStatus, ...], tuple[PredicateStatus, ...]]:
    """The inputs and the predicates of all joins; queries may have some in common."""
    inputs: dict[str, InputStatus] = {}
    predicates: dict[tuple[str, int], PredicateStatus] = {}
    for name, plan in queries.items():
        for join in map(measured_join, map(flat_join, joins_of([plan]))):
            for of in join.inputs:
                figures = known.inputs.get(of.key)
                mine = _with(inputs[of.key].queries if of.key in inputs else (), name)
                inputs[of.key] = (
                    InputStatus(of.title, mine)
                    if figures is None
                    else InputStatus(of.title, mine, figures.rate, figures.width, figures.seen)
                )
            for key, title in _predicates(join):
                at = key, join.width
                pair = known.pair(*at)
                mine = _with(predicates[at].queries if at in predicates else (), name)
                predicates[at] = (
                    PredicateStatus(title, mine)
                    if pair is None
                    else PredicateStatus(title, mine, pair.selectivity, pair.error, pair.seen)
                )
    return tuple(inputs.values()), tuple(predicates.values())


def _predicates(join: MeasuredJoin) -> Iterator[tuple[str, str]]:
    for pair in join.pairs:
        yield pair.key, pair.title
    for condition in join.conditions:
        yield condition.key, condition.title


def _with(queries: tuple[str, ...], query: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*queries, query)))
