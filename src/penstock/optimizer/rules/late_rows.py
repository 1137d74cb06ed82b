"""Which plans can take rows that come later than promised.

Sliding windows can: a closed one never opens again. Joins may have forgotten the partners already,
and whoever keeps order would break it; there, late rows must be kept out.
Spec: window-queries 1.3 (consistent and generous slack).
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import NotExecutable
from penstock.optimizer.physical import AUTO
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.plan.waiting import passes
from penstock.windows import Sliding

#: Algorithms that keep what late rows can still be added to.
TAKE_LATE_ROWS = ("wid", "adapt", "buffering", "buffering_incremental")
#: Those that open again what no answer has used, when a run has ended.
REOPEN = (AUTO, "paned", *TAKE_LATE_ROWS)


def check_takes_late_rows(plan: nodes.Node, policy: str, union: str) -> None:
    """Refuse a plan that late rows would break."""
    for node in walk(plan):
        if not _takes(node, union):
            raise NotExecutable(
                f"late rows cannot be treated as `{policy}` here: {node.label} would break its "
                "promises by them",
                hint="SET late = keep, drop or fail; or use sliding windows over unions that meld",
            )


def can_reopen(plans: Iterable[nodes.Node], union: str, aggregation: str) -> bool:
    """Whether rows can still go into windows that begin before the end of a run, and end after it.

    Of such a row's windows some are answered, others are not, and these want it.
    """
    every = (node for plan in plans for node in walk(plan))
    return aggregation in REOPEN and all(_takes(node, union) for node in every)


def aggregation_with_late_rows(aggregation: str) -> str:
    """The setting, or one that can take late rows.

    Panes that are closed take none, though windows above them are open.

    >>> aggregation_with_late_rows("paned"), aggregation_with_late_rows("adapt")
    ('wid', 'adapt')
    """
    return aggregation if aggregation in TAKE_LATE_ROWS else "wid"


def _takes(node: nodes.Node, union: str) -> bool:
    if isinstance(node, nodes.WindowAggregate):
        return isinstance(node.window, Sliding)
    return passes(node, union)
