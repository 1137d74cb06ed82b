"""The streams that the tests of the SQL layer query."""

from __future__ import annotations

from penstock.catalog.catalog import Catalog
from penstock.plan.nodes import Node
from penstock.runtime.declarations import apply
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect

PACKETS = (
    "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, length INT, ts TIMESTAMP"
)
LINKS = ("M", "Main", "Main1", "Main2", "Control", "packets", "M1", "M2", "A", "B", "C", "D")


def declared() -> Catalog:
    """A catalog with a stream of every kind."""
    catalog = Catalog()
    execute(
        catalog,
        *(f"CREATE STREAM {name} ({PACKETS}) TIMESTAMP BY ts" for name in LINKS),
        f"CREATE STREAM S0 ({PACKETS}) TIMESTAMP BY ts SLACK 5 SECONDS",
        f"CREATE STREAM S1 ({PACKETS}) TIMESTAMP BY ts PUNCTUATED",
        "CREATE STREAM steps (k INT, x DOUBLE, seq BIGINT) TIMESTAMP BY seq SLACK 10",
        "CREATE STREAM arrivals (k INT) TIMESTAMP INTERNAL",
        "CREATE STREAM timeless (k INT, day DATE, flag BOOLEAN, raw BINARY)",
        "CREATE TABLE items (id INT, name STRING, weight DOUBLE) FROM csv 'items.csv'",
        "DECLARE n = 3 SECONDS",
        "DECLARE m = 5",
    )
    return catalog


def execute(catalog: Catalog, *texts: str) -> None:
    """Carry out declarations."""
    for text in texts:
        for statement in parse(text):
            apply(statement, catalog)


def plan_of(text: str, catalog: Catalog | None = None) -> Node:
    """The plan of the one query in the text."""
    [statement] = parse(text)
    assert isinstance(statement, BareSelect)
    return bind_query(statement.select, catalog or declared())
