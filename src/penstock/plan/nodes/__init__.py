"""The nodes of a logical plan. A node that exists is valid.

    node             rows of its answer
    Source           a stream, as it comes
    Select           those for which a predicate holds
    Project          the same, with other columns
    Union            those of all inputs
    Explode          one per element of an array or entry of a map in each
    WindowAggregate  one per group and window
    Join             one per rows of all inputs that match, within bands of time
    Sequence         one per row of a step and rows of the steps before it, in the order of time
    TableJoin        one per row of a stream and row of a static table that match
    MatchRecognize   one per match of a pattern of rows
    Ordered          the same, in the order of a column
    Numbered         the same, numbered as they come

Nodes are frozen and compare by content, so two queries that ask for the same thing hold equal
sub-plans, which `plan/graph.py` draws once and the optimizer gives the same operators.
"""

from penstock.plan.nodes.aggregate import Result, WindowAggregate
from penstock.plan.nodes.explode import Explode
from penstock.plan.nodes.joins import Edge, Join
from penstock.plan.nodes.match import MatchRecognize
from penstock.plan.nodes.node import ChildColumn, Node, check_progress, unknown
from penstock.plan.nodes.rows import Numbered, Ordered, Project, Select, Union
from penstock.plan.nodes.sequence import Sequence
from penstock.plan.nodes.source import Source
from penstock.plan.nodes.table import Table, TableJoin

__all__ = [
    "ChildColumn",
    "Edge",
    "Explode",
    "Join",
    "MatchRecognize",
    "Node",
    "Numbered",
    "Ordered",
    "Project",
    "Result",
    "Select",
    "Sequence",
    "Source",
    "Table",
    "TableJoin",
    "Union",
    "WindowAggregate",
    "check_progress",
    "unknown",
]
