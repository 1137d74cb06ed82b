"""A static table: rows that are all there before a stream begins, and never change.

A stream may be joined with one. It brings no time and no punctuation, so the join needs no window:
a row of the stream meets its partners at once, and goes. The rows stand here as they travel to
whoever runs the query, as one Arrow IPC stream; `digest` names them, so that two tables are equal
when they say the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from penstock.model.schema import Column, Schema, check_declared
from penstock.model.streams import Origin


@dataclass(frozen=True)
class StaticTable:
    """A declared table; before it is read it has no `content`."""

    name: str
    columns: tuple[Column, ...]
    origin: Origin = field(default_factory=Origin)
    digest: str = ""
    rows: int = 0
    content: bytes | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_declared(f"table `{self.name}`", self.columns)

    @property
    def schema(self) -> Schema:
        """Its columns; none of them progresses."""
        return Schema(self.columns)

    def holding(self, content: bytes, rows: int) -> StaticTable:
        """The same table with its rows."""
        digest = hashlib.sha256(content).hexdigest()[:16]
        return replace(self, digest=digest, rows=rows, content=content)
