"""GroupHost: the kernel graph of one partition group, a micro-batch at a time.

It is a `GraphHost` and what a micro-batch adds: what comes in are blocks of rows per stream, and
how far each stream has come as a whole; what goes out are results per query, and counts. It knows
nothing of Spark: `processor` hands it batches and keeps its state.

A row is late when it lies below the bound after the earlier batches. Bounds rise at the end of
a batch, the same in every group, so results do not depend on how rows are partitioned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import polars as pl

from penstock.errors import NotExecutable
from penstock.kernel.aggregation.preaggregating import Preaggregating
from penstock.kernel.progress.late import LatePolicy
from penstock.kernel.rejected import Reason
from penstock.kernel.scheduling.strategies import strategy_named
from penstock.kernel.state import State
from penstock.model.schema import ROW_NUM
from penstock.model.timestamps import END
from penstock.optimizer.closing import closing_bounds, streams_with_row_windows
from penstock.optimizer.cost.costs import costs
from penstock.optimizer.optimize import with_tables
from penstock.optimizer.physical import PhysicalPlan, Plans, Program, from_json, to_json, walk
from penstock.optimizer.rechoose import stand_ins, with_stand_ins
from penstock.optimizer.rules.late_rows import can_reopen
from penstock.runtime.adapting import Why
from penstock.runtime.altering import alter
from penstock.runtime.arrivals import Arrivals, Folded
from penstock.runtime.counts import Tally
from penstock.runtime.graph_host import GraphHost
from penstock.runtime.migrations import Migration
from penstock.runtime.rechoosing import Rechoosing
from penstock.runtime.status import OperatorStatus
from penstock.spark.delivery.group_reports import GroupReport


@dataclass
class Answers:
    """What one micro-batch gives."""

    rows: dict[str, int] = field(default_factory=dict)  # of whole streams
    results: dict[str, pl.DataFrame] = field(default_factory=dict)
    #: rows that did not go in, by stream
    rejected: dict[tuple[str, Reason], pl.DataFrame] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)  # of this group's rows, by stream


class GroupHost:
    """Runs one group's share of all queries."""

    def __init__(
        self,
        program: Program,
        changed: Mapping[str, Any] | None = None,
        handed: Mapping[str, str] | None = None,
        migrating: Sequence[Mapping[str, Any]] = (),
        measured: Mapping[str, Any] | None = None,
    ) -> None:
        """All but the program is what a group has kept; None: it begins."""
        self.program = program
        options = program.options
        # What comes between the end of a run and of the last window that it has answered.
        self._reopens = all(
            can_reopen([query], program.options_of(name)) for name, query in program.queries.items()
        )
        self._host = GraphHost(
            rows_per_step=options.rows_per_step,
            late=LatePolicy(options.late),
            ets=None,  # the driver asks: it knows all groups
            ets_by_arcs=options.ets_by == "arcs",
            by_batch=True,
            reopens=self._reopens,
            adapting=partial(_adapting, program),
        )
        self._host.executor.table.set_strategy(strategy_named(options.strategy))
        self.graph = self._host.graph
        for stream in program.streams:
            self._host.add_stream(stream)
        #: Queries that were altered, and that still run by the plans of before.
        self._altering = {} if handed is None else earlier_plans(program, changed, handed)
        kept = _plans_in(changed, program)
        plans = {**program.plans, **kept, **self._altering}
        self._host.add_plans(plans)
        self._rechoosing = Rechoosing(self._host, plans)
        self._host.measuring.follow(program.queries, plans, _adapting(program))
        self._host.measuring.restore(measured or {})
        self._joins: dict[str, Any] = {}  # what was measured of them in the last batch
        #: Plans that differ from the program's, as JSON: chosen anew while the queries run.
        self.changed = dict(changed or {})
        #: By operator, rows that were counted, and seconds.
        self._told: dict[str, tuple[int, int, float]] = {}
        for each in migrating:
            self._host.migrations.note(Migration.from_json(each))
        self._migrations = list(self._host.migrations)  # that were told
        if kept.keys() - self.changed.get("queries", {}).keys():
            self._note_changed()  # queries that are new run what was chosen for others

    def process(self, arrivals: Sequence[Arrivals]) -> Answers:
        """Carry a micro-batch through; `arrivals` are in the order of the program's streams."""
        inputs = self._host.inputs
        arrived = {s.name: a for s, a in zip(self.program.streams, arrivals, strict=True)}
        for name, each in arrived.items():
            inputs[name].open_batch(each)
        self._host.run()
        for name, each in arrived.items():
            self._absorb(name, each.folded)
            if each.for_others:
                heads = {folded.head for folded in each.folded}
                inputs[name].push_for_others(each.for_others, heads)
        for name, each in arrived.items():
            inputs[name].close_batch(each)
        self._host.run()
        if any(each.ends for each in arrivals):
            self.hand_over()  # what is to let everything out then is the program's plan
            self._end_run()
        self._rechoose()
        self.hand_over()
        self._joins = self._host.measuring.report()
        return self._answers({name: each.rows for name, each in arrived.items()})

    def _absorb(self, stream: str, folded: Sequence[Folded]) -> None:
        """Hand rows that the exchange has folded to their aggregates, past all buffers."""
        for each in folded:
            node = self.graph.nodes[each.target]
            assert isinstance(node.operator, Preaggregating)
            node.operator.absorb(each.partials)
            node.absorbed += each.rows
            self._host.inputs[stream].generator.state.numbered += each.rows

    def _rechoose(self) -> None:
        """Let better operators take over, behind a batch; this machine's costs decide.

        The exchange must know of it before it folds rows for the next one.
        """
        if self._rechoosing.look(costs()):
            self._note_changed()

    def hand_over(self) -> None:
        """Let the operators of queries that were altered take over, as soon as they can.

        An aggregate that is just taking over from another is waited for.
        """
        if not self._altering:
            return
        for query in list(self._altering):
            with suppress(NotExecutable):
                wanted, plans = self.program.plans[query], self._rechoosing.plans
                reason, how = self.program.why.get(query, ("", ""))
                how = how or self.program.options_of(query).migration
                changed = alter(self._host, plans, query, wanted, how, reason or Why().reason)
                self._rechoosing.follow(changed)
                del self._altering[query]
        self._note_changed()

    @property
    def handed(self) -> dict[str, str]:
        """By query that was altered, the fingerprint of the plan that it runs by, or will."""
        plans = self.program.plans
        return {n: plans[n].fingerprint for n in self.program.altered if n not in self._altering}

    @property
    def migrating(self) -> list[dict[str, Any]]:
        """Changes of joins that have not ended, as JSON."""
        return [each.as_json() for each in self._host.migrations if not each.is_over]

    @property
    def changing(self) -> list[str]:
        """Queries that were altered, and whose operators have not taken over yet."""
        under_way = (each.query for each in self._host.migrations if not each.is_over)
        return sorted({*self._altering, *under_way})

    @property
    def measured(self) -> dict[str, Any]:
        """What the meters of joins go on by, as JSON."""
        return self._host.measuring.facts()

    def _note_changed(self) -> None:
        plans, declared = self._rechoosing.plans, self.program.plans
        queries, adapting = self.program.queries, _adapting(self.program)
        self._host.measuring.follow(queries, plans, adapting)
        changed = {name: plan for name, plan in plans.items() if plan != declared[name]}
        self.changed = {}
        if changed:
            instead_of = {name: declared[name].fingerprint for name in changed}
            # Where a query that names its algorithm still runs them, the operators are there.
            there = {
                each.fingerprint for each in walk(p for n, p in plans.items() if n not in changed)
            }
            stand_in = {
                part: other.fingerprint
                for name, plan in changed.items()
                for part, other in stand_ins(declared[name], plan).items()
                if part not in there
            }
            facts = {"instead_of": instead_of, "stand_in": stand_in}
            self.changed = {**to_json(changed), **facts}
        self._told.clear()  # operators count from when they were built

    def _answers(self, rows: dict[str, int]) -> Answers:
        found = ((name, self._host.results(name)) for name in self._host.queries)
        rejected: dict[tuple[str, Reason], list[pl.DataFrame]] = {}
        for each in self._host.rejected_rows:
            rejected.setdefault((each.stream, each.reason), []).append(each.rows)
        self._host.rejected_rows.clear()
        return Answers(
            rows,
            {name: results for name, results in found if results.height},
            {key: pl.concat(parts) for key, parts in rejected.items()},
            {name: stream.tally for name, stream in self._host.inputs.items()},
        )

    def _end_run(self) -> None:
        """Let out whatever waits; what is answered then is closed for runs that continue."""
        inputs = self._host.inputs
        newest = {(name, on): t for name, s in inputs.items() for on, t in s.latest().items()}
        standing = {
            (n, on): s.generator.bound_on(on) for n, s in inputs.items() for on in s.stream.times
        }
        bounds: dict[tuple[str, str], int] = {}
        for options in dict.fromkeys(map(self.program.options_of, self.program.queries)):
            alike = [
                query
                for name, query in self.program.queries.items()
                if self.program.options_of(name) == options
            ]
            for time, bound in closing_bounds(alike, newest, standing, options).items():
                bounds[time] = max(bound, bounds.get(time, bound))
        # The last window over rows is answered unfilled, and no row can be added to it any more:
        # such streams are over for good.
        over = streams_with_row_windows(self.program.queries.values())
        bounds |= {(name, ROW_NUM): END for name in inputs if name in over}
        for (name, on), bound in bounds.items():
            inputs[name].close(bound, on)
        self._host.rest()
        if self._reopens:
            self._host.reopen()

    def repeat_bounds(self) -> None:
        """Tell operators that are new the bounds of streams so far."""
        for stream in self._host.inputs.values():
            stream.repeat_punctuation()

    def take_in(self) -> None:
        """Operators have come that saw the same rows elsewhere: they get the bounds of streams.

        Where an earlier run has ended, these answer and close for them what is closed for others.
        """
        self.repeat_bounds()
        self._host.run()
        states = [each.generator.state for each in self._host.inputs.values()]
        if self._reopens and any(each.closed > each.own or each.closed_of for each in states):
            self._host.reopen()

    def states(self) -> Iterator[tuple[str, State]]:
        """Everything to be kept, under names that are the same in every batch."""
        return self._host.states()

    def _operators(self) -> list[OperatorStatus]:
        """The operators, with rows and seconds since this was asked last."""
        found = []
        for each in self._host.operators():
            rows_in, rows_out, seconds = self._told.get(each.name, (0, 0, 0.0))
            self._told[each.name] = (each.rows_in, each.rows_out, each.processor_seconds)
            since = replace(
                each,
                rows_in=each.rows_in - rows_in,
                rows_out=each.rows_out - rows_out,
                processor_seconds=round(each.processor_seconds - seconds, 6),
                lately_seconds=round(each.lately_seconds, 6),
                lately_rows=round(each.lately_rows),
            )
            found.append(since)
        return found

    def on_time_from(self) -> dict[str, int]:
        """From which time on rows of each stream are on time, whatever else they hold."""
        return {name: each.generator.on_time_from() for name, each in self._host.inputs.items()}

    def pass_late(self) -> list[str]:
        """The streams whose late rows go in like others, and are counted."""
        return [name for name, each in self._host.inputs.items() if each.passes_late()]

    def report(self, answers: Answers) -> GroupReport:
        """The report of the batch that was answered."""
        states = {name: stream.generator.state for name, stream in self._host.inputs.items()}
        return GroupReport(
            bounds={name: state.bound for name, state in states.items()},
            own={name: state.own for name, state in states.items()},
            newest={name: state.newest for name, state in states.items()},
            on_time_from=self.on_time_from(),
            awaited=self._host.enabling.awaited(),
            releases=self._host.releases_by_query(),
            operators=self._operators(),
            joins=self._joins,
            changed=self.changed,
            handed=self.handed,
            changing=self.changing,
            migrations=self._migrations_since_told(),
            rows=answers.rows,
            tallies=answers.tallies,
        )

    def _migrations_since_told(self) -> list[Migration]:
        """Those that began or ended since this was asked last."""
        before, self._migrations = self._migrations, list(self._host.migrations)
        return [each for each in self._migrations if each not in before]


