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
    def order(self) -> frozenset[str]:
        stream = self.stream
        return frozenset([stream.timestamp] if stream.is_ordered and stream.timestamp else [])

    @property
    def label(self) -> str:
        return f"Source {self.stream.name} ({self.stream.disorder()})"
