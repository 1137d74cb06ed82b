"""Sequences, from the definition: every row of the last step looks at all rows before it.

Rows are in the order of time; those of one time in that of their columns, NULL first, so that the
order in which they came plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from penstock.model.sequences import SequenceMode, tie_break
from penstock.oracle.belonging import equal, holds, prefixed
from penstock.plan import nodes
from penstock.windows import Row


def sequence(
    plan: nodes.Sequence, before: Sequence[Row], last: Sequence[Row]
) -> list[dict[str, Any]]:
    """Rows of the last step, each with those of the steps before it that its mode gives it."""
    earlier = in_order([prefixed(plan.names[0], row) for row in before], plan.times[-2])
    later = in_order([prefixed(plan.names[1], row) for row in last], plan.times[-1])
    used: set[int] = set()
    answer = []
    for row in later:
        found = [i for i, other in enumerate(earlier) if follows(plan, {**other, **row})]
        match plan.mode:
            case SequenceMode.RECENT:
                found = found[-1:]
            case SequenceMode.CHRONICLE:
                found = [i for i in found if i not in used][:1]
                used.update(found)
        answer += [{**earlier[i], **row} for i in found]
    return answer


def in_order(rows: list[dict[str, Any]], time: str) -> list[dict[str, Any]]:
    """Those that have a time, by it and then by all their columns."""
    timed = [row for row in rows if row[time] is not None]
    return sorted(timed, key=lambda row: (row[time], [_rank(row[c]) for c in tie_break([*row])]))


def _rank(value: Any) -> tuple[Any, ...]:
    """What a value is compared by: nothing is least, and what is no number is greatest."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value)


def follows(plan: nodes.Sequence, pair: Row) -> bool:
    """Whether rows of all steps are in order, near enough and belong together."""
    *_, mine, theirs = (pair[time] for time in plan.times)
    if mine > theirs or (plan.within is not None and theirs - pair[plan.times[0]] > plan.within):
        return False
    types = {column.name: column.type for column in plan.schema}
    return all(equal(pair[a], types[a], pair[b], types[b]) for a, b in plan.equalities) and all(
        holds(condition, pair) for condition in plan.conditions
    )
