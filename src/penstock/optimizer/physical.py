"""PhysicalPlan: the operators that compute a query, as a value.

A plan is its last operator, with the plans of its inputs below it. It says which operator that is
and all that it is built from (`spec`); why (`reason`, at the last operator of each logical node,
with the node's `label`); and what it is estimated to cost. EXPLAIN prints it, `build` makes the
running operators of it, and both say the same.

Its *fingerprint* depends on what it computes and how, and on nothing else: not on the name of the
query, on what was declared before it, on reasons and estimates, or on the process. Equal fragments
have equal fingerprints, so they are built once, and state is found again by them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from penstock.model.streams import Stream
from penstock.model.user_defined import UserDefined, mended, user_defined_in
from penstock.optimizer.codec import canonical, decode, encode
from penstock.optimizer.options import Options
from penstock.optimizer.specs import SourceSpec, Spec, UpToLastRowSpec
from penstock.plan.graph import distinct, rewrite
from penstock.plan.nodes import Node, Source
from penstock.plan.on_results import OnResults

T = TypeVar("T")

Queries: TypeAlias = Mapping[str, Node]
"""Logical plans by the names of their queries."""

#: Hexadecimal digits of a fingerprint that name an operator.
SHORT = 12


@dataclass(frozen=True)
class Chosen:
    """The operators for one logical node: the first reads its inputs, the last gives its answer."""

    specs: tuple[Spec, ...]
    reason: str
    cost: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.specs)

    def over(self, inputs: tuple[PhysicalPlan, ...], label: str) -> PhysicalPlan:
        """These operators on top of each other, the first over the inputs of the node."""
        if not self.specs:
            return replace(inputs[0], reason=f"{inputs[0].reason}; {self.reason}")
        below = inputs
        for spec in self.specs:
            counted = inputs if isinstance(spec, UpToLastRowSpec) else ()
            below = (PhysicalPlan(spec, (*below, *counted)),)
        return replace(below[0], label=label, reason=self.reason, cost=self.cost)


@dataclass(frozen=True, eq=False)
class PhysicalPlan:
    """An operator over its inputs."""

    spec: Spec
    inputs: tuple[PhysicalPlan, ...] = ()
    label: str = ""  # of the logical node that is answered here; empty inside a chain
    reason: str = ""
    cost: float | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Names what is computed, and how."""
        inputs = ",".join(below.fingerprint for below in self.inputs)
        return hashlib.sha256(f"{canonical(self.spec)}({inputs})".encode()).hexdigest()

    @property
    def id(self) -> str:
        """The operator's name where it runs, and its state's."""
        return f"{self.spec.name}-{self.fingerprint[:SHORT]}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PhysicalPlan) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def walk(self) -> list[PhysicalPlan]:
        """Every distinct operator, inputs before consumers."""
        return walk([self])


Plans: TypeAlias = Mapping[str, PhysicalPlan]
"""Physical plans by the names of their queries."""


def walk(plans: Iterable[PhysicalPlan]) -> list[PhysicalPlan]:
    """Every distinct operator of several plans, inputs before consumers."""
    return distinct(plans, lambda plan: plan.inputs)


def head_of(plan: PhysicalPlan) -> PhysicalPlan:
    """The operator at which rows of a source come in, of a plan that is a chain."""
    while not isinstance(plan.inputs[0].spec, SourceSpec):
        plan = plan.inputs[0]
    return plan


def rewritten(
    plans: Plans, change: Callable[[PhysicalPlan, PhysicalPlan], PhysicalPlan]
) -> dict[str, PhysicalPlan]:
    """Plans of which every operator was changed, inputs before consumers.

    `change` is given the operator over inputs that are changed already, and as it was.
    """
    done: dict[PhysicalPlan, PhysicalPlan] = {}
    for plan in walk(plans.values()):
        inputs = tuple(done[below] for below in plan.inputs)
        done[plan] = change(replace(plan, inputs=inputs), plan)
    return {name: done[plan] for name, plan in plans.items()}


