"""Select and Project: a row at a time, so there is nothing to choose."""

from __future__ import annotations

from functools import partial

from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.optimizer.physical import Physical
from penstock.plan import nodes


def lower_select(node: nodes.Select) -> Physical:
    return Physical((partial(Select, node.predicate),), ("Select",), "a row at a time, no state")


def lower_project(node: nodes.Project) -> Physical:
    return Physical((partial(Project, node.columns),), ("Project",), "a row at a time, no state")
