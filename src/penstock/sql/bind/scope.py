"""Which columns a name can mean at some place of a query.

A scope is a list of fields. The user writes `name` or `relation.name`, in any case; the plan below
calls the column something, usually the same, `M1.srcIP` behind a join. A hidden field can be named
but is not part of `*`: the row number that every stream has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.errors import UnknownName
from penstock.model.expressions import Cast, Named, Ref
from penstock.model.joins import qualified
from penstock.model.schema import ROW_NUM, suggest
from penstock.model.types import StructType, Type
from penstock.plan.nodes import Explode, Node, Ordered, Project, Select, Source

#: Other names of columns that the system itself adds.
_SYNONYMS = {"seq_num": ROW_NUM}


@dataclass(frozen=True)
class Field:
    """A column as the user sees it, and as the plan knows it."""

    name: str
    type: Type
    column: str
    qualifier: str | None = None
    progresses: bool = False
    hidden: bool = False
    computed: bool = False  # in a subquery, or a further time: see _is_further
    falls: str | None = None  # why what is computed of a column that progresses does not

    @property
    def ref(self) -> Ref:
        return Ref(self.column, self.type)

    @property
    def measured(self) -> Named:
        """The column that windows on it are measured on: of a day, when it begins."""
        if self.type is not Type.DATE:
            return Named(self.column, self.ref)
        return Named(f"{self.column}::{Type.TIMESTAMP}", Cast(self.ref, Type.TIMESTAMP))

    def __str__(self) -> str:
        return f"{self.qualifier}.{self.name}" if self.qualifier else self.name


def left_out(node: Node) -> list[str]:
    """The columns that progress below, and that a SELECT has not passed on."""
    if isinstance(node, Ordered):
        return left_out(node.input)
    if not isinstance(node, Project) or node.schema.progressing:
        return []
    below = node.input.schema
    names = [n.rpartition(".")[2] for n in below.names if n in below.progressing and n != ROW_NUM]
    return names or left_out(node.input)


def _is_further(node: Node, column: str) -> bool:
    """Whether a time is computed, or not the first of a stream, or not the one rows come by."""
    if isinstance(node, Ordered):
        return column != node.on
    if isinstance(node, Source):
        return column in (time.column for time in node.stream.further)
    return isinstance(node, Project) and not node.lineage(column)


def _falling(node: Node, column: str) -> str | None:
    """Why a time computed of one that progresses does not, where that is so."""
    if not isinstance(node, Project) or column in node.schema.progressing:
        return None
    [computed] = [each for each in node.columns if each.name == column]
    times = sorted(computed.refs & node.input.schema.progressing)
    if not times:
        return None
    return f"`{computed.value}` may fall while `{times[0]}` rises"


def telling_its_end(node: Node) -> Node:
    """The same rows with a column that progresses, where a subquery has left all of them out.

    No name reaches it; but rows can be counted only where somebody tells that they are over.
    """
    if node.schema.progressing:
        return node
    if isinstance(node, Select):
        return replace(node, input=telling_its_end(node.input))
    if isinstance(node, Explode):
        told = telling_its_end(node.input)
        kept = dict.fromkeys((*node.kept, *sorted(told.schema.progressing)))
        return replace(node, input=told, kept=tuple(kept))
    if not isinstance(node, Project):
        return node
    below = telling_its_end(node.input)
    # Rather a time than the number of a row; the window calls its own count that.
    telling = min(below.schema.progressing, key=lambda name: (name == ROW_NUM, name), default=None)
    if telling is None:
        return node
    name = unique(telling, [ROW_NUM, *(column.name for column in node.columns)])
    return Project(below, (*node.columns, Named(name, Ref(telling, below.schema[telling].type))))


@dataclass(frozen=True)
class Scope:
    """The fields that can be named, in the order of `*`; `lost`: what a subquery has left out."""

    fields: tuple[Field, ...]
    lost: tuple[str, ...] = ()

    @classmethod
    def of(cls, node: Node, qualifier: str | None) -> Scope:
        """The columns of one input; a stream's row number is there, but hidden."""
        return cls(
            tuple(
                Field(
                    column.name,
                    column.type,
                    column.name,
                    qualifier,
                    progresses=column.name in node.schema.progressing,
                    hidden=column.name == ROW_NUM and isinstance(node, Source),
                    computed=_is_further(node, column.name),
                    falls=_falling(node, column.name),
                )
                for column in node.schema
            ),
            tuple(left_out(node)),
        )

    def counting_rows(self, node: Node) -> Scope:
        """The same, with the number in which rows come, where streams do not number them.

        Only what progresses has an end, which ends the last window over rows as well: some column
        of the node below must.
        """
        own = any(field.name == ROW_NUM and field.progresses for field in self.fields)
        if own or not node.schema.progressing:
            return self
        others = tuple(field for field in self.fields if field.column != ROW_NUM)
        number = Field(ROW_NUM, Type.BIGINT, ROW_NUM, progresses=True, hidden=True)
        return replace(self, fields=(*others, number))

    def without(self, name: str) -> Scope:
        """The same, with a column that cannot be named."""
        return replace(self, fields=tuple(f for f in self.fields if f.name != name))

    def __add__(self, other: Scope) -> Scope:
        return Scope(self.fields + other.fields)

    def prefixed(self, name: str) -> Scope:
        """The same fields behind a join, which calls them `name.column`."""
        return Scope(tuple(replace(f, column=qualified(name, f.column)) for f in self.fields))

    def beginning_with(self, qualifier: str) -> Scope:
        """The same fields, those of one input first."""
        return Scope(tuple(sorted(self.fields, key=lambda f: f.qualifier != qualifier)))

    @property
    def visible(self) -> tuple[Field, ...]:
        """What `*` stands for."""
        return tuple(field for field in self.fields if not field.hidden)

    def of_relation(self, qualifier: str) -> tuple[Field, ...]:
        """What `qualifier.*` stands for."""
        found = tuple(f for f in self.visible if _same(f.qualifier, qualifier))
        if not found:
            raise UnknownName(f"no input `{qualifier}`", hint=suggest(qualifier, self._relations()))
        return found

    def has(self, name: str, qualifier: str | None = None) -> bool:
        return bool(self._matching(name, qualifier))

    def struct(self, name: str) -> StructType | None:
        """The type of a column that is a struct, where no input has that name."""
        is_input = any(_same(field.qualifier, name) for field in self.fields)
        of = self.resolve(name).type if self.has(name) and not is_input else None
        return of if isinstance(of, StructType) else None

    def resolve(self, name: str, qualifier: str | None = None) -> Field:
        """The one field that the name means."""
        found = self._matching(name, qualifier)
        if len(found) == 1:
            return found[0]
        if found:
            # Streams may spell names that differ in case only; an exact match then decides.
            exact = [field for field in found if field.name == name]
            if len(exact) == 1:
                return exact[0]
            raise UnknownName(
                f"`{name}` can mean {' or '.join(map(str, found))}",
                hint=f"write which one: {found[0]}",
            )
        if qualifier is not None and not any(_same(f.qualifier, qualifier) for f in self.fields):
            raise UnknownName(f"no input `{qualifier}`", hint=suggest(qualifier, self._relations()))
        spelled = f"{qualifier}.{name}" if qualifier else name
        mine = [f for f in self.visible if qualifier is None or _same(f.qualifier, qualifier)]
        names = list(dict.fromkeys(f.name for f in mine))
        raise UnknownName(f"no column `{spelled}`", hint=suggest(name, names))

    def _matching(self, name: str, qualifier: str | None) -> list[Field]:
        for wanted in (name, _SYNONYMS.get(name.lower())):
            if wanted is None:
                continue
            found = [
                field
                for field in self.fields
                if _same(field.name, wanted)
                and (qualifier is None or _same(field.qualifier, qualifier))
            ]
            if found:
                return found
        return []

    def _relations(self) -> Iterable[str]:
        return dict.fromkeys(f.qualifier for f in self.fields if f.qualifier)


def _same(mine: str | None, theirs: str) -> bool:
    return mine is not None and mine.lower() == theirs.lower()


def unique(name: str, taken: Iterable[str]) -> str:
    """The name, or the name with the first number that makes it new.

    >>> unique("count", ["count", "COUNT_2"])
    'count_3'
    """
    used = {other.lower() for other in taken}
    if name.lower() not in used:
        return name
    number = 2
    while f"{name}_{number}".lower() in used:
        number += 1
    return f"{name}_{number}"
