"""Test conditions before rows are stored, not after: below joins, unions and windows.

    Select x > 1 AND n > 5                 Select n > 5
      WindowAggregate count(*) AS n by x     WindowAggregate count(*) AS n by x
        Join a, b                              Join a, b
          Source a (x, k, ts)                    Select x > 1
          Source b (k, ts)                         Source a (x, k, ts)
                                                 Source b (k, ts)

A condition goes below what passes its columns on, as far as that leaves the rows the same:

    Project, Ordered, TableJoin    columns that are passed on as they are
    Union                          into every input
    Join                           into the input that it is about, into the join itself if it is
                                   about several; only to the side that is kept of one that keeps
                                   rows without a partner
    WindowAggregate                groups, of windows that do not depend on rows of other groups

What other queries read as well stays as it is, so that they share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.model.expressions import (
    Call,
    Cast,
    Expression,
    Ref,
    SparkCall,
    conjunction,
    conjuncts,
    substituted,
)
from penstock.model.joins import JoinKind
from penstock.model.schema import ROW_NUM
from penstock.model.user_calls import UserCall
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Queries
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.windows import Session, Sliding

#: Of a kind of join, the side into which conditions may go.
_KEPT = {JoinKind.LEFT: 0, JoinKind.SEMI: 0, JoinKind.ANTI: 0, JoinKind.RIGHT: 1}


def push_down_select(queries: Queries, options: Options) -> Queries:
    """The queries with conditions as far down as they can go."""
    pushing = _Pushing([*queries.values()])
    return {name: pushing.pushed(plan, []) for name, plan in queries.items()}


class _Pushing:
    """Conditions on their way down; `_readers` are how many read a node."""

    def __init__(self, plans: Sequence[nodes.Node]) -> None:
        self._readers = Counter(plans)
        for node in walk(*plans):
            self._readers.update({*node.children})

    def pushed(self, node: nodes.Node, conditions: list[Expression]) -> nodes.Node:
        """A node's rows for which conditions hold, each tested as early as can be."""
        if self._readers[node] > 1 and conditions:
            return _selected(self.pushed(node, []), conditions)
        if isinstance(node, nodes.Select):
            below = self.pushed(node.input, [*conjuncts(node.predicate), *conditions])
            is_same = isinstance(below, nodes.Select) and below.input == node.input
            return node if is_same and not conditions else below
        into: list[list[Expression]] = [[] for _ in node.children]
        stay: list[Expression] = []
        tested: list[Expression] = []
        for condition in conditions:
            ways = _ways(node, condition)
            for child, moved in ways.items():
                into[child].append(moved)
            if not ways:
                is_join = isinstance(node, nodes.Join) and node.kind is JoinKind.INNER
                inside = is_join and may_move(condition) and condition.refs
                (tested if inside else stay).append(condition)
        children = [
            self.pushed(child, each) for child, each in zip(node.children, into, strict=True)
        ]
        made = node.with_children(children)
        return _selected(_with_tests(made, tested), stay)


def _selected(node: nodes.Node, conditions: list[Expression]) -> nodes.Node:
    predicate = conjunction(conditions)
    return node if predicate is None else nodes.Select(node, predicate)


def _with_tests(node: nodes.Node, conditions: list[Expression]) -> nodes.Node:
    """A join that tests conditions about several of its inputs; those that say equal are keys."""
    if not conditions:
        return node
    assert isinstance(node, nodes.Join)
    equal, others = [], []
    for condition in conditions:
        pair = _equal_columns(node, condition)
        if pair is None:
            others.append(condition)
        else:
            equal.append(pair)
    return replace(
        node,
        equalities=(*node.equalities, *equal),
        conditions=(*node.conditions, *others),
    )


def _equal_columns(join: nodes.Join, condition: Expression) -> tuple[str, str] | None:
    if not isinstance(condition, Call) or condition.function != "=":
        return None
    first, second = condition.args
    if not isinstance(first, Ref) or not isinstance(second, Ref):
        return None
    one, other = sorted((first.name, second.name), key=lambda name: join.origin(name).child)
    return (one, other) if join.origin(one).child != join.origin(other).child else None


def may_move(condition: Expression) -> bool:
    """Whether a condition says the same wherever it is tested; not what others compute."""
    if isinstance(condition, SparkCall | UserCall):
        return False
    return all(map(may_move, condition.children))


def _ways(node: nodes.Node, condition: Expression) -> Mapping[int, Expression]:
    """The children in front of which a condition may be tested instead, and what it is there."""
    if not condition.refs or ROW_NUM in condition.refs or not may_move(condition):
        return {}
    found = {}
    for child in _open_to(node):
        columns = _columns(node, child)
        if condition.refs <= columns.keys():
            found[child] = _in_terms_of(columns, condition)
    return found if not isinstance(node, nodes.Union) or len(found) == len(node.parts) else {}


def _open_to(node: nodes.Node) -> Sequence[int]:
    """The children that conditions may go to."""
    match node:
        case nodes.Project() | nodes.Ordered() | nodes.Union() | nodes.TableJoin():
            return range(len(node.children))
        case nodes.WindowAggregate(window=Sliding() | Session()):
            return [0]
        case nodes.Join(kind=JoinKind.INNER):
            return range(len(node.inputs))
        case nodes.Join() if node.kind in _KEPT:
            return [_KEPT[node.kind]]
    return ()


def _columns(node: nodes.Node, child: int) -> dict[str, Expression]:
    """The columns of a node that are columns of a child, and what they are there."""
    return dict(_passed_on(node, child))


def _passed_on(node: nodes.Node, child: int) -> Iterator[tuple[str, Expression]]:
    of = node.children[child].schema
    told_apart = _told_apart(node)
    for column in node.schema:
        if column.name not in told_apart:
            continue
        origins = [each for each in node.lineage(column.name)[:1] if each.child == child]
        if isinstance(node, nodes.Union):
            origins = [each for each in node.lineage(column.name) if each.child == child]
        for origin in origins:
            own = Ref(origin.column, of[origin.column].type)
            if own.type is column.type:
                yield column.name, own
            elif isinstance(node, nodes.Union):  # which brings columns to its types
                yield column.name, Cast(own, column.type)


def _told_apart(node: nodes.Node) -> tuple[str, ...]:
    """The columns whose values say nothing about rows with others."""
    match node:
        case nodes.WindowAggregate(window=Session() as window):
            return window.partition
        case nodes.WindowAggregate():
            return node.groups
    return node.schema.names


def _in_terms_of(columns: Mapping[str, Expression], condition: Expression) -> Expression:
    return substituted(
        condition, lambda part: columns[part.name] if isinstance(part, Ref) else part
    )
