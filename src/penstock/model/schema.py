"""A stream's columns, and which of them progress.

A column *progresses* when punctuation on it comes, again and again: older values are over; only
such a column can carry a window. Spec: window-queries 1.1.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from penstock.errors import DuplicateName, UnknownName
from penstock.model.types import Type

#: Arrival position of a row in its stream, counted from 1; every stream has it.
ROW_NUM = "row_num"
#: How the columns begin that operators add for themselves.
OURS = "__"
#: The columns by which a result tells its window.
WINDOW_START = "window_start"
WINDOW_END = "window_end"
#: Whether a result is the last one for its window, where early ones come, too.
IS_FINAL = "is_final"


@dataclass(frozen=True)
class Column:
    """A named, typed column."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True)
class Schema:
    """Columns in order, and the names of those that progress; of these, which may be NULL."""

    columns: tuple[Column, ...]
    progressing: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for column in self.columns:
            if column.name in seen:
                raise DuplicateName(
                    f"column `{column.name}` appears twice",
                    hint=f"give one of them another name: … AS {column.name}_2",
                )
            if column.name.startswith(OURS):
                raise DuplicateName(
                    f"column `{column.name}`: names that begin with {OURS} are Penstock's own",
                    hint=f"call it {column.name.lstrip('_') or 'something else'}",
                )
            seen.add(column.name)
        unknown = self.progressing - seen
        if unknown:
            raise UnknownName(f"`{min(unknown)}` cannot progress: there is no such column")

    @classmethod
    def of(
        cls,
        columns: Iterable[Column],
        progressing: Iterable[str] = (),
        nullable: Iterable[str] = (),
    ) -> Schema:
        progress = frozenset(progressing)
        return cls(tuple(columns), progress, progress.intersection(nullable))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownName(f"no column `{name}`", hint=suggest(name, self.names)) from None

    def __str__(self) -> str:
        return ", ".join(
            f"{column}{'*' if column.name in self.progressing else ''}" for column in self.columns
        )


def check_declared(owner: str, columns: Iterable[Column]) -> None:
    """Refuse columns that no query could name; `owner` is whose they are, as errors call it.

    Names are the same in any case, so two that differ in nothing else are one.
    """
    seen: dict[str, str] = {}
    for column in columns:
        name = column.name
        if not name:
            raise DuplicateName(
                f"{owner} has a column without a name", hint="give every column a name"
            )
        if name.lower() in seen:
            raise DuplicateName(
                f"{owner} has columns `{seen[name.lower()]}` and `{name}`, which are the same "
                "name: case is ignored",
                hint="rename one of them in the source",
            )
        seen[name.lower()] = name


#: So many names are listed.
_LISTED = 30


def suggest(name: str, known: Iterable[str]) -> str:
    """The way out for a name that does not exist: the nearest ones, or all there are.

    >>> suggest("pric", ["price", "item", "ts"])
    'did you mean `price`? there are: price, item, ts'
    >>> suggest("x", [])
    'there are none'
    """
    names = list(known)
    if not names:
        return "there are none"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    lead = f"did you mean `{near[0]}`? " if near else ""
    return f"{lead}there are: {', '.join(names[:_LISTED])}{more}"
