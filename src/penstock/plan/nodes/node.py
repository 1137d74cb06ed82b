"""The root of all nodes: what a plan is, and how it can be walked without knowing its nodes.

    children        the nodes whose rows it reads
    with_children   the same node over others
    lineage         which columns of its children a column is
    order           the columns in whose order its rows come
    reads           which columns of its children are needed for some of its own

Nobody asks for a kind of node to pass a column on or to rebuild a plan; and a kind that does not
answer cannot be made. Whoever must tell kinds apart names all of them, and raises `unknown`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

from penstock.errors import CannotWindow, PenstockBug, TypeMismatch
from penstock.model.expressions import Expression
from penstock.model.schema import Column, Schema
from penstock.model.types import common_type

#: Where a node keeps its hash.
_HASH = "_hash"


class ChildColumn(NamedTuple):
    """A column of a child."""

    child: int
    column: str


@dataclass(frozen=True)
class Node(ABC):
    """Root of all nodes.

    A plan is looked up by content again and again, and each look at a node is one at everything
    below it. So its hash is computed once; it is not sent to other processes, where texts have
    other hashes.
    """

    def __init_subclass__(cls) -> None:
        # Before the decorator looks, which would make one of its own for every class.
        cls.__hash__ = Node.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get(_HASH)
        if known is None:
            known = hash((type(self), *(getattr(self, f.name) for f in fields(self) if f.compare)))
            object.__setattr__(self, _HASH, known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _HASH}

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """The nodes whose rows it reads: all that stand in its fields, in their order."""
        return tuple(child for _, found in self._child_fields() for child in _each(found))

    def with_children(self, children: Sequence[Node]) -> Node:
        """The same node over other children, as many as it has."""
        if all(new is old for new, old in zip(children, self.children, strict=True)):
            return self
        given = iter(children)
        return replace(
            self,
            **{
                name: next(given) if isinstance(found, Node) else tuple(next(given) for _ in found)
                for name, found in self._child_fields()
            },
        )

    def _child_fields(self) -> Iterator[tuple[str, Node | tuple[Node, ...]]]:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Node) or (
                isinstance(value, tuple) and value and isinstance(value[0], Node)
            ):
                yield each.name, value

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Its columns, and which of them progress."""

    @property
    @abstractmethod
    def label(self) -> str:
        """One line for `explain`."""

    @abstractmethod
    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        """The columns of its children from which one of its own is taken unchanged.

        None: it is computed, or a row may lack it. Several: each row has it from one of them (a
        union), or they are equal where rows meet (the key of a join).
        """

    @property
    @abstractmethod
    def order(self) -> frozenset[str]:
        """The columns by the greatest of which its rows come in order; mostly one, or none.

        That of a union is the one that it keeps where it merges, and of a join all its times, where
        its results are in order. (`row_num` is left out.)
        """

    @abstractmethod
    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        """The columns that each child must bring, where of its own columns these are used."""


class Leaf(Node):
    """A node without children."""

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        return ()

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        return ()


def unknown(node: Node) -> PenstockBug:
    """What is raised where a kind of node was forgotten that must be told from others."""
    return PenstockBug(f"nothing is known here of {type(node).__name__}")


def passed_on(node: Node) -> frozenset[str]:
    """The order that all children have, under the columns that take it on."""
    orders = {
        ChildColumn(number, column)
        for number, child in enumerate(node.children)
        for column in child.order
    }
    found: dict[frozenset[ChildColumn], str] = {}
    for name in node.schema.names:
        kept = orders & set(node.lineage(name))
        if len({each.child for each in kept}) == len(node.children):
            found.setdefault(frozenset(kept), name)
    complete = orders == frozenset[ChildColumn]().union(*found)
    return frozenset(found.values()) if complete else frozenset()


def check_progress(node: Node, on: str) -> None:
    """Refuse a window on a column that does not progress."""
    schema = node.schema
    if schema[on].name not in schema.progressing:
        usable = [name for name in schema.names if name in schema.progressing]
        raise CannotWindow(
            f"cannot window on `{on}`: it does not progress, so its windows would never close",
            hint=f"windows here can use: {', '.join(usable) or 'nothing'}",
        )
    if not schema[on].type.can_progress:
        raise CannotWindow(
            f"cannot window on `{on}`: it is {schema[on].type}, and windows are measured on a "
            "TIMESTAMP or an integer",
            hint=f"window on CAST({on} AS TIMESTAMP)",
        )


def check_pair(mine: Column, theirs: Column) -> None:
    """Refuse to compare columns whose types have nothing in common."""
    if common_type(mine.type, theirs.type) is None:
        raise TypeMismatch(f"cannot compare `{mine}` with `{theirs}`")


def check_refs(schema: Schema, expression: Expression) -> None:
    """Refuse an expression about columns that are not there."""
    for name in expression.refs:
        _ = schema[name]


def _each(found: Node | tuple[Node, ...]) -> tuple[Node, ...]:
    return (found,) if isinstance(found, Node) else found
