"""Which queries run together in one pipeline.

Queries over the same streams share the reading, the exchange and equal operators, as long as one
partitioning suits them all. Two queries that could only agree on a single group, where each alone
could use many, stay apart; so do queries that were declared under different settings, and those
that are to run as Spark SQL alone, where there is nothing to share.

A checkpoint that is continued keeps its queries together, in whatever order they are declared now.
A query that is new joins them only if nothing changes for those that were there: the same streams
in the same order, partitioned by the same keys, with or without groups as before; else it gets a
pipeline of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from penstock.catalog.catalog import StreamEntry
from penstock.optimizer.optimize import go_on, optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.plan.nodes import Node
from penstock.spark.native.choice import NATIVE, choose
from penstock.spark.native.physical import is_native, native_plan
from penstock.spark.placement.partitioning import PartitionKeys, partitioning
from penstock.spark.rows.choice import Form, form_of
from penstock.spark.sources.rejecting import rejecting
from penstock.spark.state.changed_settings import goes_on
from penstock.spark.state.checkpoint import Continued


@dataclass(frozen=True)
class PipelineGroup:
    """Queries of one pipeline, by what each of their streams is partitioned, and their options."""

    queries: Mapping[str, Node]
    keys: Mapping[str, PartitionKeys]
    options: Options = field(default_factory=Options)
    continued: Continued | None = None  # the checkpoint that it goes on from
    is_small: bool = False  # so little to read that one partition group takes all of it

    @classmethod
    def of(
        cls, queries: Mapping[str, Node], options: Options, continued: Continued | None = None
    ) -> PipelineGroup:
        """Queries that go together, spread by what they have in common."""
        return cls(queries, partitioning(*queries.values()), options, continued)

    def program(
        self, streams: Iterable[StreamEntry] = (), frames: Mapping[str, DataFrame] | None = None
    ) -> Program:
        """What the pipeline runs, natively or in the kernel.

        `streams` are all that are declared; `frames` those that are opened.
        """
        program = optimize(self.queries, self.options)
        read = rejecting((entry for entry in streams if entry.name in self.keys), frames)
        choice = choose(program.queries, self.options, read)
        if choice.lowering == NATIVE:
            queries = program.queries.items()
            plans = {name: native_plan(query, choice.reason) for name, query in queries}
            program = replace(program, plans=plans)
        elif self.continued is not None:
            program = self._going_on(self.continued)
        options = replace(program.options, lowering=choice.lowering)
        return self._in_place(replace(program, options=options, reason=choice.reason))

    def form(self, program: Program) -> Form:
        """Whether the pipeline of this program has groups."""
        before = None if self.continued is None else self.continued.form
        return form_of(program, self.keys, before)

    def _going_on(self, before: Continued) -> Program:
        """Queries that were there go on as they did, others beside them."""
        in_kernel = {name: plan for name, plan in before.plans.items() if not is_native(plan)}
        kept = goes_on(self.queries, self.options, in_kernel, before.options)
        return go_on(self.queries, self.options, kept, before.asked)

    def _in_place(self, program: Program) -> Program:
        """The program with its streams where a checkpoint has them."""
        if self.continued is None:
            return program
        # Spark knows its sources by their places.
        places = {name: place for place, name in enumerate(self.continued.streams)}
        streams = sorted(program.streams, key=lambda s: places.get(s.name, len(places)))
        return replace(program, streams=tuple(streams))


def assign_pipelines(
    queries: Mapping[str, Node],
    options: Mapping[str, Options] | None = None,
    continued: Sequence[Continued] = (),
    *,
    is_small: bool = False,
) -> list[PipelineGroup]:
    """All queries, distributed over as few pipelines as suit them; those that continue first.

    `options` are those of each query, where they are not what they are by themselves. Where there
    is little to read, queries share a pipeline even if they agree on a single group only: another
    pipeline costs more than its group saves.
    """
    by_name = {name: (options or {}).get(name, Options()) for name in queries}
    found: list[PipelineGroup] = []
    left = dict(queries)
    # A checkpoint of which a query is gone is refused, unless others have all that are declared.
    whole = [each for each in continued if each.plans.keys() <= queries.keys()]
    others = [each for each in continued if each not in whole]
    for each in (*sorted(whole, key=lambda each: -len(each.plans)), *others):
        there = [name for name in each.plans if name in left]
        alike = [name for name in there if by_name[name] == by_name[there[0]]]
        if alike:
            mine = {name: left.pop(name) for name in alike}
            # Queries that are declared under different settings by now are refused there.
            known = replace(each, declared={name: by_name[name] for name in there})
            found.append(PipelineGroup.of(mine, by_name[there[0]], known))
    for name, plan in left.items():
        new = replace(PipelineGroup.of({name: plan}, by_name[name]), is_small=is_small)
        for place, group in enumerate(found):
            both = {**group.queries, name: plan}
            together = replace(
                PipelineGroup.of(both, group.options, group.continued), is_small=group.is_small
            )
            if group.keys.keys() & new.keys.keys() and _suits(together, group, new):
                found[place] = together
                break
        else:
            found.append(new)
    return found


def _suits(together: PipelineGroup, there: PipelineGroup, new: PipelineGroup) -> bool:
    """Whether all want it alike, and no stream that could be spread comes down to one group."""
    if new.options != there.options or new.options.lowering == NATIVE:
        return False
    if there.continued is not None:
        if together.keys != there.keys or there.continued.options.lowering == NATIVE:
            return False
        # A checkpoint without state has none for a query that needs some.
        return together.form(together.program()).step == there.continued.form
    return there.is_small or all(
        together.keys[stream] != () or keys == ()
        for group in (there, new)
        for stream, keys in group.keys.items()
    )
