"""Physical plans as text: what runs, and why.

A logical node a line, with its operators below it and its inputs indented. What occurs again is
written once, under a number:

    Query a
      WindowAggregate count(*) AS n [RANGE 1 minute, SLIDE 1 minute, WA ts]
          -- Bucket > WidAggregate: one partial aggregate per group and open window
        #1 Select len > 100
            -- Select: a row at a time, no state
          Source packets (by ts, ordered)
              -- csv: where rows come in

    Query b
      Project src
          -- Project: a row at a time, no state
        #1 (above)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from penstock.optimizer.bounds_used import bounds_used
from penstock.optimizer.physical import PhysicalPlan, Plans, walk
from penstock.optimizer.specs import BucketSpec, PaneStoreSpec, SourceSpec, Spec, UpToLastRowSpec


def explain(plan: PhysicalPlan) -> str:
    """One plan as text, and the bounds that it uses."""
    return "\n".join([*_Writer({"": plan}).lines(plan, 0), *bounds_used(plan)])


def explain_program(plans: Plans) -> str:
    """Plans that run together, with what they share written once."""
    writer = _Writer(plans)
    return "\n\n".join(
        "\n".join([f"Query {name}", *writer.lines(plan, 1), *bounds_used(plan, "  ")])
        for name, plan in plans.items()
    )


class _Writer:
    def __init__(self, plans: Plans) -> None:
        operators = list(walk(plans.values()))
        readers = Counter(below for plan in operators for below in set(self._read(plan)))
        readers.update(plans.values())
        #: Those that get a line of their own: they answer a node, or several read them.
        self._own = {plan for plan in operators if plan.label or readers[plan] > 1}
        self._number: dict[PhysicalPlan, int] = {}
        for plan in operators:
            if readers[plan] > 1 and not isinstance(plan.spec, SourceSpec):
                self._number[plan] = len(self._number) + 1
        self._written: set[PhysicalPlan] = set()

    def lines(self, plan: PhysicalPlan, depth: int) -> Iterator[str]:
        indent = "  " * depth
        number = self._number.get(plan)
        if number is not None and plan in self._written:
            yield f"{indent}#{number} (above)"
            return
        self._written.add(plan)
        lead = f"#{number} " if number is not None else ""
        below: list[PhysicalPlan] = []
        names = list(dict.fromkeys(self._chain(plan, below)))
        yield f"{indent}{lead}{plan.label or _title(plan.spec)}"
        if plan.label:
            yield f"{indent}    -- {' > '.join(names)}: {plan.reason}"
        for each in below:
            yield from self.lines(each, depth + 1)

    def _chain(self, plan: PhysicalPlan, below: list[PhysicalPlan]) -> Iterator[str]:
        """The operators that stand on this line, the first first; `below` gets what they read."""
        for each in self._read(plan):
            if each in self._own:
                below.append(each)
            else:
                yield from self._chain(each, below)
        yield plan.spec.name

    def _read(self, plan: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
        # What UpToLastRow counts is what the aggregate below it reads.
        return plan.inputs[:1] if isinstance(plan.spec, UpToLastRowSpec) else plan.inputs


def _title(spec: Spec) -> str:
    """The line of an operator that stands for no node by itself."""
    match spec:
        case BucketSpec():
            return f"Bucket {spec.window}"
        case PaneStoreSpec():
            by = f" by {', '.join(spec.groups)}" if spec.groups else ""
            return f"{spec.name} {', '.join(map(str, spec.aggregates))}{by}"
    return spec.name
