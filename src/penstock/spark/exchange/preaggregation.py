"""Pre-aggregation: the exchange makes the partial aggregates, and groups only merge them.

Rows that many of them share a group and a pane are few when they are aggregated, so they are before
they are packed and shuffled, by all tasks that read; what a group gets is what its aggregate would
have kept of them. That takes an aggregate whose rows come straight from a stream, through operators
that look at single rows; its functions must not depend on the order of rows, and keep little.

All readers of a stream must be such aggregates: else rows are sent anyway. Whether it pays is seen
when the first rows of a task were aggregated. Either way the result is the same, so tasks decide
for themselves.

Only rows that are surely on time may be aggregated: the others must be looked at one by one, where
the bound is known. A task is told by the driver from which time on that holds (`ON_TIME_FROM`), as
groups have reported it after the batch before; told nothing, it sends all rows as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import polars as pl

from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.kernel.operator import Operator
from penstock.model.expressions import Ref
from penstock.model.punctuation import Punctuation
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import END
from penstock.optimizer.build import operator_of
from penstock.optimizer.physical import PhysicalPlan, Program, walk
from penstock.optimizer.specs import (
    BucketSpec,
    PaneStoreSpec,
    ProjectSpec,
    SelectSpec,
    SourceSpec,
    Spec,
    WindowSpec,
)
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.windows import Sliding

Chain: TypeAlias = tuple[PhysicalPlan, tuple[Spec, ...], tuple[str, ...]]
"""An aggregate, the operators in front of it, and what the keys are called there."""

#: The local property by which the driver tells tasks: JSON, stream -> time.
ON_TIME_FROM = "penstock.on_time_from"

#: Rows by which a task finds out whether it pays; of fewer than LEAST, none are aggregated.
SAMPLE, LEAST = 1 << 16, 1 << 12
#: How many rows must become one, on average.
GAIN = 4


@dataclass(frozen=True)
class Preaggregate:
    """An aggregate that reads a stream, and the operators in front of it.

    `number` is its place among the operators of the program; `keys` are the columns, among its
    groups, that the stream is partitioned by.
    """

    number: int
    spec: Spec
    steps: tuple[Spec, ...]
    keys: tuple[str, ...]

    @cached_property
    def _operators(self) -> list[Operator]:
        return [operator_of(step, ()) for step in self.steps]

    @cached_property
    def _aggregate(self) -> WidAggregate | PaneStore:
        operator = operator_of(self.spec, ())
        assert isinstance(operator, WidAggregate | PaneStore)
        return operator

    def fold(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """What the aggregate keeps of rows; None: nothing."""
        for operator in self._operators:
            out = _Collected()
            operator.on_batch(0, Block(rows), out)
            rows = out.rows
        return self._aggregate.preaggregated(rows) if rows.height else None


class _Collected:
    """What an operator puts out for one block."""

    rows: pl.DataFrame

    def batch(self, block: Block) -> None:
        self.rows = block.rows

    def punctuation(self, punctuation: Punctuation) -> None:
        """It is given none."""


@dataclass(frozen=True)
class Preaggregation:
    """All aggregates that read a stream, and when it pays; none: rows are sent as they are."""

    aggregates: tuple[Preaggregate, ...] = ()
    sample: int = SAMPLE
    least: int = LEAST
    gain: float = GAIN

    def pieces(self, rows: pl.DataFrame) -> list[pl.DataFrame]:
        """Rows as they are to be aggregated: a few, and, if that pays, the rest."""
        return [part for part in (rows[: self.sample], rows[self.sample :]) if part.height]

    def pays(self, rows: int, folded: Iterable[pl.DataFrame | None]) -> bool:
        """Whether it was worth while to aggregate so many rows."""
        sent = sum(partials.height for partials in folded if partials is not None)
        return sent * self.gain <= rows


def on_time_from(told: str | None, stream: str) -> int:
    """From which time on rows of a stream are on time, by what the driver has told."""
    return int(json.loads(told).get(stream, END)) if told else END


def on_time_in(groups: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The same after a batch, by what groups report of it.

    Nothing if one of them runs other aggregates by now than those that the exchange would fold for.
    """
    if any(group["changed"] for group in groups):
        return {}
    streams = {stream for group in groups for stream in group["on_time_from"]}
    return {s: max(group["on_time_from"].get(s, END) for group in groups) for s in streams}