@dataclass(frozen=True)
class Program:
    """The queries that run together: as they were rewritten, and the operators chosen for them.

    `streams` are what they read, by number; `asked` are digests of the queries as declared. `own`
    are the options of queries that have others than the rest. `altered` are the plans, oldest
    first, that a query was computed by before: what runs by one of these hands over to the query's
    plan; `why` says for what reason, and how joins are to (`runtime/migrating.py`). `on_results` is
    what Spark computes on the rows that queries put out, where it does. `catching_up` are the
    changes (`SourceSpec.since`) whose queries still read what came before them.
    """

    streams: tuple[Stream, ...]
    queries: Queries
    plans: Plans
    options: Options
    asked: Mapping[str, str]
    own: Mapping[str, Options] = field(default_factory=dict)
    altered: Mapping[str, tuple[PhysicalPlan, ...]] = field(default_factory=dict)
    on_results: Mapping[str, OnResults] = field(default_factory=dict)
    catching_up: tuple[int, ...] = ()
    why: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def options_of(self, query: str) -> Options:
        """What one of the queries runs by."""
        return self.own.get(query, self.options)

    @property
    def merging(self) -> list[str]:
        """The queries whose unions keep order."""
        return [name for name in self.queries if self.options_of(name).merges]

    @cached_property
    def operators(self) -> list[PhysicalPlan]:
        """Every distinct operator, inputs before consumers: by number, where tasks name them."""
        return walk(self.plans.values())

    @cached_property
    def has_user_code(self) -> bool:
        """Whether it calls functions that users have defined."""
        return any(True for _ in used_in(self.plans))

    def by(self, plans: Plans) -> Program:
        """The same with some queries computed by other plans."""
        return replace(self, plans={**self.plans, **plans})

    def __or__(self, later: Program) -> Program:
        """These queries, and others that come after them."""
        streams = {stream.name: stream for stream in (*self.streams, *later.streams)}
        return Program(
            tuple(streams.values()),
            {**self.queries, **later.queries},
            {**self.plans, **later.plans},
            self.options,
            {**self.asked, **later.asked},
            {**self.own, **later.own},
            {**self.altered, **later.altered},
            {**self.on_results, **later.on_results},
            tuple(dict.fromkeys((*self.catching_up, *later.catching_up))),
            {**self.why, **later.why},
        )

    def without(self, names: Collection[str]) -> Program:
        """The same without some queries; streams stay, whoever reads them."""

        def left(of: Mapping[str, T]) -> dict[str, T]:
            return {name: each for name, each in of.items() if name not in names}

        return replace(
            self,
            queries=left(self.queries),
            plans=left(self.plans),
            asked=left(self.asked),
            own=left(self.own),
            altered=left(self.altered),
            why=left(self.why),
            on_results=left(self.on_results),
        )

    @cached_property
    def live(self) -> Program:
        """The queries that read what comes: those that do not catch up."""
        if not self.catching_up:
            return self
        behind = [name for name, plan in self.plans.items() if since_of(plan) in self.catching_up]
        return replace(self.without(behind), catching_up=())

    def since(self, change: int) -> Program:
        """The queries that see rows since one change."""
        others = [name for name, plan in self.plans.items() if since_of(plan) != change]
        return replace(self.without(others), catching_up=())

    def with_catching_up(self, changes: Iterable[int]) -> Program:
        """The same where the queries of these changes catch up, if there are any."""
        there = {since_of(plan) for plan in self.plans.values()} if changes else set()
        return replace(self, catching_up=tuple(sorted(there.intersection(changes))))


def since_of(plan: PhysicalPlan) -> int:
    """From which change on a plan sees rows."""
    return max(p.spec.since for p in plan.walk() if isinstance(p.spec, SourceSpec))


def used_in(plans: Plans) -> Iterator[UserDefined]:
    """The functions of users that plans call."""
    return (each for plan in walk(plans.values()) for each in user_defined_in(plan.spec))


def with_code_of(plans: Plans, function: UserDefined) -> Plans:
    """Plans that call the code of a function that is declared again as it was."""

    def change(plan: PhysicalPlan, before: PhysicalPlan) -> PhysicalPlan:
        return replace(plan, spec=mended(plan.spec, function))

    return rewritten(plans, change)


def digest_of(query: Node) -> str:
    """Names what a query asks for, however it is computed."""

    def without_secrets(node: Node) -> Node:
        if not isinstance(node, Source):
            return node
        return replace(node, stream=SourceSpec.of(node.stream).stream)

    return hashlib.sha256(canonical(rewrite(query, without_secrets)).encode()).hexdigest()


def to_json(plans: Plans) -> dict[str, Any]:
    """Plans by name as JSON; what they share is written once."""
    return {
        "operators": {
            plan.fingerprint: {
                "spec": encode(plan.spec),
                "inputs": [below.fingerprint for below in plan.inputs],
                "label": plan.label,
                "reason": plan.reason,
                "cost": plan.cost,
            }
            for plan in walk(plans.values())
        },
        "queries": {name: plan.fingerprint for name, plan in plans.items()},
    }


def from_json(data: Mapping[str, Any]) -> dict[str, PhysicalPlan]:
    """The plans that `to_json` has written."""
    found: dict[str, PhysicalPlan] = {}

    def plan_of(fingerprint: str) -> PhysicalPlan:
        if fingerprint not in found:
            kept = data["operators"][fingerprint]
            inputs = tuple(map(plan_of, kept["inputs"]))
            found[fingerprint] = PhysicalPlan(
                decode(kept["spec"]), inputs, kept["label"], kept["reason"], kept["cost"]
            )
        return found[fingerprint]

    return {name: plan_of(fingerprint) for name, fingerprint in data["queries"].items()}
