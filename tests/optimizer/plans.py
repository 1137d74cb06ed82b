"""Plans over streams of every kind."""

from __future__ import annotations

from penstock.catalog.catalog import Catalog
from penstock.plan.nodes import Node
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect

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
        catalog.apply(statement)
    return catalog


def plan(text: str) -> Node:
    [statement] = parse(text)
    assert isinstance(statement, BareSelect)
    return bind_query(statement.select, declared())
