"""Optimize: from the logical plans of queries to the operators that compute them.

    logical plans
      │  push_down_select   conditions go below joins, unions and windows
      │  group_below_join   so do aggregates of rows of one window, where that is asked for
      │  shape_joins     joins of several inputs become joins of the shape in which they run
      │  RULES           rewrite all queries together; refuse what cannot run as it is asked for
      │  prune           what keeps rows gets only the columns that somebody reads
      │  lower_*         each node gets its operators, with the reason
      │  share_joins     joins that differ in which rows they take become one
      │  FITTING         operators are fitted to each other, and to those that run already
    physical plans

A query that has no operators is refused here, when it is declared. `running` are the plans of
queries that run: a query that comes later uses their operators where they suit, and where both see
the same rows, that is, `since` the same change (`SourceSpec`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from penstock.errors import NotExecutable, PenstockBug
from penstock.model.streams import Stream
from penstock.model.user_defined import with_code
from penstock.optimizer.alter import takeovers
from penstock.optimizer.joins.shape_of import shape_joins
from penstock.optimizer.lower_aggregate import lower_window_aggregate
from penstock.optimizer.lower_explode import lower_explode
from penstock.optimizer.lower_join import lower_join
from penstock.optimizer.lower_match import lower_match_recognize
from penstock.optimizer.lower_ordered import lower_ordered
from penstock.optimizer.lower_row import lower_numbered, lower_project, lower_select
from penstock.optimizer.lower_sequence import lower_sequence
from penstock.optimizer.lower_table_join import lower_table_join
from penstock.optimizer.lower_union import lower_union
from penstock.optimizer.options import Options
from penstock.optimizer.physical import (
    Chosen,
    PhysicalPlan,
    Plans,
    Program,
    Queries,
    digest_of,
    rewritten,
    since_of,
    used_in,
    walk,
)
from penstock.optimizer.rules.adapt_union_inputs import adapt_union_inputs
from penstock.optimizer.rules.group_below_join import group_below_join
from penstock.optimizer.rules.in_order import in_order
from penstock.optimizer.rules.joint_punctuation import joint_punctuation
from penstock.optimizer.rules.late_rows import late_rows
from penstock.optimizer.rules.prune import prune
from penstock.optimizer.rules.push_down_select import push_down_select
from penstock.optimizer.rules.share_joins import share_joins
from penstock.optimizer.rules.share_panes import share_panes
from penstock.optimizer.rules.stored_for_others import Stored
from penstock.optimizer.rules.tag_union_inputs import tag_union_inputs
from penstock.optimizer.specs import (
    BucketSpec,
    ExplodeSpec,
    MeldSpec,
    ProjectSpec,
    SelectSpec,
    SourceSpec,
    StaticJoinSpec,
)
from penstock.optimizer.statistics import Statistics, sharers
from penstock.plan import nodes
from penstock.plan.computed_columns import read_alike
from penstock.plan.graph import fold, streams_of
from penstock.plan.on_results import without_results
from penstock.plan.waiting import waits

#: Operators that keep nothing of the rows that they have seen.
STATELESS = (
    *(SourceSpec, SelectSpec, ProjectSpec, ExplodeSpec, StaticJoinSpec, BucketSpec, MeldSpec),
)

#: Rewrites of logical plans whose joins have their shape, in their order.
RULES = (in_order, late_rows, adapt_union_inputs)
#: Changes of physical plans, in their order.
FITTING = (tag_union_inputs, joint_punctuation, share_panes)


def optimize(
    queries: Queries,
    options: Options | None = None,
    statistics: Statistics | None = None,
    *,
    running: Plans | None = None,
    leaving: Plans | None = None,
    stored: Stored | None = None,
    since: int = 0,
) -> Program:
    """The operators for all queries together; NotExecutable if one of them has none.

    `leaving` are the plans of queries that run, too, and end now: what is used of them goes on.
    `stored` are columns that their joins store in any case.
    """
    options, statistics = options or Options(), statistics or Statistics()
    asked = {name: digest_of(query) for name, query in queries.items()}
    queries, on_results = without_results(queries)
    low = push_down_select(queries, options)

    def planned(queries: Queries) -> tuple[Queries, Plans]:
        return _planned(queries, options, statistics, since, stored)

    def fitted(planned: tuple[Queries, Plans]) -> Program:
        found, plans = planned
        plans = share_joins(plans, {**(leaving or {}), **(running or {})})
        for fit in FITTING:
            plans = fit(plans, running or {})
        streams = tuple(streams_of(*found.values()).values())
        return Program(streams, dict(found), plans, options, asked, on_results=on_results)

    pushed = planned(low)
    if low == queries:
        return fitted(pushed)
    if statistics.altered:
        program = fitted(pushed)
        if _can_take_over(program, statistics.altered):
            return program
        # Conditions may stand above what runs, for it was to be shared.
        plain = fitted(planned(queries))
        return plain if _can_take_over(plain, statistics.altered) else program
    if running:
        # What runs has seen rows already: conditions behind it cost less than another one.
        _, plans = pushed
        _, others = planned(queries)
        there = _stateful(running.values())
        shares = [n for n in plans if there & _stateful([others[n]]) - _stateful([plans[n]])]
        if shares:
            pushed = planned({**low, **{name: queries[name] for name in shares}})
    return fitted(pushed)


def _can_take_over(program: Program, altered: Plans) -> bool:
    """Whether operators that run can hand over what they keep to those of a program."""
    try:
        for name, runs in altered.items():
            takeovers(name, runs, program.plans[name])
    except NotExecutable:
        return False
    return True


def _planned(
    queries: Queries,
    options: Options,
    statistics: Statistics,
    since: int,
    stored: Stored | None,
) -> tuple[Queries, Plans]:
    """The queries as they run, and operators for them, each by itself."""
    queries = shape_joins(group_below_join(queries, options), options, statistics)
    for rule in RULES:
        queries = rule(queries, options)
    queries = prune(queries, options, stored)
    statistics = replace(statistics, sharers=sharers(queries.values()))
    return queries, {
        name: _lower(query, options, statistics, since) for name, query in queries.items()
    }


def _stateful(plans: Iterable[PhysicalPlan]) -> set[PhysicalPlan]:
    """The operators that keep something of rows."""
    return {plan for plan in walk(plans) if not isinstance(plan.spec, STATELESS)}


def go_on(
    queries: Queries,
    options: Options,
    kept: Plans,
    asked: Mapping[str, str],
    since: Mapping[str, int] | None = None,
    own: Mapping[str, Options] | None = None,
    streams: tuple[Stream, ...] = (),
    statistics: Statistics | None = None,
) -> Program:
    """Queries of which some go on by the plans that they had, and others come beside them.

    What would be chosen today may be something else. A query that asks for something else than
    before gets operators as any other; `since` tells from which change on queries see rows that do
    not go on, `own` are the options of those that have others than the rest, and `streams` what is
    read, with all the columns that are computed of it.
    """
    same = {
        name: query
        for name, query in queries.items()
        if name in kept and digest_of(query) == asked[name]
    }
    known = beside(replace(optimize({}, options), streams=streams), same, own=own)
    program = replace(known, plans=with_tables({name: kept[name] for name in same}, known.plans))
    others = {name: query for name, query in queries.items() if name not in same}
    return beside(program, others, since, own, statistics)


def beside(
    program: Program,
    queries: Queries,
    since: Mapping[str, int] | None = None,
    own: Mapping[str, Options] | None = None,
    statistics: Statistics | None = None,
    leaving: Plans | None = None,
    altered: Collection[str] = (),
    stored: Stored | None = None,
) -> Program:
    """A program with further queries, which use operators that run where these suit them.

    `since` tells from which change on they see rows, and `own` their options, where they have
    others than the program; `leaving` are plans of queries that it had until now, of which those
    of `altered` are to hand over what they keep, and `stored` are columns that their joins go on
    storing.
    """
    # All of them read the same columns of a stream, also those that Spark computes for some only.
    read = streams_of(*queries.values())
    for stream in program.streams:
        if stream.name in read:
            read[stream.name] = stream.with_computed(read[stream.name].computed)
    alike_read = {name: read_alike(query, read) for name, query in queries.items()}
    asked = {n: digest_of(query) for n, query in queries.items() if query is not alike_read[n]}
    queries = alike_read
    alike: dict[tuple[int, Options], dict[str, nodes.Node]] = {}
    for name, query in queries.items():
        kind = (since or {}).get(name, 0), (own or {}).get(name, program.options)
        alike.setdefault(kind, {})[name] = query
    for number, options in sorted(alike, key=lambda kind: kind[0]):
        together = alike[number, options]
        runs = {n: p for n, p in (leaving or {}).items() if n in altered and n in together}
        known = replace(statistics or Statistics(), altered=runs)
        found = optimize(
            together,
            options,
            known,
            running=program.plans,
            leaving=leaving,
            stored=stored,
            since=number,
        )
        if options != program.options:
            found = replace(found, own=dict.fromkeys(together, options))
        program |= found
    return replace(program, asked={**program.asked, **asked})


def since_in_state(query: nodes.Node, options: Options, running: Plans) -> int | None:
    """Since when a query would see rows by what running operators keep, from as far back as can be.

    None: it has no operator with state in common with them.
    """
    there = _stateful(running.values())
    query = read_as_in(query, running)
    for since in sorted({since_of(plan) for plan in running.values()}):
        found = optimize({"": query}, options, running=running, since=since)
        if there.intersection(walk(found.plans.values())):
            return since
    return None


def read_as_in(query: nodes.Node, plans: Plans) -> nodes.Node:
    """A query over streams with the computed columns that they have in plans, too."""
    specs = (plan.spec for plan in walk(plans.values()))
    streams = {spec.stream.name: spec.stream for spec in specs if isinstance(spec, SourceSpec)}
    return read_alike(query, streams)


def with_tables(kept: Plans, now: Plans) -> Plans:
    """Plans that were written down, with what was not: rows of static tables, code of users."""
    specs = [plan.spec for plan in walk(now.values())]
    found = (spec.join.table for spec in specs if isinstance(spec, StaticJoinSpec))
    tables = {table: table for table in found}
    code = {each: each for each in used_in(now)}

    def change(plan: PhysicalPlan, before: PhysicalPlan) -> PhysicalPlan:
        spec = plan.spec
        if isinstance(spec, StaticJoinSpec):
            join = replace(spec.join, table=tables.get(spec.join.table, spec.join.table))
            spec = replace(spec, join=join)
        if code:
            spec = with_code(spec, code)
        return plan if spec is plan.spec else replace(plan, spec=spec)

    return rewritten(kept, change)


def choose(node: nodes.Node, options: Options, statistics: Statistics | None = None) -> Chosen:
    """The operators for one node."""
    match node:
        case nodes.Select():
            return lower_select(node)
        case nodes.Project():
            return lower_project(node)
        case nodes.Explode():
            return lower_explode(node)
        case nodes.Union():
            return lower_union(node, options)
        case nodes.WindowAggregate():
            return lower_window_aggregate(node, options, statistics or Statistics())
        case nodes.Join():
            return lower_join(node, options)
        case nodes.Sequence():
            return lower_sequence(node)
        case nodes.TableJoin():
            return lower_table_join(node)
        case nodes.Numbered():
            return lower_numbered(node)
        case nodes.MatchRecognize():
            return lower_match_recognize(node)
        case nodes.Ordered():
            return lower_ordered(node, options)
        case nodes.Table():
            raise NotExecutable(
                f"table `{node.table.name}` is not a stream: no rows will arrive",
                hint=f"join a stream with it: FROM stream JOIN {node.table.name} ON …",
            )
    raise PenstockBug(f"no operators for {type(node).__name__}")


def _lower(query: nodes.Node, options: Options, statistics: Statistics, since: int) -> PhysicalPlan:
    """The operators for a query."""
    # Queries that wait for nothing have no results that a late row could change.
    with_late = not waits(query, options.merges)

    def lowered(node: nodes.Node, below: tuple[PhysicalPlan, ...]) -> PhysicalPlan:
        if isinstance(node, nodes.Source):
            source = SourceSpec.of(node.stream, with_late=with_late, since=since)
            reason = f"where rows come in{', late ones too' if with_late else ''}"
            reason += f", from {_since(since)} on" if since else ""
            return PhysicalPlan(source, (), node.label, reason)
        if isinstance(node, nodes.WindowAggregate) and node.has_several_windows:
            below = tuple(lowered(part, below) for part in node.apart)
        return choose(node, options, statistics).over(below, node.label)

    return fold(query, lowered)


def _since(change: int) -> str:
    return "the first that came" if change < 0 else f"change {change}"
