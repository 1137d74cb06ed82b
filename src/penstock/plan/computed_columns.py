"""Expressions that only Spark can compute: as columns of streams, computed where rows are read.

    Project sha2(k, 256) AS h               Project spark_66b1539060 AS h
      Select len > 100                        Select len > 100
        Source packets                          Source packets, with spark_66b1539060

A call goes down to the stream that all its columns come from, through whatever passes these on.
Columns of several inputs of a join, of a static table, and results of aggregates come from no
stream; a call over those stays where it is, and may be computed on the rows that the query puts out
(`on_results.py`). So does one over an input that an outer join may pad: there it is computed of
NULLs. Behind an aggregate a call over group keys alone could become one more key; it does only if
`through_keys`, since there are more rows than results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.model.computed_column import ComputedColumn
from penstock.model.expressions import Cast, Expression, Named, Ref, SparkCall, substituted
from penstock.model.joins import qualified
from penstock.model.schema import ROW_NUM
from penstock.model.spark_sql import is_of_spark, spark_sql
from penstock.model.streams import Stream
from penstock.model.tables import StaticTable
from penstock.plan.graph import fold, streams_of, walk
from penstock.plan.nodes import (
    Explode,
    Join,
    Node,
    Numbered,
    Ordered,
    Project,
    Select,
    Source,
    TableJoin,
    Union,
    WindowAggregate,
)


def with_computed_columns(plan: Node, *, through_keys: bool = False) -> Node:
    """The plan, with every call that can be a column of a stream as one; its columns stay."""
    if not any(True for node in walk(plan) for _ in calls_in(node)):
        return plan
    found = fold(plan, lambda node, below: _replaced(_over(node, below), through_keys))
    return read_alike(_only(found, plan.schema.names))


def calls_in(node: Node) -> Iterator[SparkCall]:
    """The outermost calls in a node's expressions."""
    for expression in expressions_of(node):
        yield from outermost(expression)


def outermost(expression: Expression) -> Iterator[SparkCall]:
    """The calls in an expression that stand in no other."""
    if isinstance(expression, SparkCall):
        yield expression
        return
    for child in expression.children:
        yield from outermost(child)


def expressions_of(node: Node) -> tuple[Expression, ...]:
    """The expressions that a node computes."""
    match node:
        case Select():
            return (node.predicate,)
        case Project():
            return node.columns
        case Join():
            return node.conditions
        case TableJoin():
            return tuple(each for each in (node.residual, node.filter) if each is not None)
        case WindowAggregate():
            of = (result.aggregate for result in node.results)
            return tuple(e for each in of for e in (each.argument, each.by) if e is not None)
    return tuple(found for f in fields(node) for found in _within(getattr(node, f.name)))


