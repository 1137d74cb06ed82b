"""Which queries run together in one pipeline.

Queries over the same streams share the reading, the exchange and equal operators, as long as one
partitioning suits them all. Two queries that could only agree on a single group, where each alone
could use many, stay apart; so do queries that were declared under different settings.

A checkpoint that is continued keeps its queries together, in whatever order they are declared now.
A query that is new, to a checkpoint or to a pipeline that runs, joins those that are there only if
nothing changes for them: it reads streams that they read, it can do with the keys by which these
are partitioned, and it needs groups only where there are some; else it gets a pipeline of its own,
and `apart` says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.catalog.catalog import StreamEntry
from penstock.catalog.settings import SETTINGS
from penstock.model.begin import Begin
from penstock.model.computed_column import ComputedColumn
from penstock.model.streams import Stream
from penstock.optimizer.alter import with_earlier
from penstock.optimizer.optimize import (
    beside,
    go_on,
    optimize,
    since_in_state,
    with_tables,
)
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan, Program, digest_of, since_of
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.spark.placement.partitioning import (
    Partitioning,
    PartitionKeys,
    partitioning,
    suits,
)
from penstock.spark.rows.choice import GROUPS, Form, form_of
from penstock.spark.state.changed_settings import changed_settings, goes_on
from penstock.spark.state.checkpoint import Continued


@dataclass(frozen=True)
class PipelineGroup:
    """Queries of one pipeline, by what each of their streams is partitioned, and their options."""

    queries: Mapping[str, Node]
    keys: Mapping[str, PartitionKeys]
    options: Options = field(default_factory=Options)
    continued: Continued | None = None  # the checkpoint that it goes on from
    is_small: bool = False  # so little to read that one partition group takes all of it
    apart: str = ""  # why it is not one with those that were there before
    #: From when on queries see rows that are new to the checkpoint, where they say so.
    begins: Mapping[str, Begin] = field(default_factory=dict)
    #: The options of queries that have others than the rest, in a checkpoint that goes on.
    own: Mapping[str, Options] = field(default_factory=dict)
    #: What is known of streams when operators are chosen for queries that are new.
    statistics: Statistics = field(default_factory=Statistics, compare=False)

    @classmethod
    def of(
        cls, queries: Mapping[str, Node], options: Options, continued: Continued | None = None
    ) -> PipelineGroup:
        """Queries that go together, spread by what they have in common, or as they have been."""
        keys = partitioning(*queries.values()) if continued is None else continued.keys
        return cls(queries, keys, options, continued)

    def program(self, streams: Iterable[StreamEntry] = ()) -> Program:
        """What the pipeline runs; `streams` are all that are declared."""
        if self.continued is not None:
            declared = {entry.name: entry.stream for entry in streams}
            return self._in_place(self._going_on(self.continued), self.continued, declared)
        nothing = optimize({}, self.options)
        return beside(nothing, self.queries, own=self.own, statistics=self.statistics)

    @property
    def streams(self) -> dict[str, Stream]:
        """What the queries read, with the columns that are computed in their checkpoint, too."""
        found = streams_of(*self.queries.values())
        return {name: self._as_kept(stream) for name, stream in found.items()}

    def _as_kept(self, stream: Stream) -> Stream:
        kept = {} if self.continued is None else self.continued.computed
        return stream.with_computed(kept.get(stream.name, ()))

    def form(self, program: Program) -> Form:
        """Whether the pipeline of this program has groups."""
        before = None if self.continued is None else self.continued.form
        return form_of(program, self.keys, before)

    def _going_on(self, before: Continued) -> Program:
        """Queries that were there go on as they did, others beside them."""
        kept: dict[str, PhysicalPlan] = {}
        alike: dict[tuple[Options, Options], dict[str, Node]] = {}
        for name, query in self.queries.items():
            kind = self._options_of(name), before.options_of(name)
            alike.setdefault(kind, {})[name] = query
        for (options, earlier), queries in alike.items():
            kept |= goes_on(queries, options, before.plans, earlier)
        since = dict.fromkeys(self.queries, before.change)
        for name, begin in self.begins.items():
            found = since_in_state(self.queries[name], self._options_of(name), before.plans)
            if begin is Begin.STATE and found is not None:
                since[name] = found
        since |= {name: since_of(plan) for name, plan in before.plans.items()}
        streams = tuple(self.streams.values())
        known = (since, self.own, streams, self.statistics)
        program = go_on(self.queries, self.options, kept, before.asked, *known)
        return self._handing_over(program, before)

    def _handing_over(self, program: Program, before: Continued) -> Program:
        """Let queries that ask for the same, and are computed otherwise now, lose nothing."""
        same = [name for name, asked in program.asked.items() if before.asked.get(name) == asked]
        plans = with_tables({name: before.plans[name] for name in same}, program.plans)
        altered = {
            name: tuple(with_tables({str(n): p for n, p in enumerate(chain)}, plans).values())
            for name, chain in before.altered.items()
            if name in same
        }
        earlier = replace(program, plans=plans, altered=altered)
        for name in same:
            program = with_earlier(program, earlier, name)
        why = {name: each for name, each in before.why.items() if name in program.altered}
        return replace(program, why=why)

    def _options_of(self, query: str) -> Options:
        return self.own.get(query, self.options)

    def _in_place(
        self, program: Program, before: Continued, declared: Mapping[str, Stream]
    ) -> Program:
        """The program with its streams where a checkpoint has them, also those nobody reads now."""
        read = {stream.name: stream for stream in program.streams}
        # Spark knows its sources by their places.
        known = {name: read.get(name) or declared.get(name) for name in before.streams}
        kept = [self._as_kept(stream) for stream in known.values() if stream is not None]
        new = [stream for name, stream in read.items() if name not in known]
        return replace(program, streams=(*kept, *new))


def assign_pipelines(
    queries: Mapping[str, Node],
    options: Mapping[str, Options] | None = None,
    continued: Sequence[Continued] = (),
    *,
    begins: Mapping[str, Begin] | None = None,
    is_small: bool = False,
    accept_changes: bool = False,
) -> list[PipelineGroup]:
    """All queries, distributed over as few pipelines as suit them; those that continue first.

    `options` are those of each query, where they are not what they are by themselves. Where there
    is little to read, queries share a pipeline even if they agree on a single group only: another
    pipeline costs more than its group saves. With `accept_changes` a query that asks for something
    else than in its checkpoint may leave that for another pipeline. `begins` says from when on
    queries see rows; one that is to see all of them joins no checkpoint.
    """
    by_name = {name: (options or {}).get(name, Options()) for name in queries}
    found: list[PipelineGroup] = []
    left = dict(queries)
    # A checkpoint of which a query is gone is refused, unless others have all that are declared.
    whole = [each for each in continued if each.plans.keys() <= queries.keys()]
    others = [each for each in continued if each not in whole]
    for each in (*sorted(whole, key=lambda each: -len(each.plans)), *others):
        there = [name for name in each.plans if name in left]
        if accept_changes:
            there = [name for name in there if _stays(left[name], by_name[name], each, name)]
        if there:
            plans = {name: left.pop(name) for name in there}
            together = PipelineGroup.of(plans, by_name[there[0]], each)
            found.append(_with_own(together, by_name))
    # By what queries may be spread is put together one by one; a checkpoint's stays as it is.
    spread: list[Partitioning | None] = [None] * len(found)
    for name, plan in left.items():
        mine, begin = Partitioning.of(plan), (begins or {}).get(name)
        new = PipelineGroup({name: plan}, mine.keys, by_name[name], is_small=is_small)
        for place, group in enumerate(found):
            is_late = group.continued is not None and begin is Begin.START
            if is_late or not group.keys.keys() & new.keys.keys():
                continue
            before = spread[place]
            both = None if before is None else before | mine
            together = replace(
                group,
                queries={**group.queries, name: plan},
                keys=group.keys if both is None else both.keys,
                begins=group.begins if begin is None else {**group.begins, name: begin},
            )
            if _suits(together, group, new):
                found[place], spread[place] = _with_own(together, by_name), both
                break
        else:
            found.append(new)
            spread.append(mine)
    return found


def _with_own(group: PipelineGroup, options: Mapping[str, Options]) -> PipelineGroup:
    """A pipeline whose queries keep the options that each has."""
    there = ((name, options[name]) for name in group.queries)
    return replace(group, own={name: each for name, each in there if each != group.options})


def _stays(plan: Node, options: Options, there: Continued, name: str) -> bool:
    """Whether a query of a checkpoint can go on there, whatever it asks for now."""
    return digest_of(plan) == there.asked[name] or not why_apart(
        plan,
        options,
        there.options,
        there.keys,
        there.computed,
        has_groups=there.form == GROUPS,
    )


def _suits(together: PipelineGroup, there: PipelineGroup, new: PipelineGroup) -> bool:
    """Whether all want it alike, and no stream that could be spread comes down to one group."""
    if there.continued is not None:
        [plan] = new.queries.values()
        before = there.continued
        has_groups = before.form == GROUPS
        return not why_apart(
            plan, new.options, there.options, there.keys, before.computed, has_groups=has_groups
        )
    if new.options != there.options:
        return False
    return there.is_small or all(
        together.keys[stream] != () or keys == ()
        for group in (there, new)
        for stream, keys in group.keys.items()
    )


def why_apart(
    plan: Node,
    options: Options,
    there: Options,
    keys: Mapping[str, PartitionKeys],
    computed: Mapping[str, Collection[ComputedColumn]],
    *,
    has_groups: bool,
) -> str:
    """Why a query cannot join a pipeline that is there; empty: it can.

    `there` are the options of the pipeline, `keys` those by which its streams are partitioned, and
    `computed` the columns that Spark computes of them. What each query has for itself of its
    options keeps nobody apart.
    """
    other = [name for name in changed_settings(there, options) if SETTINGS[name].of_engine]
    if other:
        differing = (f"{n} is {getattr(options, n)}, not {getattr(there, n)}" for n in other)
        return f"it was declared under other settings: {', '.join(differing)}"
    unread = [f"`{name}`" for name in streams_of(plan) if name not in keys]
    if unread:
        return f"nobody reads {', '.join(unread)} there"
    for name, stream in streams_of(plan).items():
        if new := [c.sql for c in stream.computed if c not in computed.get(name, ())]:
            return (
                f"Spark does not compute {', '.join(new)} there as it reads `{name}`, and what a "
                "pipeline reads stays as it is"
            )
    if not suits(keys, plan):
        return "it needs its streams to be partitioned by other columns"
    alone = optimize({"": plan}, options)
    if not has_groups and form_of(alone, partitioning(plan)).has_groups:
        return "it needs state, and nothing there has any"
    return ""
