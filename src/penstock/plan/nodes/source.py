"""Source: where rows come in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.model.schema import Schema
from penstock.model.streams import Stream
from penstock.plan.nodes.node import Leaf


@dataclass(frozen=True)
class Source(Leaf):
    """A stream, as it comes: its declared columns and `row_num`."""

    stream: Stream

    @cached_property
    def schema(self) -> Schema:
        return self.stream.schema

    @property
    def order(self) -> str | None:
        return self.stream.timestamp if self.stream.is_ordered else None

    @property
    def label(self) -> str:
        return f"Source {self.stream.name} ({self.stream.disorder()})"
