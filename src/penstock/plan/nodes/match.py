"""MatchRecognize: one row per match of a pattern of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.errors import TypeMismatch
from penstock.model.match import MatchDefinition
from penstock.model.schema import Column, Schema
from penstock.model.timestamps import format_duration
from penstock.model.types import Type
from penstock.plan.nodes.node import ChildColumn, Node, check_progress


@dataclass(frozen=True)
class MatchRecognize(Node):
    """One row per match: the columns of its partition, and the measures."""

    input: Node
    match: MatchDefinition

    def __post_init__(self) -> None:
        available = self.input.schema
        for name in self.match.columns:
            _ = available[name]
        check_progress(self.input, self.match.on)
        for variable, condition in self.match.define:
            if condition.type not in (Type.BOOLEAN, Type.NULL):
                raise TypeMismatch(
                    f"the condition of {variable} is {condition.type}, and must be BOOLEAN"
                )
        _ = self.schema

    @cached_property
    def schema(self) -> Schema:
        return Schema.of(
            (
                *(self.input.schema[name] for name in self.match.partition),
                *(Column(measure.name, measure.type) for measure in self.match.measures),
            ),
            self.match.times,
        )

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        return (ChildColumn(0, column),) if column in self.match.partition else ()

    @property
    def order(self) -> frozenset[str]:
        return frozenset()  # partitions wait for each other no longer than they must

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (frozenset(self.match.columns),)

    @property
    def label(self) -> str:
        match = self.match
        by = f" by {', '.join(match.partition)}" if match.partition else ""
        on = self.input.schema[match.on].type
        within = "" if match.within is None else f" WITHIN {length_text(match.within, on)}"
        order = ", ".join((match.on, *map(str, match.further)))
        measures = ", ".join(map(str, match.measures))
        define = ", ".join(f"{variable} AS {condition}" for variable, condition in match.define)
        return (
            f"MatchRecognize {measures}{by} in the order of {order}, PATTERN ({match.pattern})"
            f"{within} {match.skip}{f' DEFINE {define}' if define else ''}"
        )


def length_text(length: int, on: Type) -> str:
    """A distance on a column, as people read it."""
    return format_duration(length) if on is Type.TIMESTAMP else str(length)
