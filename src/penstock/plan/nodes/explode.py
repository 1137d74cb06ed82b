"""Explode: a row for each element of an array, or for each entry of a map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.model.exploding import Exploding
from penstock.model.schema import Schema
from penstock.plan.nodes.node import ChildColumn, Node, check_refs, passed_on


@dataclass(frozen=True)
class Explode(Node):
    """Rows of its input, one for each element of what is exploded.

    Times are passed on like other columns, so what progresses goes on progressing. `kept` are the
    columns of the input that are: what is exploded would be there once for each of its elements.
    """

    input: Node
    kept: tuple[str, ...]
    of: Exploding

    def __post_init__(self) -> None:
        check_refs(self.input.schema, self.of.value)
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        below = self.input.schema
        return Schema.of(
            (*(below[name] for name in self.kept), *self.of.columns),
            below.progressing.intersection(self.kept),
            below.nullable,
        )

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        return (ChildColumn(0, column),) if column in self.kept else ()

    @property
    def order(self) -> frozenset[str]:
        return passed_on(self)

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (used.intersection(self.kept) | self.of.value.refs,)

    @property
    def label(self) -> str:
        return f"Explode {self.of}"
