"""Select, Project and Numbered: a row at a time, so there is nothing to choose."""

from __future__ import annotations

from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import NumberSpec, ProjectSpec, SelectSpec
from penstock.plan import nodes


def lower_select(node: nodes.Select) -> Chosen:
    return Chosen((SelectSpec(node.predicate),), "a row at a time, no state")


def lower_project(node: nodes.Project) -> Chosen:
    # Only of what it reads: other columns may be there or not, by the shape of joins below.
    read = frozenset[str]().union(*(column.value.refs for column in node.columns))
    nullable = tuple(sorted(node.input.schema.nullable & read))
    return Chosen((ProjectSpec(node.columns, nullable),), "a row at a time, no state")


def lower_numbered(node: nodes.Numbered) -> Chosen:
    return Chosen((NumberSpec(),), "rows are numbered here, since only streams have row numbers")
