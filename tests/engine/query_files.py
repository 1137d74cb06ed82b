"""Query files: streams and queries in SQL, the rows that come, the answers (see `test_queries`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.local.engine import LocalEngine
from penstock.model.timestamps import to_ticks
from tests.engine.tables import read_table

FILES = sorted((Path(__file__).parent.parent / "queries").glob("*.yaml"))
Rows = dict[str, list[dict[str, Any]]]


def load(script: dict[str, Any]) -> tuple[LocalEngine, Rows]:
    """The declarations carried out, and the rows that are to come."""
    assert list(script) == ["name", "sql", "rows", "answer"]
    engine = LocalEngine()
    engine.sql(script["sql"])
    streams = {name: engine.declared_stream(name).stream for name in script["rows"]}
    rows = {name: read_table(script["rows"][name], s.arriving) for name, s in streams.items()}
    return engine, rows


def in_ticks(value: Any) -> Any:
    return to_ticks(value) if hasattr(value, "tzinfo") else value
