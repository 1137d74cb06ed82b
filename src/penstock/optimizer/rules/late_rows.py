"""Refuse late rows where they would break something: `SET late = generous` or `consistent`.

    WindowAggregate count(*) [RANGE 1 minute, WA ts]    takes them while the window is open
    Ordered by ts                                       refused: what is out is out

Sliding windows can: a closed one never opens again. Joins may have forgotten the partners already,
and whoever keeps order would break it; there, late rows must be kept out.
Spec: window-queries 1.3 (consistent and generous slack).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.errors import NotExecutable
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.physical import Queries
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.plan.waiting import passes
from penstock.windows import Sliding

#: Algorithms that keep what late rows can still be added to.
TAKE_LATE_ROWS = ("wid", "adapt")
#: Those that open again what no answer has used, when a run has ended.
REOPEN = (AUTO, "paned", *TAKE_LATE_ROWS)


def late_rows(queries: Queries, options: Options) -> Queries:
    """The queries as they are; those that late rows would break are refused."""
    if not options.uses_late_rows:
        return queries
    for node in walk(*queries.values()):
        if not _takes(node, options.merges):
            raise NotExecutable(
                f"late = {options.late} is not possible here: late rows would violate the "
                f"punctuation of {node.label}",
                hint="SET late = keep, drop or fail; or use sliding windows over unions that meld",
            )
    return queries


def can_reopen(plans: Iterable[nodes.Node], options: Options) -> bool:
    """Whether rows can still go into windows that begin before the end of a run, and end after it.

    Of such a row's windows some are answered, others are not, and these want it.
    """
    aggregation = with_late_rows(options).aggregation
    return aggregation in REOPEN and all(_takes(node, options.merges) for node in walk(*plans))


def with_late_rows(options: Options) -> Options:
    """The options, with an algorithm that can take late rows where they are let in.

    Panes that are closed take none, though windows above them are open.

    >>> with_late_rows(Options(late="generous", aggregation="paned")).aggregation
    'wid'
    >>> with_late_rows(Options(aggregation="paned")).aggregation
    'paned'
    """
    if not options.uses_late_rows or options.aggregation in TAKE_LATE_ROWS:
        return options
    return replace(options, aggregation="wid")


def _takes(node: nodes.Node, merges: bool) -> bool:
    if isinstance(node, nodes.WindowAggregate):
        return isinstance(node.window, Sliding)
    return passes(node, merges)
