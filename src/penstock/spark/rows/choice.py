"""Groups or none: whether a pipeline of the kernel has a stateful step, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.optimizer.physical import Program
from penstock.spark.exchange.preaggregation import (
    Preaggregation,
    for_streams,
    has_one_time,
    preaggregations,
)
from penstock.spark.placement.partitioning import PartitionKeys

#: What checkpoints call the two: the step of Spark's that computes results.
GROUPS, ROWS = "transformWithState", "mapInArrow"


@dataclass(frozen=True)
class Form:
    """Which of the two a pipeline is, and the reason."""

    step: str
    reason: str

    @property
    def has_groups(self) -> bool:
        return self.step == GROUPS


def form_of(
    program: Program, keys: Mapping[str, PartitionKeys], continued: str | None = None
) -> Form:
    """The form of a program's pipeline; `continued`: the one that its checkpoint was begun in."""
    if continued == GROUPS:
        return Form(GROUPS, "its checkpoint was begun with it")
    found = preaggregations(program, keys)
    for stream in program.streams:
        name = stream.name
        if not has_one_time(stream):
            return Form(GROUPS, f"`{name}` does not come with one event time")
        if name not in found or found[name].aggregates:
            return Form(GROUPS, f"rows of `{name}` are kept, counted, united or put in order")
    return Form(ROWS, "all queries look at single rows")


def row_queries(program: Program, keys: Mapping[str, PartitionKeys]) -> dict[str, Preaggregation]:
    """By stream, the queries that tasks compute, however few rows there are."""
    found = for_streams(program, keys)
    return {name: replace(each, least=1, has_groups=False) for name, each in found.items()}