def _within(value: Any) -> Iterator[Expression]:
    """The expressions in what a field of a node holds; nodes below have their own."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _within(each)
    elif is_dataclass(value) and not isinstance(value, Node | Stream | StaticTable):
        for each in fields(value):
            yield from _within(getattr(value, each.name))


def computed_in(
    node: Node, call: SparkCall, *, through_keys: bool = False
) -> tuple[Node, Ref] | None:
    """The node with a call over its columns as one more column; None: that cannot be."""

    def go_down(below: Node, inner: SparkCall) -> tuple[Node, Ref] | None:
        return computed_in(below, inner, through_keys=through_keys)

    match node:
        case Source():
            return _in_source(node, call)
        case Select() | Ordered() | Numbered():
            if isinstance(node, Numbered) and ROW_NUM in call.refs:
                return None
            found = go_down(node.input, call)
            return found and (replace(node, input=found[0]), found[1])
        case Project():
            known = {column.name: column.value for column in node.columns}
            found = go_down(node.input, renamed(call, known))
            return found and _passed_on(node, *found)
        case Explode():
            if not call.refs <= set(node.kept):
                return None
            found = go_down(node.input, call)
            return found and _repeated(node, *found)
        case WindowAggregate():
            if not through_keys or not call.refs or not call.refs <= set(node.groups):
                return None
            found = go_down(node.input, call)
            if found is None:
                return None
            below, ref = found
            groups = tuple(dict.fromkeys((*node.groups, ref.name)))
            return replace(node, input=below, groups=groups), ref
        case Join():
            return _in_join(node, call, go_down)
        case TableJoin():
            return _in_table_join(node, call, go_down)
        case Union():
            return _in_union(node, call, go_down)
    return None


_Down = Callable[[Node, SparkCall], tuple[Node, Ref] | None]


def renamed(call: SparkCall, known: Mapping[str, Expression]) -> SparkCall:
    """A call over what columns stand for."""

    def change(part: Expression) -> Expression:
        return known.get(part.name, part) if isinstance(part, Ref) else part

    found = substituted(call, change)
    assert isinstance(found, SparkCall)
    return found


def _in_source(node: Source, call: SparkCall) -> tuple[Node, Ref] | None:
    # What is computed of a computed column is computed of that one's SQL.
    known: dict[str, Expression] = {
        c.name: SparkCall((c.sql,), (), c.type, c.zone) for c in node.stream.computed
    }
    # Derived columns are not there yet when Spark has read rows.
    known |= {derived.name: derived.value for derived in node.stream.derived}
    whole = renamed(call, known)
    if ROW_NUM in call.refs or not is_of_spark(whole):
        return None  # rows get their numbers, and users' functions are called, behind the exchange
    column = ComputedColumn.of(spark_sql(whole), call.of, call.zone)
    stream = node.stream.with_computed([column])
    return Source(stream), Ref(column.name, column.type)


def _passed_on(node: Project, below: Node, ref: Ref) -> tuple[Node, Ref]:
    if any(column == Named(ref.name, ref) for column in node.columns):
        return Project(below, node.columns), ref
    return Project(below, (*node.columns, Named(ref.name, ref))), ref


def _repeated(node: Explode, below: Node, ref: Ref) -> tuple[Node, Ref]:
    kept = tuple(dict.fromkeys((*node.kept, ref.name)))
    return replace(node, input=below, kept=kept), ref


def _in_join(node: Join, call: SparkCall, go_down: _Down) -> tuple[Node, Ref] | None:
    origins = {column: node.origin(column) for column in call.refs}
    inputs = {origin.child for origin in origins.values()}
    if len(inputs) != 1:
        return None
    [number] = inputs
    # Of NULLs in place of a partner something else may be computed.
    if node.is_padded(number):
        return None
    own = {c: Ref(o.column, node.inputs[number].schema[o.column].type) for c, o in origins.items()}
    found = go_down(node.inputs[number], renamed(call, own))
    if found is None:
        return None
    below, ref = found
    inner = (*node.inputs[:number], below, *node.inputs[number + 1 :])
    return replace(node, inputs=inner), Ref(qualified(node.names[number], ref.name), ref.of)


def _in_table_join(node: TableJoin, call: SparkCall, go_down: _Down) -> tuple[Node, Ref] | None:
    own = {qualified(node.names[0], c.name): Ref(c.name, c.type) for c in node.input.schema}
    if not call.refs <= own.keys():
        return None
    found = go_down(node.input, renamed(call, own))
    if found is None:
        return None
    below, ref = found
    return replace(node, input=below), Ref(qualified(node.names[0], ref.name), ref.of)


def _in_union(node: Union, call: SparkCall, go_down: _Down) -> tuple[Node, Ref] | None:
    """In every input; their columns match by position, so each gets the new one at its end."""
    if not is_of_spark(call):
        return None
    parts, name = [], ComputedColumn.of(spark_sql(call), call.of, call.zone).name
    for part in node.parts:
        pairs = list(zip(node.schema, part.schema, strict=True))
        own: dict[str, Expression] = {}
        for mine, theirs in pairs:
            ref = Ref(theirs.name, theirs.type)
            own[mine.name] = ref if mine.type is theirs.type else Cast(ref, mine.type)
        found = go_down(part, renamed(call, own))
        if found is None:
            return None
        below, computed = found
        # Numbers of rows of several streams say nothing, and nobody can name them.
        kept = [t for m, t in pairs if not (m.name == ROW_NUM and isinstance(part, Source))]
        columns = tuple(Named(c.name, Ref(c.name, c.type)) for c in kept)
        parts.append(Project(below, (*columns, Named(name, computed))))
    if len({len(part.columns) for part in parts}) > 1:
        return None
    return Union(tuple(parts)), Ref(name, call.of)


def _replaced(node: Node, through_keys: bool) -> Node:
    """The node with calls as columns of its inputs, as far as that can be."""
    columns: dict[Expression, Expression] = {}
    inputs = _wanted_inputs(node)
    for call in dict.fromkeys(calls_in(node)):
        for number, own, outer in inputs(call):
            found = computed_in(node.children[number], own, through_keys=through_keys)
            if found is not None:
                children = list(node.children)
                children[number] = found[0]
                node = node.with_children(children)
                columns[call] = Ref(outer(found[1].name), call.of)
            break
    if not columns:
        return node
    return _with_expressions(node, lambda part: columns.get(part, part))


#: Of a call of a node: the number of the child that has all its columns, the call over these, and
#: what the node calls a column of that child.
_Inputs = Iterator[tuple[int, SparkCall, Callable[[str], str]]]


def _wanted_inputs(node: Node) -> Callable[[SparkCall], _Inputs]:
    def of_join(call: SparkCall) -> _Inputs:
        assert isinstance(node, Join)
        origins = {column: node.origin(column) for column in call.refs}
        numbers = {origin.child for origin in origins.values()}
        if len(numbers) == 1:
            [number] = numbers
            schema, name = node.inputs[number].schema, node.names[number]
            own = {c: Ref(o.column, schema[o.column].type) for c, o in origins.items()}
            yield number, renamed(call, own), lambda column: qualified(name, column)

    def of_table_join(call: SparkCall) -> _Inputs:
        assert isinstance(node, TableJoin)
        name = node.names[0]
        own = {qualified(name, c.name): Ref(c.name, c.type) for c in node.input.schema}
        if call.refs <= own.keys():
            yield 0, renamed(call, own), lambda column: qualified(name, column)

    def of_others(call: SparkCall) -> _Inputs:
        yield 0, call, lambda column: column

    if isinstance(node, Join):
        return of_join
    return of_table_join if isinstance(node, TableJoin) else of_others


def _with_expressions(node: Node, change: Callable[[Expression], Expression]) -> Node:
    """The node with parts of its expressions changed."""

    def changed(expression: Expression) -> Expression:
        return substituted(expression, change)

    match node:
        case Select():
            return replace(node, predicate=changed(node.predicate))
        case Project():
            columns = (Named(c.name, changed(c.value)) for c in node.columns)
            return replace(node, columns=tuple(columns))
        case Explode():
            return replace(node, of=replace(node.of, value=changed(node.of.value)))
        case Join():
            return replace(node, conditions=tuple(map(changed, node.conditions)))
        case TableJoin():
            residual = None if node.residual is None else changed(node.residual)
            return replace(node, residual=residual)
        case WindowAggregate():
            results = []
            for result in node.results:
                of = result.aggregate
                argument = None if of.argument is None else changed(of.argument)
                by = None if of.by is None else changed(of.by)
                aggregate = replace(of, argument=argument, by=by)
                results.append(replace(result, aggregate=aggregate))
            return replace(node, results=tuple(results))
    return node


def read_alike(plan: Node, streams: Mapping[str, Stream] | None = None) -> Node:
    """The plan over streams with the same computed columns wherever they are read.

    `streams` are what others read of them; those columns are there then, too.
    """
    wanted = streams_of(plan)
    for name, stream in (streams or {}).items():
        if name in wanted:
            wanted[name] = wanted[name].with_computed(stream.computed)
    if not any(stream.computed for stream in wanted.values()):
        return plan

    def widened(node: Node, below: tuple[Node, ...]) -> Node:
        if isinstance(node, Source):
            return Source(node.stream.with_computed(wanted[node.stream.name].computed))
        return _over(node, below)

    return _only(fold(plan, widened), plan.schema.names)


def _over(node: Node, below: tuple[Node, ...]) -> Node:
    """The node over children that may have more columns by now; those of a union stay as many."""
    if isinstance(node, Union):
        pairs = zip(below, node.parts, strict=True)
        below = tuple(_only(new, old.schema.names) for new, old in pairs)
    return node.with_children(below)


def _only(node: Node, names: tuple[str, ...]) -> Node:
    """The node with these columns, in this order."""
    if node.schema.names == names:
        return node
    return Project(node, tuple(Named(n, Ref(n, node.schema[n].type)) for n in names))
