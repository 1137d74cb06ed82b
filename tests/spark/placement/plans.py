"""Plans over two streams and a static table."""

from __future__ import annotations

from penstock.catalog.catalog import Catalog
from penstock.model.host_functions import HostFunctions
from penstock.plan.nodes import Node
from tests.engine.running import started
from tests.sql.declared import execute, plan_of

STREAMS = """
    CREATE STREAM a (k STRING, j STRING, v INT, d DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts ORDERED;
    CREATE STREAM b (k STRING, j STRING, v INT, d DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts ORDERED
"""
WINDOW = "[RANGE 5 SECONDS, SLIDE 5 SECONDS, WA ts]"


def plan(text: str) -> Node:
    engine = started([])
    engine.sql(STREAMS)
    engine.table("t", [("x", "y", 1)], columns="k STRING, kind STRING, n INT")
    found = engine.sql(text.format(w=WINDOW)).plan
    assert isinstance(found, Node)
    return found


def bound(text: str, host: HostFunctions | None = None) -> Node:
    """The plan of a query, whether or not it can run."""
    catalog = Catalog(host)
    execute(catalog, STREAMS)
    return plan_of(text.format(w=WINDOW), catalog)