def preaggregations(
    program: Program, keys: Mapping[str, PartitionKeys]
) -> dict[str, tuple[Preaggregate, ...]]:
    """For each stream of which it holds, the aggregates that are all of its readers."""
    plans = walk(program.plans.values())
    numbers = {plan: number for number, plan in enumerate(plans)}
    readers: dict[PhysicalPlan, list[PhysicalPlan]] = {plan: [] for plan in plans}
    for plan in plans:
        for below in plan.inputs:
            readers[below].append(plan)
    results = set(program.plans.values())
    found = {}
    for stream in filter(_is_plain, program.streams):
        sources = [p for p in plans if _is_source(p.spec, stream)]
        chains = [
            chain
            for source in sources
            for chain in _chains(source, readers, results, stream, keys[stream.name])
        ]
        whole = tuple(
            Preaggregate(numbers[plan], plan.spec, steps, mine)
            for plan, steps, mine in filter(None, chains)
        )
        if whole and len(whole) == len(chains):
            found[stream.name] = whole
    return found


def _is_plain(stream: Stream) -> bool:
    """Whether one time decides which rows of it are late."""
    is_external = stream.kind is TimestampKind.EXTERNAL and stream.timestamp is not None
    return is_external and not stream.further and not stream.stamped


def _is_source(spec: Spec, stream: Stream) -> bool:
    return isinstance(spec, SourceSpec) and spec.stream.name == stream.name


def _chains(
    source: PhysicalPlan,
    readers: Mapping[PhysicalPlan, Sequence[PhysicalPlan]],
    results: set[PhysicalPlan],
    stream: Stream,
    keys: PartitionKeys,
) -> Iterator[Chain | None]:
    """The aggregates behind a source; None where there is something else."""
    assert isinstance(source.spec, SourceSpec)
    names = {name: name for name in (*(keys or ()), *filter(None, [stream.timestamp]))}
    # A plan, the operators up to it, and what keys and time are called behind it.
    open_: list[tuple[PhysicalPlan, tuple[Spec, ...], dict[str, str] | None]] = [
        (source, (), None if source.spec.with_late or keys is None else names)
    ]
    while open_:
        plan, steps, known = open_.pop()
        if plan in results or known is None:
            yield None
            continue
        for reader in readers[plan]:
            spec = reader.spec
            if isinstance(spec, SelectSpec | ProjectSpec) or _is_bucket(spec):
                open_.append((reader, (*steps, spec), _renamed(spec, known)))
            else:
                yield _chain(reader, steps, known, stream, keys)


def _is_bucket(spec: Spec) -> bool:
    return isinstance(spec, BucketSpec) and spec.every is None


def _renamed(spec: Spec, known: Mapping[str, str]) -> dict[str, str] | None:
    """What columns are called behind an operator; None: one of them is not there."""
    if not isinstance(spec, ProjectSpec):
        return dict(known)
    names = {c.value.name: c.name for c in reversed(spec.columns) if isinstance(c.value, Ref)}
    if not set(known.values()) <= names.keys():
        return None
    return {old: names[new] for old, new in known.items()}


def _chain(
    plan: PhysicalPlan,
    steps: tuple[Spec, ...],
    known: Mapping[str, str],
    stream: Stream,
    keys: PartitionKeys,
) -> Chain | None:
    """An aggregate that can be computed in parts where rows are read; None: it is none."""
    match plan.spec:
        case PaneStoreSpec(groups, aggregates, panes, adapts=False):
            on = panes.on
        case WindowSpec("WidAggregate", groups, results, Sliding() as window, emit=None):
            aggregates, on = tuple(aggregate for _, aggregate in results), window.on
        case _:
            return None
    mine = tuple(known[key] for key in keys or ())
    if on != known[str(stream.timestamp)] or not set(mine) <= set(groups):
        return None
    return (plan, steps, mine) if all(aggregate.is_small for aggregate in aggregates) else None
