"""Which plans wait for time, and which let every row pass at once.

Rows wait in windows, in joins and sequences of streams, where order is kept and where a union
merges. A plan that only selects, computes columns, explodes arrays, joins static tables and melds
has nothing that a row could be late for: rows below their stream's bound pass there like all
others.
Spec: timestamps 3; window-queries 1.2.
"""

from __future__ import annotations

from penstock.plan import nodes
from penstock.plan.graph import walk


def waits(plan: nodes.Node, merges: bool = False) -> bool:
    """Whether anything in the plan ever waits for the time; `merges`: its unions keep order."""
    return any(not passes(node, merges) for node in walk(plan))


def passes(node: nodes.Node, merges: bool) -> bool:
    """Whether a node lets every row pass at once."""
    match node:
        case nodes.Union():
            return not merges
        case nodes.Source() | nodes.Select() | nodes.Project() | nodes.TableJoin() | nodes.Table():
            return True
        case nodes.Explode():
            return True
        case nodes.WindowAggregate() | nodes.Join() | nodes.Sequence():
            return False
        case nodes.Ordered() | nodes.Numbered():
            return False
        case nodes.MatchRecognize():
            return False
    raise nodes.unknown(node)
