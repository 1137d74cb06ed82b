"""Which plans wait for time, and which let every row pass at once.

Rows wait in windows, in joins of streams, where order is kept and where a union merges. A plan that
only selects, computes columns, joins static tables and melds has nothing that a row could be late
for: rows below what their stream has promised pass there like all others.
Spec: timestamps 3; window-queries 1.2.
"""

from __future__ import annotations

from penstock.plan import nodes


def waits(plan: nodes.Node, union: str = "meld") -> bool:
    """Whether anything in the plan ever waits for the time; `union` is the setting."""
    passes = isinstance(plan, nodes.Source | nodes.Select | nodes.Project | nodes.TableJoin) or (
        isinstance(plan, nodes.Union) and union == "meld"
    )
    return not passes or any(waits(node, union) for node in plan.children)