def _adapting(program: Program) -> set[str]:
    """The queries whose joins keep what others would need."""
    return {name for name in program.queries if program.options_of(name).adapts}


def _plans_in(changed: Mapping[str, Any] | None, program: Program) -> Plans:
    """Plans that a group has changed, of the queries that still run and ask for the same.

    What others have in common with what was asked before is computed as it was, too: that is where
    its state is.
    """
    if not changed:
        return {}
    declared = {name: plan.fingerprint for name, plan in program.plans.items()}
    was = changed["instead_of"]
    found = from_json(changed)
    mine = {n: plan for n, plan in found.items() if n in declared and declared[n] == was[n]}
    known = {plan.fingerprint: plan for plan in walk(found.values())}
    instead = {part: known[other] for part, other in changed.get("stand_in", {}).items()}
    others = {name: plan for name, plan in program.plans.items() if name not in mine}
    rest = with_stand_ins(others, instead) if instead else {}
    mine |= {name: plan for name, plan in rest.items() if plan != others[name]}
    return with_tables(mine, program.plans)


def earlier_plans(
    program: Program, changed: Mapping[str, Any] | None, handed: Mapping[str, str]
) -> dict[str, PhysicalPlan]:
    """By query that was altered, what a group still runs, which has kept this.

    `handed`: the plans that others have handed over to, or begun to; of queries that were altered
    since it is what they ran by.
    """
    found: dict[str, PhysicalPlan] = {}
    for name, chain in program.altered.items():
        wanted = program.plans[name].fingerprint
        if handed.get(name) == wanted:
            continue
        known = {plan.fingerprint: plan for plan in chain}
        was = (changed or {}).get("instead_of", {}).get(name)
        if changed and was in (wanted, *known):
            found |= with_tables({name: from_json(changed)[name]}, program.plans)
        else:
            found[name] = known.get(handed.get(name, ""), chain[0])
    return found
