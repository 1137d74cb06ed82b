"""A stream of one shape, from any source."""

from __future__ import annotations

from penstock.model.streams import Stream
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import CreateStream


def declared(source: str) -> Stream:
    [statement] = parse(f"CREATE STREAM s (k INT, ts TIMESTAMP) FROM {source} TIMESTAMP BY ts")
    assert isinstance(statement, CreateStream)
    return statement.stream
