"""Let joins that differ only in the rows they take of one stream run as one join.

    Join a, b                        Project a.k, a.v, a.ts, b.k, b.ts
      Project k, v, ts                 Select a.x = 1
        Select x = 1                     Join a, b
          Source a                         Project k, v, x, y, ts
      Source b                               Select x = 1 OR y > 5
    Join a, b                                  Source a
      Project k, ts                        Source b
        Select y > 5                 Project a.k, a.ts, b.k, b.ts
          Source a                     Select a.y > 5
      Source b                           the same join

The one join stores a row once, however many queries take it, and looks for its partners once; of
its results each query takes those whose row passes its own condition. So rows are stored and pairs
are found for no more rows than before, and conditions are tested once more, on results.

Queries that are declared together share joins. One that comes later uses a join that runs and has
all of its rows and columns, or gets its own: what runs does not change. If it is to use another
algorithm than the join that it has shared, it gets one over the same inputs, which can take over
from that (`optimizer/alter.py`).

Only inner joins of two streams that no other join reads: those change their shape together while
they run. And only such that differ in conditions on one input: of both, rows would meet that are in
no query's result.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.kernel.joins.spec import JoinSpec, SideSpec
from penstock.model.expressions import (
    Expression,
    Named,
    Ref,
    conjunction,
    disjunction,
    disjuncts,
    substituted,
)
from penstock.model.joins import JoinKind
from penstock.model.schema import Schema
from penstock.optimizer.codec import canonical
from penstock.optimizer.physical import PhysicalPlan, Plans, rewritten, walk
from penstock.optimizer.rules.push_down_select import may_move
from penstock.optimizer.specs import ProjectSpec, SelectSpec, SourceSpec, WindowJoinSpec
from penstock.plan.nodes import Source

#: Conditions that are shown in full.
SHOWN = 3


def share_joins(plans: Plans, running: Plans) -> Plans:
    """The plans with one join for all who can share it."""
    rest = _joins_in(plans.values())
    instead: dict[PhysicalPlan, PhysicalPlan] = {}
    if rest and running:
        runs = set(walk(running.values()))
        there = _by_what_they_ask(_joins_in(runs))
        earlier = _by_what_they_ask(_joins_in(running[name] for name in plans if name in running))
        rest = [join for join in rest if join.plan not in runs]
        for join in rest:
            served = next(join.served_by(there.get(join.asked, ())), None)
            served = served or next(join.over_inputs_of(earlier.get(join.asked, ())), None)
            if served is not None:
                instead[join.plan] = served
    for side in (0, 1):
        rest = [join for join in rest if join.plan not in instead]
        for several in _alike(rest, side):
            shared = _common(several, side)
            instead |= {join.plan: join.from_results_of(shared) for join in several}
    return rewritten(plans, lambda plan, before: instead.get(before, plan)) if instead else plans


@dataclass(frozen=True)
class _Input:
    """Rows of a stream: those that pass a condition, if there is one."""

    source: PhysicalPlan
    condition: Expression | None
    side: SideSpec

    @cached_property
    def schema(self) -> Schema:
        assert isinstance(self.source.spec, SourceSpec)
        return Source(self.source.spec.stream).schema

    @property
    def of_stream(self) -> tuple[PhysicalPlan, str, str]:
        """What is the same whatever rows and columns are taken."""
        return self.source, self.side.name, self.side.on

    @property
    def kept(self) -> frozenset[str]:
        return frozenset(column.name for column in self.side.columns)

    @property
    def needed(self) -> frozenset[str]:
        """The columns that are kept, and those that the condition looks at."""
        return self.kept if self.condition is None else self.kept | self.condition.refs

    def has_all_of(self, other: _Input) -> bool:
        """Whether it has all that another of the same stream takes, and what that is known by."""
        if self.condition == other.condition:
            return self.kept >= other.kept
        if self.condition is None:
            return self.kept >= other.needed
        if other.condition is None:
            return False
        mine, theirs = (frozenset(disjuncts(each.condition)) for each in (self, other))
        return mine >= theirs and self.kept >= other.needed

    @property
    def test_of_results(self) -> Expression | None:
        """The condition, on columns of the join."""
        if self.condition is None:
            return None
        side = self.side

        def named(part: Expression) -> Expression:
            return Ref(side.column(part.name), part.of) if isinstance(part, Ref) else part

        return substituted(self.condition, named)


@dataclass(frozen=True)
class _Join:
    """An inner join of two streams."""

    plan: PhysicalPlan
    inputs: tuple[_Input, _Input]

    @property
    def spec(self) -> WindowJoinSpec:
        assert isinstance(self.plan.spec, WindowJoinSpec)
        return self.plan.spec

    @property
    def join(self) -> JoinSpec:
        assert isinstance(self.spec.join, JoinSpec)
        return self.spec.join

    @property
    def asked(self) -> Hashable:
        """Which pairs of rows it is about, however they are found."""
        join = self.join
        pairs = (join.band, join.equalities, join.residual)
        return (*pairs, *(each.of_stream for each in self.inputs))

    @property
    def algorithm(self) -> tuple[str, float | None]:
        return self.spec.tactic, self.spec.alpha

    def served_by(self, others: Iterable[_Join]) -> Iterator[PhysicalPlan]:
        """Its results from joins that have them among theirs."""
        for other in others:
            if other.algorithm == self.algorithm and other.has_all_of(self):
                yield self.from_results_of(other)

    def over_inputs_of(self, others: Iterable[_Join]) -> Iterator[PhysicalPlan]:
        """Its results from joins that read the same as others, which they can take over from."""
        for other in others:
            if other.has_all_of(self):
                plan = replace(self.plan, spec=replace(self.spec, join=other.join))
                plan = replace(plan, inputs=other.plan.inputs)
                yield self.from_results_of(_Join(plan, other.inputs))

    def has_all_of(self, other: _Join) -> bool:
        """Whether one that asks for the same pairs is about rows of this one only."""
        pairs = zip(self.inputs, other.inputs, strict=True)
        return all(mine.has_all_of(own) for mine, own in pairs)

    def from_results_of(self, shared: _Join) -> PhysicalPlan:
        """Its results, from a join that has them among its own."""
        plan, pairs = shared.plan, zip(self.inputs, shared.inputs, strict=True)
        tests = (own.test_of_results for own, their in pairs if own.condition != their.condition)
        test = conjunction(each for each in tests if each is not None)
        if test is not None:
            reason = "a row at a time, no state; the join below takes rows of other queries, too"
            plan = PhysicalPlan(SelectSpec(test), (plan,), f"Select {test}", reason)
        columns = [
            Named(each.side.column(column.name), each.side.ref(column.name))
            for each in self.inputs
            for column in each.side.columns
        ]
        if [each.name for each in columns] == [n for side in shared.join.sides for n in side.names]:
            return plan
        nullable = sorted(
            each.side.column(name)
            for each in self.inputs
            for name in (each.side.on, *(carried.column for carried in each.side.carried))
            if name in each.schema.nullable
        )
        label = f"Project {', '.join(column.name for column in columns)}"
        spec = ProjectSpec(tuple(columns), tuple(nullable))
        return PhysicalPlan(spec, (plan,), label, "a row at a time, no state")


def _joins_in(plans: Iterable[PhysicalPlan]) -> list[_Join]:
    """All inner joins of two streams that can be shared."""
    parts = walk(plans)
    read = {
        _below_projects(each)
        for plan in parts
        if isinstance(plan.spec, WindowJoinSpec)
        for each in plan.inputs
    }
    found = (_join_of(plan) for plan in parts if plan not in read)
    return [each for each in found if each is not None]


def _below_projects(plan: PhysicalPlan) -> PhysicalPlan:
    while isinstance(plan.spec, ProjectSpec):
        [plan] = plan.inputs
    return plan


def _by_what_they_ask(joins: Iterable[_Join]) -> dict[Hashable, list[_Join]]:
    """Joins about the same pairs together, each list in one order."""
    found: dict[Hashable, list[_Join]] = {}
    for join in sorted(joins, key=lambda each: each.plan.fingerprint):
        found.setdefault(join.asked, []).append(join)
    return found


def _join_of(plan: PhysicalPlan) -> _Join | None:
    spec = plan.spec
    # Whoever asks for joint punctuation reads it right above the join.
    if not isinstance(spec, WindowJoinSpec) or not isinstance(spec.join, JoinSpec) or spec.joint:
        return None
    if spec.join.kind is not JoinKind.INNER:
        return None
    left, right = (_input_of(*each) for each in zip(plan.inputs, spec.join.sides, strict=True))
    return None if left is None or right is None else _Join(plan, (left, right))


def _input_of(plan: PhysicalPlan, side: SideSpec) -> _Input | None:
    """Rows of a stream as a join reads them; None: they are those of another operator."""
    condition = None
    if isinstance(plan.spec, ProjectSpec):
        if any(column.value != Ref(column.name, column.type) for column in plan.spec.columns):
            return None
        [plan] = plan.inputs
    if isinstance(plan.spec, SelectSpec):
        condition = plan.spec.predicate
        [plan] = plan.inputs
    if not isinstance(plan.spec, SourceSpec) or not (condition is None or may_move(condition)):
        return None
    found = _Input(plan, condition, side)
    return found if found.needed <= frozenset(found.schema.names) else None


def _alike(joins: Iterable[_Join], side: int) -> list[list[_Join]]:
    """Those together that differ in their conditions on one input."""
    found: dict[Hashable, list[_Join]] = {}
    for join in joins:
        key = join.algorithm, join.asked, join.inputs[1 - side].condition
        found.setdefault(key, []).append(join)
    return [several for several in found.values() if len(several) > 1]


def _common(joins: Sequence[_Join], side: int) -> _Join:
    """One join for all of these; the same whatever order they were declared in."""
    first = joins[0]
    inputs = [
        _common_input([join.inputs[number] for join in joins], is_shared=number == side)
        for number in (0, 1)
    ]
    (left, left_plan), (right, right_plan) = inputs
    spec = replace(first.spec, join=replace(first.join, sides=(left.side, right.side)))
    reason = f"{first.plan.reason}; shared by {len(joins)} joins that differ only in conditions"
    plan = replace(first.plan, spec=spec, inputs=(left_plan, right_plan), reason=reason)
    return _Join(plan, (left, right))


def _common_input(inputs: Sequence[_Input], *, is_shared: bool) -> tuple[_Input, PhysicalPlan]:
    """What several joins take of a stream; `is_shared`: each by a condition of its own."""
    first, condition = inputs[0], inputs[0].condition
    conditions = {part for each in inputs for part in disjuncts(each.condition)}
    if is_shared:
        is_any = any(each.condition is None for each in inputs)
        condition = None if is_any else disjunction(sorted(conditions, key=canonical))
    names = frozenset[str]().union(*(each.needed if is_shared else each.kept for each in inputs))
    columns = tuple(column for column in first.schema if column.name in names)
    carried = {each.column: each for one in inputs for each in one.side.carried}
    side = replace(
        first.side, columns=columns, carried=tuple(carried[name] for name in sorted(carried))
    )
    plan = first.source
    if condition is not None:
        shown = str(condition)
        if len(conditions) > SHOWN:
            shown = f"one of {len(conditions)} conditions"
        reason = "a row at a time, no state"
        plan = PhysicalPlan(SelectSpec(condition), (plan,), f"Select {shown}", reason)
    if len(columns) < len(first.schema):
        kept = tuple(Named(column.name, Ref(column.name, column.type)) for column in columns)
        nullable = tuple(sorted(first.schema.nullable & names))
        label = f"Project {', '.join(column.name for column in columns)}"
        reason = "a row at a time, no state"
        plan = PhysicalPlan(ProjectSpec(kept, nullable), (plan,), label, reason)
    return _Input(first.source, condition, side), plan
