"""The program after a change: queries that go, that come, and that are computed in another way.

Operators that both programs have go on with their state. A query that is altered gets all that it
has kept handed over, if the operators can (`optimizer/alter.py`); otherwise those that are new
begin without the rows of earlier batches. Its joins go on storing the columns that others read.

While operators hand over, a group still has those of before, which get fewer and fewer rows. If one
of them came back by another change, it would be found with a part of its rows. So queries that
would use such operators see rows from this change on only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from penstock.optimizer.alter import lacks_columns, with_earlier
from penstock.optimizer.optimize import beside
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan, Program, since_of, walk
from penstock.optimizer.rules.stored_for_others import stored_for_others
from penstock.optimizer.statistics import Statistics
from penstock.plan.nodes import Node
from penstock.runtime.adapting import Why


@dataclass(frozen=True)
class Coming:
    """A query that comes: since which change it sees rows, and its options.

    `again`: it reads what came before it, and catches up (`catching_up/`).
    """

    plan: Node
    since: int
    options: Options
    again: bool = False


@dataclass(frozen=True)
class Altered:
    """A query that stays, and runs by other options, or in another shape."""

    plan: Node
    options: Options
    why: Why = field(default_factory=Why)


def next_program(
    before: Program,
    number: int,
    dropped: Collection[str] = (),
    changes: Mapping[str, Coming | Altered] | None = None,
    statistics: Statistics | None = None,
) -> Program:
    """What runs after the change that has this number; `statistics` are what is known then."""
    changes = changes or {}
    plans = {name: each.plan for name, each in changes.items()}
    own = {name: each.options for name, each in changes.items()}
    altered = [name for name, each in changes.items() if isinstance(each, Altered)]
    since = {
        name: each.since if isinstance(each, Coming) else since_of(before.plans[name])
        for name, each in changes.items()
    }
    left = before.without({*dropped, *altered})
    leaving = {name: plan for name, plan in before.plans.items() if name not in left.plans}
    staying = {name: query for name, query in before.queries.items() if name not in dropped}
    stored = stored_for_others(staying, altered)

    def planned(since: Mapping[str, int]) -> Program:
        found = beside(left, plans, since, own, statistics, leaving, altered, stored)
        # Those that are altered together would store columns of each other that some do not have.
        for name in altered:
            if lacks_columns(name, before.plans[name], found.plans[name], before.plans):
                one = {name: plans[name]}
                others = found.without({name})
                found = beside(others, one, since, own, statistics, leaving, altered, stored)
        return _with_earlier(found, before, altered)

    program = planned(since)
    going = _on_their_way_out(before)
    partial = [
        name
        for name in plans
        if name not in program.altered and not going.isdisjoint(program.plans[name].walk())
    ]
    if partial:
        program = planned(since | dict.fromkeys(partial, number))
    why = {n: (c.why.reason, c.why.how) for n, c in changes.items() if isinstance(c, Altered)}
    program = replace(program, why={**before.without({*dropped, *plans}).why, **why})
    again = {c.since for c in changes.values() if isinstance(c, Coming) and c.again}
    return program.with_catching_up(again.union(before.catching_up))


def _with_earlier(program: Program, before: Program, altered: Collection[str]) -> Program:
    for name in altered:
        program = with_earlier(program, before, name)
    return program


def _on_their_way_out(program: Program) -> set[PhysicalPlan]:
    """Operators that groups may still have, and that are not part of the program any more."""
    earlier = (plan for chain in program.altered.values() for plan in chain)
    return set(walk(earlier)).difference(walk(program.plans.values()))
