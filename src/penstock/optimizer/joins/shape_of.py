"""Shape joins: the shape in which a join of several inputs runs is decided here.

    SET join_order    shape
    a tree            that; a left join below the inner one may come last (`outer_last.py`)
    written           two by two, in the order in which the inputs are written
    auto              all inputs at once, where MJoin is set or results are to come in order; rows
                      of an MJoin meet the others in the order that is best by what is known
                      (`mjoin_ordering.py`); else what is estimated to take least
                      (`choose_tree.py`), with left joins last where that does
                      (`choose_outer_last.py`)

Results in the order of their latest time come from one operator over all inputs, for those of a
join below come in another order than that of the one time by which they are joined.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from penstock.errors import NotExecutable
from penstock.model.joins import JoinKind
from penstock.optimizer.joins.choose_outer_last import choose_outer_last, runs_last
from penstock.optimizer.joins.choose_tree import (
    TreeChoice,
    choose_tree,
    keeps_written,
    ordered_tree,
)
from penstock.optimizer.joins.join_tree import Branch, JoinTree, at_once, left_deep
from penstock.optimizer.joins.named_tree import (
    NamedTree,
    is_over,
    named_tree,
    not_over,
    numbered,
    tree_text,
)
from penstock.optimizer.joins.outer_last import outer_last, over, with_columns_of
from penstock.optimizer.joins.shape import shaped
from penstock.optimizer.joins.tactic import BY_LEFT, IN_ORDER, MJOIN, will_be_in_order
from penstock.optimizer.measured_joins import measured_of
from penstock.optimizer.options import AUTO, WRITTEN, Options
from penstock.optimizer.physical import Queries
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import rewrite, walk
from penstock.plan.nodes import Join, Node

#: Plans of joins are searched over sets of inputs, as bits of a number with a sign.
MOST_INPUTS = 63


def shape_joins(queries: Queries, options: Options, statistics: Statistics) -> Queries:
    """The queries with their joins in the shape in which they run."""
    for plan in queries.values():
        _check(plan, options)
    return {
        name: rewrite(plan, partial(_shaped, options, statistics, _left_joins(name, statistics)))
        for name, plan in queries.items()
    }


def _left_joins(query: str, statistics: Statistics) -> bool | None:
    """Whether left joins come last in a query that runs, where they stay; None: it does not run.

    What they store cannot move.
    """
    runs = statistics.altered.get(query)
    return None if runs is None else runs_last(runs)


def _shaped(options: Options, statistics: Statistics, is_last: bool | None, node: Node) -> Node:
    if not isinstance(node, Join) or node.kind is not JoinKind.INNER:
        return node
    waiting = _left_last(node, options, statistics, is_last)
    if waiting is not None:
        return waiting
    if is_free(node, options) and keeps_written(node, statistics):
        return _as_known(node, statistics) or shaped(node, *_written(node))
    choice = _choice(node, options, statistics)
    if choice is None:
        tree = _set_tree(options)
        waiting = None if tree is None else _with_outer_last(node, tree)
        return waiting or _as_set(node, options, statistics)
    return _as_known(node, statistics, choice.tree) or shaped(node, choice.tree, choice.notes)


def _as_set(join: Join, options: Options, statistics: Statistics) -> Node:
    """A join in the shape that settings ask for."""
    shape = shape_of(join, options, statistics)
    tree = _set_tree(options)
    is_set = options.join_order == WRITTEN or (tree is not None and is_over(tree, join))
    if not is_set or isinstance(shape, int) or len(join.inputs) < 3:
        return shaped(join, shape)
    return shaped(join, shape, {shape: "as join_order asks for"})


def _left_last(
    join: Join, options: Options, statistics: Statistics, is_last: bool | None
) -> Node | None:
    """A join with a left join below it as the last, where that takes less, or where it runs so."""
    if not may_choose(join, options) or is_last is False:
        return None
    found = choose_outer_last(join, options, statistics)
    if found is None or not (found.is_taken or is_last):
        return None
    below = _shaped(options, statistics, is_last, found.inner)
    return with_columns_of(join, over(below, replace(found.left, note=found.reason)))


def _as_known(join: Join, statistics: Statistics, wanted: JoinTree | None = None) -> Node | None:
    """A join in the shape in which another query runs it; None: none does, or it is wanted so."""
    running = statistics.shapes.get(join_key(join)) if statistics.shapes else None
    if not isinstance(running, Branch) or running == (wanted or left_deep(len(join.inputs))):
        return None
    return shaped(join, running, {running: "as a query that runs computes it, with its state"})


def _written(join: Join) -> tuple[JoinTree, dict[Branch, str]]:
    tree = left_deep(len(join.inputs))
    assert isinstance(tree, Branch)
    return tree, {tree: "as written: nothing is known yet of rates and selectivities"}


def is_free(join: Join, options: Options) -> bool:
    """Whether the shape of a join is for us to choose, and there are several."""
    return len(join.inputs) > 2 and may_choose(join, options)


def may_choose(join: Join, options: Options) -> bool:
    """Whether the shape of a join is for us to choose."""
    is_free = options.join_order == AUTO and options.join in (AUTO, "oa")
    return is_free and not will_be_in_order(join, options)


def shape_setting(join: Join, options: Options) -> str:
    """The setting that decides on the shape of a join, as one sets it; empty: none does."""
    if may_choose(join, options):
        return ""
    if options.join_order != AUTO:
        tree = options.join_order
        return f"join_order = {tree if tree == WRITTEN else repr(tree)}"
    return f"join = {options.join}" if options.join not in (AUTO, "oa") else "mode = iop"


def _choice(join: Join, options: Options, statistics: Statistics) -> TreeChoice | None:
    """What is estimated to be best, where that is asked for."""
    return choose_tree(join, options, statistics) if is_free(join, options) else None


def _with_outer_last(join: Join, tree: NamedTree) -> Node | None:
    """A join in a shape in which a left join below it comes last, if the tree says so."""
    if isinstance(tree, str) or len(tree) != 2 or not isinstance(tree[1], str):
        return None
    found = outer_last(join, tree[1])
    if found is None:
        return None
    inner, left = found
    below = shaped(inner, numbered(tree[0], inner)) if is_over(tree[0], inner) else None
    below = below or _with_outer_last(inner, tree[0])
    return None if below is None else with_columns_of(join, over(below, left))


def without_outer_last(join: Join, options: Options) -> tuple[Join, Options]:
    """What is left of a join, and of the order that is set, below left joins that come last."""
    tree = _set_tree(options)
    if tree is None or isinstance(tree, str) or is_over(tree, join):
        return join, options
    first, *rest = tree
    found = outer_last(join, rest[0]) if len(rest) == 1 and isinstance(rest[0], str) else None
    if found is None or isinstance(first, str):
        return join, options
    return without_outer_last(found[0], replace(options, join_order=tree_text(first)))


def shape_of(join: Join, options: Options, statistics: Statistics) -> JoinTree:
    """The shape of an inner join."""
    count = len(join.inputs)
    tree = _set_tree(options)
    if tree is not None and is_over(tree, join):
        return ordered_tree(numbered(tree, join), join, statistics)
    if is_free(join, options):
        running = statistics.shapes.get(join_key(join)) if statistics.shapes else None
        if running is not None or keeps_written(join, statistics):
            return running or left_deep(count)
    choice = _choice(join, options, statistics)
    if choice is not None:
        return choice.tree
    if _is_set_wide(options):
        # Another query may run it already, with its orders from when less was known.
        known = statistics.shapes.get(_wide_key(join)) if count > 2 else None
        return known or ordered_tree(at_once(count), join, statistics)
    wide = options.join in (MJOIN, *IN_ORDER) or will_be_in_order(join, options)
    return at_once(count) if wide and options.join_order != WRITTEN else left_deep(count)


def shapes_of(plan: Node, options: Options, statistics: Statistics) -> dict[str, JoinTree]:
    """The shapes that were chosen for the joins of a query, by what tells joins apart."""
    joins = [node for node in walk(plan) if isinstance(node, Join) and len(node.inputs) > 2]
    key = _wide_key if _is_set_wide(options) else join_key
    return {
        key(join): shape_of(join, options, statistics)
        for join in joins
        if is_free(join, options) or _is_set_wide(options)
    }


def _is_set_wide(options: Options) -> bool:
    """Whether a setting asks for all inputs at once, in whatever orders."""
    return options.join == MJOIN and options.join_order == AUTO


def _wide_key(join: Join) -> str:
    """Names a join for those that ask for all inputs at once; others may run it otherwise."""
    return f"{MJOIN} {join_key(join)}"


def join_key(join: Join) -> str:
    """Names a join as it is asked for."""
    return measured_of(join).key


def _set_tree(options: Options) -> NamedTree | None:
    return None if options.join_order in (AUTO, WRITTEN) else named_tree(options.join_order)


def _check(plan: Node, options: Options) -> None:
    """Refuse an order that is not one of the query's inputs, or that a tactic cannot follow."""
    tree = _set_tree(options)
    nodes = (node for node in walk(plan) if isinstance(node, Join))
    joins = [join for join in nodes if join.kind is JoinKind.INNER]
    several = [join for join in joins if len(join.inputs) > 2]
    if tree is not None and several and not any(_fits(tree, join) for join in joins):
        raise not_over(tree, several[-1])
    for join in several:
        if len(join.inputs) > MOST_INPUTS:
            raise NotExecutable(
                f"a join of {len(join.inputs)} inputs: at most {MOST_INPUTS} can be joined at once",
                hint="join some of them in a query of their own, and its results with the others",
            )
        if options.join in (*IN_ORDER, *BY_LEFT) and options.join_order != AUTO:
            fitting = at_once if options.join in IN_ORDER else left_deep
            if shape_of(join, options, Statistics()) != fitting(len(join.inputs)):
                raise _not_in_order(options)


def _fits(tree: NamedTree, join: Join) -> bool:
    return is_over(tree, join) or _with_outer_last(join, tree) is not None


def _not_in_order(options: Options) -> NotExecutable:
    at_once, by_two = "all inputs are joined at once", "inputs are joined two by two, as written"
    needed = at_once if options.join in IN_ORDER else by_two
    return NotExecutable(
        f"cannot join in the order {options.join_order} with join = {options.join}, whose results "
        f"come in order only if {needed}",
        hint="SET join_order = auto; or SET join = auto, with SET mode = iop if order is to be "
        "kept",
    )
