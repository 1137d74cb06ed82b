"""Pre-aggregation: the exchange makes the partial aggregates, and groups only merge them.

Where many rows of a group share a pane, or follow each other in a session, what an aggregate keeps
of them is small. So tasks that read aggregate rows before they are packed and shuffled, and a group
gets what its aggregate would have kept. That takes an aggregate whose rows come straight from a
stream, through operators that look at single rows; its functions must not depend on the order of
rows, and keep little, or each different value once, as count(DISTINCT x) does.

Aggregates that differ only in the rows they take are computed together (`alike_aggregates`). Other
readers of the stream get rows, those that any of them takes (`other_readers`), and so does an
aggregate behind an operator that one of them reads, too. Queries over single rows must be such
whose results tasks may write (`row_query`): else all rows are sent anyway. Whether it pays is seen
when the first rows of a task were aggregated. Either way the result is the same, so tasks decide
for themselves.

Only rows that are surely on time may be aggregated: the others must be looked at one by one, where
the bound is known. A task is told by the driver from which time on that holds (`control/told.py`),
as groups have reported it after the batch before; told nothing, it sends all rows as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import polars as pl

from penstock.model.expressions import Ref
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import END
from penstock.optimizer.physical import PhysicalPlan, Program, walk
from penstock.optimizer.specs import (
    BucketSpec,
    ExplodeSpec,
    PaneStoreSpec,
    ProjectSpec,
    SelectSpec,
    SourceSpec,
    Spec,
    StaticJoinSpec,
    WindowSpec,
)
from penstock.plan import nodes
from penstock.plan.graph import columns_used
from penstock.spark.control.told import Told
from penstock.spark.delivery.group_reports import GroupReport
from penstock.spark.exchange.alike_aggregates import AlikeAggregates, alike
from penstock.spark.exchange.other_readers import (
    NOBODY,
    OtherReaders,
    can_be_others,
    other_readers,
)
from penstock.spark.exchange.preaggregate import Preaggregate
from penstock.spark.exchange.row_query import RowQuery, RowStep
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.sources.narrow_reading import Needed, columns_needed
from penstock.windows import Session, Sliding

Chain: TypeAlias = tuple[PhysicalPlan, tuple[RowStep, ...], tuple[str, ...]]
"""An aggregate, the operators in front of it, and what the keys are called there."""

#: Rows by which a task finds out whether it pays; of fewer than LEAST, none are aggregated.
SAMPLE, LEAST = 1 << 16, 1 << 12
#: How many rows must become one, on average, and how many values in rows one value in a set. A row
#: of partial aggregates is wide and merged column by column; a value in a set is only moved.
GAIN, GAIN_OF_SETS = 4, 2
#: Of so many aggregates it is tried, at most.
ASKED = 16
#: Operators that look at single rows; and of these those that have the columns of a query, and no
#: others, where results leave behind them.
_BY_ROW = (SelectSpec, ProjectSpec, ExplodeSpec, StaticJoinSpec)
_RESULTS = (ProjectSpec, ExplodeSpec)


@dataclass(frozen=True)
class Preaggregation:
    """All that read a stream, and when it pays; none: rows are sent as they are.

    `has_groups`: whether there are groups behind it; else the driver takes what is sent. `columns`
    are those of the stream that anybody looks at; None: perhaps all. `is_read`: whether anybody
    reads it at all; if not, only how far it has come is sent, for whoever reads it later.
    `max_jump`: how far ahead of the clock its rows may lie, where it does not say so itself.
    """

    aggregates: tuple[Preaggregate, ...] = ()
    others: OtherReaders = NOBODY
    queries: tuple[RowQuery, ...] = ()
    sample: int = SAMPLE
    least: int = LEAST
    gain: int = GAIN
    gain_of_sets: int = GAIN_OF_SETS
    has_groups: bool = True
    columns: frozenset[str] | None = None
    is_read: bool = True
    max_jump: int | None = None

    def on_time_from(self, told: Told, stream: str) -> int:
        """From which time on rows are served here; END: groups need all of them."""
        served = bool(self.aggregates or self.queries) and (told.folds or not self.aggregates)
        if self.has_groups:
            served = served and all(query.name in told.sinks for query in self.queries)
        return told.on_time_from.get(stream, END) if served else END

    def needed(self, since: int, stream: Stream) -> Needed | None:
        """What is needed of rows that are surely on time, as all from `since` on; None: all."""
        looks_at_all = stream.timing.marker is not None or stream.timing.max_ahead is not None
        if self.columns is None or since >= END or looks_at_all or not has_one_time(stream):
            return None
        return Needed(self.columns, since)

    @cached_property
    def alike(self) -> tuple[AlikeAggregates, ...]:
        """The aggregates, those together that differ only in the rows they take."""
        return alike(self.aggregates)

    def pays(self, rows: pl.DataFrame, width: int) -> bool:
        """Whether it is worth while to aggregate rows of so many columns, by the first of them."""
        piece = rows[: self.sample]
        asked = self.aggregates[:: -(-len(self.aggregates) // ASKED)]
        sent = [folded for each in asked if (folded := each.fold(piece)) is not None]
        # Each aggregate would have to look at every row; of a set, all values are sent.
        of_rows = sum(partials.height for partials in sent) * self.gain
        of_sets = sum(map(_values_in_lists, sent)) * self.gain_of_sets * len(self.aggregates)
        height = piece.height * len(asked)
        return of_rows <= height and of_sets <= height * width


def _values_in_lists(partials: pl.DataFrame) -> int:
    lists = (column for column in partials if column.dtype == pl.List)
    return sum(int(column.list.len().sum()) for column in lists)


def on_time_in(groups: Sequence[GroupReport]) -> dict[str, int]:
    """From which time on rows are on time after a batch, by what groups report of it."""
    streams = {stream for group in groups for stream in group.on_time_from}
    return {s: max(group.on_time_from.get(s, END) for group in groups) for s in streams}


def folds_for(groups: Sequence[GroupReport], program: Program) -> bool:
    """Whether all groups run the aggregates that the exchange would fold rows for.

    `groups` are what they have reported last, perhaps of another program.
    """
    wanted = {name: program.plans[name].fingerprint for name in program.altered}
    return not any(group.changed or not wanted.items() <= group.handed.items() for group in groups)


def for_streams(program: Program, keys: Mapping[str, PartitionKeys]) -> dict[str, Preaggregation]:
    """For every stream what tasks compute themselves, and the columns that they need."""
    found, columns = preaggregations(program, keys), columns_needed(program)
    specs = (plan.spec for plan in walk(program.plans.values()))
    read = {spec.stream.name for spec in specs if isinstance(spec, SourceSpec)}
    return {
        name: replace(
            found.get(name, Preaggregation()),
            # Rows are spread by their keys, whether or not a query uses them by now.
            columns=None if used is None else used.union(keys[name] or ()),
            is_read=name in read,
            max_jump=program.options.jump,
        )
        for name, used in columns.items()
    }


def preaggregations(
    program: Program, keys: Mapping[str, PartitionKeys]
) -> dict[str, Preaggregation]:
    """For each stream of which it holds, the aggregates and queries that are all of its readers."""
    plans = program.operators
    numbers = {plan: number for number, plan in enumerate(plans)}
    readers: dict[PhysicalPlan, list[PhysicalPlan]] = {plan: [] for plan in plans}
    for plan in plans:
        for below in plan.inputs:
            readers[below].append(plan)
    results: dict[PhysicalPlan, list[str]] = {}
    for name, plan in program.plans.items():
        results.setdefault(plan, []).append(name)
    found = {}
    numbered = {
        node.stream.name
        for node, used in columns_used(program.queries.values()).items()
        if isinstance(node, nodes.Source) and ROW_NUM in used
    }
    for stream in filter(has_one_time, program.streams):
        if stream.name in numbered:
            continue  # rows get their numbers in the groups
        sources = [p for p in plans if _is_source(p.spec, stream)]
        aggregates, queries, others = [], [], []
        for source in sources:
            names = {name: name for name in (*(keys[stream.name] or ()), str(stream.timestamp))}
            for head in readers[source]:
                mine = list(_chains(head, readers, results, names, stream, keys[stream.name]))
                if None in mine:
                    others.append(head)
                    continue
                for plan, steps, by in filter(None, mine):
                    if isinstance(plan.spec, _RESULTS):
                        of = results[plan]
                        queries += [RowQuery(n, program.queries[n].schema, steps) for n in of]
                    else:
                        specs = tuple(step.spec for step in steps)
                        aggregates.append(Preaggregate(numbers[plan], plan.spec, specs, by))
        if any(source in results for source in sources):
            continue  # only a projection has the columns of the query, and no others
        if others and not can_be_others(stream, others, aggregates):
            continue
        found[stream.name] = Preaggregation(
            tuple(aggregates),
            other_readers(others),
            tuple(queries),
            SAMPLE,
            LEAST,
            GAIN,
            GAIN_OF_SETS,
        )
    return found


def has_one_time(stream: Stream) -> bool:
    """Whether one time decides which rows of it are late."""
    is_external = stream.kind is TimestampKind.EXTERNAL and stream.timestamp is not None
    return is_external and not stream.further and not stream.stamped


def _is_source(spec: Spec, stream: Stream) -> bool:
    return isinstance(spec, SourceSpec) and spec.stream.name == stream.name


def _chains(
    head: PhysicalPlan,
    readers: Mapping[PhysicalPlan, Sequence[PhysicalPlan]],
    results: Mapping[PhysicalPlan, Sequence[str]],
    names: Mapping[str, str],
    stream: Stream,
    keys: PartitionKeys,
) -> Iterator[Chain | None]:
    """The aggregates and results behind a reader of a source; None where there is something else.

    `names` is what keys and time are called in the source.
    """
    # A plan, the operators in front of it, and what keys and time are called there, if they are.
    open_: list[tuple[PhysicalPlan, tuple[RowStep, ...], Mapping[str, str] | None]] = [
        (head, (), names)
    ]
    while open_:
        plan, steps, known = open_.pop()
        spec = plan.spec
        if not (isinstance(spec, _BY_ROW) or _is_bucket(spec)):
            yield None if known is None else _chain(plan, steps, known, stream, keys)
            continue
        steps = (*steps, RowStep(plan.id, spec))
        after = None if known is None else _renamed(spec, known)
        if plan in results:
            yield (plan, steps, ()) if isinstance(spec, _RESULTS) else None
        open_ += [(reader, steps, after) for reader in readers[plan]]


def _is_bucket(spec: Spec) -> bool:
    return isinstance(spec, BucketSpec) and spec.every is None


def _renamed(spec: Spec, known: Mapping[str, str]) -> dict[str, str] | None:
    """What columns are called behind an operator; None: one of them is not there."""
    if isinstance(spec, StaticJoinSpec):
        return None
    if isinstance(spec, ExplodeSpec):
        kept = {column.name for column in spec.kept}
        return dict(known) if kept.issuperset(known.values()) else None
    if not isinstance(spec, ProjectSpec):
        return dict(known)
    names = {c.value.name: c.name for c in reversed(spec.columns) if isinstance(c.value, Ref)}
    if not set(known.values()) <= names.keys():
        return None
    return {old: names[new] for old, new in known.items()}


def _chain(
    plan: PhysicalPlan,
    steps: tuple[RowStep, ...],
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
        case WindowSpec("SessionAggregate", groups, results, Session() as window, emit=None):
            aggregates, on = tuple(aggregate for _, aggregate in results), window.on
        case _:
            return None
    mine = tuple(known[key] for key in keys or ())
    if on != known[str(stream.timestamp)] or not set(mine) <= set(groups):
        return None
    is_condensed = all(aggregate.is_condensed for aggregate in aggregates)
    return (plan, steps, mine) if is_condensed else None
