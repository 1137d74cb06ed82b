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
from penstock.plan.explain import Outline


def explain(plan: PhysicalPlan) -> str:
    """One plan as text, and the bounds that it uses."""
    return "\n".join([*_outline({"": plan}).lines(plan), *bounds_used(plan)])


def explain_program(plans: Plans) -> str:
    """Plans that run together, with what they share written once."""
    outline = _outline(plans)
    return "\n\n".join(
        "\n".join([f"Query {name}", *outline.lines(plan, 1), *bounds_used(plan, "  ")])
        for name, plan in plans.items()
    )


def _outline(plans: Plans) -> Outline[PhysicalPlan]:
    operators = walk(plans.values())
    readers = Counter(below for plan in operators for below in set(_read(plan)))
    readers.update(plans.values())
    again = [p for p in operators if readers[p] > 1 and not isinstance(p.spec, SourceSpec)]
    #: Those that get a line of their own: they answer a node, or several read them.
    own = {plan for plan in operators if plan.label or readers[plan] > 1}

    def chain(plan: PhysicalPlan, below: list[PhysicalPlan]) -> Iterator[str]:
        """The operators that stand on this line, the first first; `below` gets what they read."""
        for each in _read(plan):
            if each in own:
                below.append(each)
            else:
                yield from chain(each, below)
        yield plan.spec.name

    def shown(plan: PhysicalPlan) -> tuple[list[str], list[PhysicalPlan]]:
        below: list[PhysicalPlan] = []
        names = dict.fromkeys(chain(plan, below))
        if not plan.label:
            return [_title(plan.spec)], below
        return [plan.label, f"    -- {' > '.join(names)}: {plan.reason}"], below

    return Outline({plan: number for number, plan in enumerate(again, start=1)}, shown)


def _read(plan: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
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
