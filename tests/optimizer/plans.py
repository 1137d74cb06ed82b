"""Plans over streams of every kind."""

from __future__ import annotations

from typing import Any

from penstock.catalog.catalog import Catalog
from penstock.kernel.graph import Graph, GraphNode
from penstock.optimizer.build import build
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.optimizer.specs import SourceSpec
from penstock.plan.nodes import Node
from penstock.runtime.declarations import apply
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect
from tests.sql.declared import plan_of
from tests.sql.specification import QUERIES

STREAMS = """
    CREATE STREAM a (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED;
    CREATE STREAM b (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED;
    CREATE STREAM slack (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND;
    CREATE STREAM wide (k STRING, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts ORDERED;
    CREATE STREAM renamed (name STRING, number INT, seen TIMESTAMP) TIMESTAMP BY seen ORDERED;
    CREATE STREAM arriving (k STRING, v INT, ts TIMESTAMP) TIMESTAMP INTERNAL AS ts;
    CREATE STREAM latent (k STRING, v INT, ts TIMESTAMP);
"""


def declared() -> Catalog:
    catalog = Catalog()
    for statement in parse(STREAMS):
        apply(statement, catalog)
    return catalog


def plan(text: str) -> Node:
    [statement] = parse(text)
    assert isinstance(statement, BareSelect)
    return bind_query(statement.select, declared())


def specification(**options: Any) -> Program:
    """All queries of the specification."""
    return optimize({name: plan_of(case.sql) for name, case in QUERIES.items()}, Options(**options))


class Built:
    """A graph that plans are built in."""

    def __init__(self) -> None:
        self.graph = Graph()
        for entry in declared().streams:
            self.graph.add_source(entry.name)

    def all(self, *texts: str, **options: Any) -> list[GraphNode]:
        queries = {text: plan(text) for text in texts}
        plans = optimize(queries, Options(**options)).plans.values()
        return [build(each, self.graph, self._source) for each in plans]

    def one(self, text: str, **options: Any) -> GraphNode:
        [node] = self.all(text, **options)
        return node

    def _source(self, spec: SourceSpec) -> GraphNode:
        return self.graph.nodes[spec.stream.name]

    @property
    def operators(self) -> list[str]:
        nodes = self.graph.nodes.values()
        return sorted(type(n.operator).__name__ for n in nodes if not n.is_source)
