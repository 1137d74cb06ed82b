"""Event time of rows that are ordered: what `first(x)`, `last(x)` and lists go by.

Windows and groups may be measured on a time that is coarser than that of the rows, such as
`date_trunc('minute', ts)`: by that, all rows of a minute are equal. So rows are ordered by what the
window's attribute is computed of, in the SELECT itself or in a subquery below; one that a subquery
has left out is passed on, under a name that cannot be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.model.expressions import Call, Cast, Expression, Named, Ref
from penstock.model.joins import qualified
from penstock.model.schema import ROW_NUM
from penstock.model.types import common_type
from penstock.plan.nodes import Explode, Join, Node, Project, TableJoin, Union
from penstock.plan.nodes.rows import SameColumns
from penstock.sql.bind.scope import unique

_NAME = "event_time"


def with_event_time(node: Node, column: str) -> tuple[Node, str]:
    """The same rows, and the column of theirs by which they are ordered in time.

    `column` is the attribute of a window on them.
    """
    match node:
        case Project():
            return _of_project(node, column)
        case Union():
            return _of_union(node, column)
        case Explode():
            below, found = with_event_time(node.input, column)
            kept = tuple(dict.fromkeys((*node.kept, found)))
            return replace(node, input=below, kept=kept), found
        case Join():
            child, own = node.origin(column)
            below, found = with_event_time(node.inputs[child], own)
            inputs = (*node.inputs[:child], below, *node.inputs[child + 1 :])
            return replace(node, inputs=inputs), qualified(node.names[child], found)
        case TableJoin():
            [(_, own)] = node.lineage(column)
            below, found = with_event_time(node.input, own)
            return replace(node, input=below), qualified(node.names[0], found)
        case SameColumns() if column != ROW_NUM:
            below, found = with_event_time(node.input, column)
            return replace(node, input=below), found
    return node, column


def _of_project(node: Project, column: str) -> tuple[Node, str]:
    [value] = (each.value for each in node.columns if each.name == column)
    finest = finest_of(value, node.input)
    below: Node = node.input
    if isinstance(finest, Ref):
        below, name = with_event_time(node.input, finest.name)
        finest = Ref(name, below.schema[name].type)
    if finest == value:
        return replace(node, input=below), column
    for each in node.columns:
        if each.value == finest:
            return replace(node, input=below), each.name
    added = Named(unique(_NAME, node.schema.names), finest)
    return Project(below, (added, *node.columns)), added.name


def _of_union(node: Union, column: str) -> tuple[Node, str]:
    """The event times of all parts, side by side in one more column."""
    place = node.schema.names.index(column)
    parts = [with_event_time(part, part.schema.names[place]) for part in node.parts]
    if all(part.schema.names.index(name) == place for part, name in parts):
        return node, column
    types = [part.schema[name].type for part, name in parts]
    if any(common_type(types[0], of) is None for of in types):
        return node, column
    taken = [name for part in node.parts for name in part.schema.names]
    added = unique(_NAME, taken)
    return Union(
        tuple(
            _with_copy(part, before.schema.names, name, added)
            for before, (part, name) in zip(node.parts, parts, strict=True)
        )
    ), added


def _with_copy(node: Node, columns: Sequence[str], name: str, called: str) -> Node:
    """One of all columns of a node under another name, then these.

    It comes first, so that it is the one by which all parts are in order, if they are.
    """
    kept = (Named(each, Ref(each, node.schema[each].type)) for each in columns)
    return Project(node, (Named(called, Ref(name, node.schema[name].type)), *kept))


#: Functions that leave apart what is apart: a time moved by a constant is as fine as before.
_AS_FINE = frozenset(
    ["+", "-", "*", "unix_micros", "timestamp_seconds", "timestamp_millis", "timestamp_micros"]
)


def finest_of(value: Expression, node: Node) -> Expression:
    """What a time is computed of by a step that makes it coarser; itself, if there is none.

    A column that may be NULL where the computed time is not cannot stand for it.
    """
    parts = [part for part in value.children if part.refs]
    if len(parts) != 1:
        return value
    found = finest_of(parts[0], node)
    is_finer = found is not parts[0] or not _is_as_fine(value)
    schema = node.schema
    if is_finer and found.refs <= schema.progressing and not found.refs & schema.nullable:
        return found
    return value


def _is_as_fine(value: Expression) -> bool:
    if isinstance(value, Call):
        return value.function in _AS_FINE
    return isinstance(value, Cast) and value.to.is_time
