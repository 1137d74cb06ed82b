"""In-order processing: every stream is put in order before anything else, and all keep it.

    WindowAggregate count(*)          WindowAggregate count(*)
      Source bids (slack 1 minute)      Ordered by ts
                                          Source bids (slack 1 minute)

Out of order (OOP), nobody sorts: rows pass as they come and punctuation tells how far a stream is.
In order (IOP), rows that may come out of order wait behind their source until nothing earlier can
come (a slack sort, BSort), joins follow a tactic that keeps order, and unions merge. An input of a
union or a join that comes in another order, as a join's results do, is sorted in front of it, and
results of a join that cannot keep order, because it keeps rows without a partner, behind it. Rows
are numbered before they are sorted, for their number is the order in which they came. Both give the
same answers; what order costs in memory and time is hidden in the sorts and merges, and this makes
it visible.  Spec: window-queries 7.1, 7.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.joins import JoinKind
from penstock.model.schema import ROW_NUM
from penstock.model.streams import TimestampKind
from penstock.optimizer.joins.tactic import order_of
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.physical import Queries
from penstock.plan import nodes


def in_order(queries: Queries, options: Options) -> Queries:
    """The queries with a sort wherever rows may come out of order."""
    if options.mode != "iop":
        return queries
    return {name: _sorted(plan, None, options) for name, plan in queries.items()}


def _sorted(node: nodes.Node, wanted: str | None, options: Options) -> nodes.Node:
    """The node in order; `wanted` is the column by which it is read, if any is."""
    if isinstance(node, nodes.Source):
        stream = node.stream
        disordered = stream.kind is TimestampKind.EXTERNAL and not stream.is_ordered
        progresses = wanted in node.schema.progressing
        on = wanted if wanted is not None and progresses else str(stream.timestamp)
        return nodes.Ordered(node, on) if disordered else node
    if isinstance(node, nodes.Union):
        return _merged(node, wanted, options)
    if isinstance(node, nodes.Numbered) and _comes_in_one_order(node):
        # Which number a row has depends on the order of arrival: sorted rows would have others.
        is_read = wanted is not None and wanted != ROW_NUM
        return _by(node, wanted, options) if is_read else node
    read = zip(node.children, _read_by(node, wanted), strict=True)
    children = [(_sorted(child, on, options), on) for child, on in read]
    if isinstance(node, nodes.Sequence):
        return _in_sequence(node, children, options)
    if not isinstance(node, nodes.Join) or options.join != AUTO:
        return node.with_children([child for child, _ in children])
    if node.kind is not JoinKind.INNER:
        joined = node.with_children([child for child, _ in children])
        return _behind_join(joined, wanted, options)
    # Rows without a time have no place in the order, and a join in order cannot take them.
    nullable = any(on in child.schema.nullable for child, on in children)
    by = [child if nullable else _by(child, on, options) for child, on in children]
    return node.with_children(by)


def _in_sequence(
    node: nodes.Sequence, children: list[tuple[nodes.Node, str | None]], options: Options
) -> nodes.Node:
    """A sequence whose steps come in order; its results then do, too."""
    by = (
        child if on in child.schema.nullable else _by(child, on, options) for child, on in children
    )
    return node.with_children(list(by))


def _behind_join(join: nodes.Node, wanted: str | None, options: Options) -> nodes.Node:
    """A join's results in order: those of one that keeps rows without a partner are sorted.

    By the time of the side that is kept, which no result lacks; those of a full join lack either.
    """
    assert isinstance(join, nodes.Join)
    kept = join.edges[0].right if join.kind is JoinKind.RIGHT else join.edges[0].left
    on = wanted if wanted in join.schema.progressing - join.schema.nullable else kept
    return join if on in join.schema.nullable else _by(join, on, options)


def _comes_in_one_order(node: nodes.Node) -> bool:
    """Whether rows come as those of one stream do, some left out: that order is given."""
    if isinstance(node, nodes.Source):
        return True
    kinds = nodes.Select | nodes.Project | nodes.Explode | nodes.Numbered | nodes.TableJoin
    passes = isinstance(node, kinds)
    return passes and _comes_in_one_order(node.children[0])


def _by(node: nodes.Node, on: str | None, options: Options) -> nodes.Node:
    """The node in the order of a column, sorted if it comes in another one."""
    is_so = on is None or order_of(node, options) == {on}
    return node if is_so or on not in node.schema.progressing else nodes.Ordered(node, str(on))


def _merged(node: nodes.Union, wanted: str | None, options: Options) -> nodes.Node:
    """A union whose inputs are all in the order of one column."""
    schema = node.schema
    progressing = [name for name in schema.names if name in schema.progressing]
    # What may be NULL has no place in an order, and what is no time or number cannot be merged.
    whole = [n for n in progressing if n not in schema.nullable and schema[n].type.can_progress]
    usable = whole or progressing
    first = next((name for name in [*node.order, *usable] if name in usable), None)
    on = wanted if wanted in usable else first
    place = None if on is None else node.schema.names.index(on)
    parts = []
    for part in node.parts:
        column = None if place is None else part.schema.names[place]
        parts.append(_by(_sorted(part, column, options), column, options))
    return node.with_children(parts)


def _read_by(node: nodes.Node, wanted: str | None) -> Iterator[str | None]:
    """The column by which each child is read."""
    for number in range(len(node.children)):
        match node:
            case nodes.WindowAggregate():
                yield node.window.on
            case nodes.MatchRecognize():
                yield node.match.on
            case nodes.Ordered():
                yield node.on
            case nodes.Join() | nodes.Sequence():
                yield node.on[number]
            case nodes.Project() if wanted in node.progress:
                yield next(iter(sorted(node.progress[wanted].columns)))
            case _:
                origins = () if wanted is None else node.lineage(wanted)
                yield next((each.column for each in origins if each.child == number), None)
