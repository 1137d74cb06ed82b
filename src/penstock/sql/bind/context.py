"""What every binder is handed: the text, the names that exist, and a note of the ones read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from penstock.errors import CyclicView, Position, UnknownName
from penstock.model.assignments import ParameterValue
from penstock.model.host_functions import HostFunctions
from penstock.model.schema import suggest
from penstock.model.user_defined import UserDefined
from penstock.plan.nodes import Node
from penstock.sql.parse import positions
from penstock.sql.parse.syntax import Span


class Names(Protocol):
    """What a query can refer to; the catalog is one."""

    def relation(self, name: str) -> Node | None:
        """The plan behind a stream, view or query, whatever the case of its name."""

    def relations(self) -> Iterable[str]:
        """Every name that `relation` knows."""

    def function(self, name: str) -> UserDefined | None:
        """The function that a user has defined under a name, whatever its case."""

    @property
    def parameters(self) -> Mapping[str, ParameterValue]:
        """What DECLARE has given a name, in lower case."""

    @property
    def time_zone(self) -> str:
        """Where clocks show what calendar functions say."""

    @property
    def match_rows(self) -> int:
        """How many rows an attempt at a match takes where conditions depend on the match."""

    @property
    def host(self) -> HostFunctions | None:
        """What the host can compute beside the kernel; None: nothing."""


@dataclass(frozen=True)
class NoNames:
    """Where nothing was declared; expressions of a declaration can name columns only."""

    time_zone: str
    host: None = None
    match_rows: int = 0  # no pattern stands in an expression
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)

    def relation(self, name: str) -> None:
        return None

    def relations(self) -> tuple[str, ...]:
        return ()

    def function(self, name: str) -> None:
        return None


_NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Context:
    """The surroundings of a query that is being bound."""

    text: str
    names: Names
    subquery: Callable[[exp.Expr, Context], Node]  # binds a query inside this one
    defining: str | None = None  # the view or query whose body this is
    local: Mapping[str, Node] = field(default_factory=dict)  # names from WITH, in lower case
    query: Span = _NOWHERE  # where in the text the whole query stands
    reads: set[str] = field(default_factory=set)  # what was looked up, in lower case

    def with_local(self, name: str, node: Node) -> Context:
        """The same, with one more name from WITH."""
        return replace(self, local={**self.local, name.lower(): node})

    def lookup(self, name: str) -> Node:
        """The plan behind a name in FROM."""
        key = name.lower()
        if key in self.local:
            return self.local[key]
        if self.defining is not None and key == self.defining.lower():
            raise CyclicView(
                f"`{name}` reads itself", hint="it can only read what was declared before it"
            )
        found = self.names.relation(name)
        if found is None:
            known = [*self.local, *self.names.relations()]
            raise UnknownName(
                f"no stream, table, view or query `{name}`", hint=suggest(name, known)
            )
        self.reads.add(key)
        return found

    def position(self, place: exp.Expr | Span | None) -> Position | None:
        return positions.position_of(self.text, place)

    def located(self, place: exp.Expr | Span | None) -> AbstractContextManager[None]:
        """Errors raised inside without a position get this one."""
        return positions.located(self.text, place)

    def only(self, node: exp.Expr, *handled: str) -> None:
        """Refuse a node that says more than `handled`."""
        positions.only(self.text, node, *handled)

    def written(self, node: exp.Expr) -> str:
        """The node as the text spells it, on one line."""
        span = positions.span_of(node)
        return " ".join(self.text[span.start : span.end].split()) if span else node.key
