"""Functions that users define: what they take and give, as plans know it.

A declaration is a value: it is compared, written down and shipped with the plans that use it. The
code behind it is not part of what it is. So code can be mended, and what was kept goes on; and a
plan that was written down finds its code again by the declaration (`with_code`), in whatever
program declares the same.

An aggregate keeps a *state* per group: the columns that it declares, or else any value that JSON
can hold, as text. Nothing else is stored or sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeAlias

from penstock.errors import NotExecutable, TypeMismatch
from penstock.model.schema import Column
from penstock.model.types import Type, common_type

#: The column of a state that is not declared.
JSON_STATE = (Column("json", Type.STRING),)
#: What a host does around calls of the code: it may have to release a lock.
Around: TypeAlias = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class UserAggregate:
    """An aggregate; `code` has its methods, `vectorised`: over the columns of many groups at once.

    `merges`: states of parts of the rows can become one; else rows are kept, and added in order.
    `subtracts`: what was merged can be taken away again, exactly.
    """

    name: str
    arguments: tuple[Column, ...]
    returns: Type
    state: tuple[Column, ...] = JSON_STATE
    merges: bool = False
    subtracts: bool = False
    text: str = field(default="", compare=False, repr=False)  # of one that is written in SQL
    code: Any = field(default=None, compare=False, repr=False)
    vectorised: bool = field(default=False, compare=False)
    around: Around = field(default=nullcontext, compare=False, repr=False)
    kind = "aggregate"

    @property
    def has_json_state(self) -> bool:
        return self.state == JSON_STATE

    @property
    def takes(self) -> str:
        return _named(self.arguments)

    def __str__(self) -> str:
        return f"{self.name}({self.takes}) -> {self.returns}"


@dataclass(frozen=True)
class UserFunction:
    """A function of single rows; `code` is called with values, `vectorised`: with columns.

    `nulls`: also where an argument is NULL; else the answer is NULL there.
    """

    name: str
    arguments: tuple[Column, ...]
    returns: Type
    nulls: bool = False
    code: Any = field(default=None, compare=False, repr=False)
    vectorised: bool = field(default=False, compare=False)
    around: Around = field(default=nullcontext, compare=False, repr=False)
    kind = "function"

    @property
    def takes(self) -> str:
        return _named(self.arguments)

    def __str__(self) -> str:
        return f"{self.name}({self.takes}) -> {self.returns}"


UserDefined: TypeAlias = UserAggregate | UserFunction


def _named(columns: tuple[Column, ...]) -> str:
    """Columns with their types; NULL is the type of what may be anything."""
    return ", ".join(c.name if c.type is Type.NULL else f"{c.name} {c.type}" for c in columns)


def check_call(function: UserDefined, given: tuple[Type, ...]) -> None:
    """Refuse arguments that the function does not take."""
    wanted = tuple(each.type for each in function.arguments)
    fits = len(given) == len(wanted) and all(
        common_type(have, want) is want for have, want in zip(given, wanted, strict=True)
    )
    if not fits:
        taken = ", ".join(map(str, given)) or "nothing"
        raise TypeMismatch(
            f"`{function.name}` cannot take {taken}",
            hint=f"it is declared as {function}; CAST(… AS …) turns an argument into another type",
        )


def code_of(function: UserDefined) -> Any:
    """The code behind a declaration; NotExecutable if this program has not declared it."""
    if function.code is None:
        raise NotExecutable(
            f"{function.kind} `{function.name}` has no code here: it is declared nowhere in this "
            "program",
            hint=f"declare {function} before the queries that use it, as it was when they began",
        )
    return function.code


def user_defined_in(value: Any) -> Iterator[UserDefined]:
    """All functions of users that a part of a plan names."""
    if isinstance(value, UserAggregate | UserFunction):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from user_defined_in(each)
    elif _has_parts(value):
        for each in fields(value):
            yield from user_defined_in(getattr(value, each.name))


def with_code(value: Any, known: Mapping[UserDefined, UserDefined]) -> Any:
    """A part of a plan that was written down, with the code of functions, which was not."""
    if isinstance(value, UserAggregate | UserFunction):
        return known.get(value, value)
    if isinstance(value, tuple):
        changed = tuple(with_code(each, known) for each in value)
        return value if all(a is b for a, b in zip(value, changed, strict=True)) else changed
    if not _has_parts(value):
        return value
    found = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    new = {name: with_code(each, known) for name, each in found.items()}
    changes = {name: each for name, each in new.items() if each is not found[name]}
    return replace(value, **changes) if changes else value


def mended(value: Any, by: UserDefined) -> Any:
    """A part of a plan with the new code of a function that is declared again as it was."""
    found = {each for each in user_defined_in(value) if is_same(each, by)}
    now = {each: replace(by, arguments=each.arguments) for each in found}
    return with_code(value, now) if found else value


def is_same(used: UserDefined, declared: UserDefined) -> bool:
    """Whether a plan uses what is declared like this; a function may take any types (NULL)."""
    if type(used) is not type(declared) or len(used.arguments) != len(declared.arguments):
        return False
    pairs = zip(used.arguments, declared.arguments, strict=True)
    fits = all(one == other or other.type is Type.NULL for one, other in pairs)
    return fits and replace(used, arguments=declared.arguments) == declared


def _has_parts(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type | Enum)
