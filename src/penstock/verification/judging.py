"""What a query must give over a case, and what is wrong with what it gave.

The oracle's answer is over the rows that the host takes in, by its own rule for late ones. Two
things it can only judge in part, and then says so: an approximate aggregate must be near the exact
one, and of early results (EMIT) only the final ones are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.expressions import Ref
from penstock.model.schema import IS_FINAL, ROW_NUM, WINDOW_END, WINDOW_START
from penstock.oracle.evaluate import apart, evaluate, hashable
from penstock.oracle.lateness import StreamStep, judge, taken_in
from penstock.plan import nodes
from penstock.plan.graph import trace, walk
from penstock.plan.waiting import waits
from penstock.verification.case import Row, VerificationCase
from penstock.verification.script import Planned
from penstock.verification.ways import Host

#: Sums of floating-point numbers depend on the order of their rows, in the last digits.
TOLERANCE = 1e-6
#: Function -> how far it may be from the exact answer, as a share of it, and at least.
APPROXIMATE = {"approx_count_distinct": (0.15, 2.0), "approx_percentile": (0.02, 1e-9)}


@dataclass(frozen=True)
class Difference:
    """What a query gave and should not have, or should have and did not; or how it failed."""

    query: str
    expected: Sequence[Row] = ()
    got: Sequence[Row] = ()
    missing: Sequence[Row] = ()
    unexpected: Sequence[Row] = ()
    problem: str = ""

    @property
    def kind(self) -> str:
        """What a smaller case must have in common with this one."""
        return self.problem.split(":")[0] if self.problem else "rows"


def not_judged(plan: nodes.Node) -> str | None:
    """Why a query's answer cannot be compared with the oracle's; None: it can."""
    for node in walk(plan):
        in_order = (nodes.Source, nodes.Select, nodes.Project, nodes.Explode)
        if isinstance(node, nodes.Numbered) and not all(
            isinstance(below, in_order) for below in walk(node.input)
        ):
            return "its windows count rows in the order in which other operators output them"
        if isinstance(node, nodes.WindowAggregate):
            for result in node.results:
                if result.aggregate.function in APPROXIMATE and node is not _top(plan):
                    return f"{result.aggregate} is approximate, and other results follow from it"
    if isinstance(plan, nodes.Project):
        loose = _approximate(_top(plan)).keys()
        for column in plan.columns:
            if column.value.refs & loose and not isinstance(column.value, Ref):
                return f"{column} is computed from an approximate value"
    return None


def judged_in_part(plan: nodes.Node) -> str | None:
    """What of a query's answer is not compared exactly; None: all is."""
    bounds = _bounds(plan)
    if bounds:
        return f"{', '.join(bounds)}: approximate, so only near the exact value"
    if _final(plan) is not None:
        return "EMIT: only final rows, since early ones depend on when rows arrive"
    return None


@dataclass
class Judge:
    """Answers of the oracle, each computed once."""

    _known: dict[Any, list[Row]] = field(default_factory=dict)

    def expected(self, planned: Planned, case: VerificationCase, host: Host) -> list[Row]:
        inputs = taken(planned, case, host)
        rows = {
            name: hashable([list(row.values()) for row in mine]) for name, mine in inputs.items()
        }
        key = planned.plan, *sorted(rows.items())
        if key not in self._known:
            numbered = {
                name: [{**row, ROW_NUM: number} for number, row in enumerate(mine, start=1)]
                for name, mine in inputs.items()
            }
            self._known[key] = evaluate(planned.plan, numbered)
        return self._known[key]

    def forget(self) -> None:
        """Make room."""
        self._known = {}


def taken(planned: Planned, case: VerificationCase, host: Host) -> dict[str, list[Any]]:
    """The rows of each stream that go into a query, in the order in which they are numbered."""
    found = {}
    late = planned.options.late == "keep" and not waits(planned.plan, planned.options.merges)
    for name, stream in planned.streams.items():
        steps = [StreamStep(batch.of(stream), batch.bounds.get(name)) for batch in case.batches]
        found[name] = taken_in(judge(stream, steps, by_batch=host != "here"), late=late)
    return found


def difference(planned: Planned, expected: Sequence[Row], got: Sequence[Row]) -> Difference | None:
    """What is wrong with an answer; None: nothing."""
    final = _final(planned.plan)
    if final is not None:
        if _follows_final(planned.plan, got, final):
            problem = "a row follows the final one of its window"
            return Difference(planned.name, expected, got, problem=problem)
        expected = [row for row in expected if row[final] is True]
        got = [row for row in got if row[final] is True]
    missing, unexpected = apart(expected, got, TOLERANCE, _bounds(planned.plan))
    if missing or unexpected:
        return Difference(planned.name, expected, got, missing, unexpected)
    if isinstance(planned.plan, nodes.Ordered):
        values = [row[planned.plan.on] for row in got if row[planned.plan.on] is not None]
        if values != sorted(values):
            return Difference(
                planned.name, expected, got, problem=f"not in the order of {planned.plan.on}"
            )
    return None


def _top(plan: nodes.Node) -> nodes.Node:
    """The node whose results a query shows, below what only chooses and orders columns."""
    while isinstance(plan, nodes.Project | nodes.Ordered):
        plan = plan.input
    return plan


def _bounds(plan: nodes.Node) -> dict[str, tuple[float, float]]:
    """Columns that are approximate, and how near they must be."""
    loose = _approximate(_top(plan))
    return {name: loose[column] for name, column in _shown(plan).items() if column in loose}


def _approximate(node: nodes.Node) -> dict[str, tuple[float, float]]:
    """The same of one node, by the names that it gives."""
    results = node.results if isinstance(node, nodes.WindowAggregate) else ()
    functions = {result.name: result.aggregate.function for result in results}
    return {name: APPROXIMATE[of] for name, of in functions.items() if of in APPROXIMATE}


def _shown(plan: nodes.Node) -> dict[str, str]:
    """The columns that are those of an aggregate as they are, and what that calls them."""
    found = ((name, trace(plan, name, nodes.WindowAggregate)) for name in plan.schema.names)
    return {name: traced[1] for name, traced in found if traced is not None}


def _follows_final(plan: nodes.Node, got: Iterable[Row], final: str) -> bool:
    """Whether something came after the last word on a group and window, where both are shown."""
    top = _top(plan)
    assert isinstance(top, nodes.WindowAggregate)
    shown = {column: name for name, column in _shown(plan).items()}
    names = [*top.groups, WINDOW_START, WINDOW_END]
    if not shown.keys() >= set(names):
        return False
    over = set()
    for row in got:
        key = tuple(hashable(row[shown[name]]) for name in names)
        if key in over:
            return True
        if row[final]:
            over.add(key)
    return False


def _final(plan: nodes.Node) -> str | None:
    """The column that tells final rows from early ones, where there are any."""
    if not any(isinstance(n, nodes.WindowAggregate) and n.emit is not None for n in walk(plan)):
        return None
    return next(name for name, column in _shown(plan).items() if column == IS_FINAL)
