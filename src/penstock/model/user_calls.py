"""UserCall: a function that a user has defined, applied to arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.model.expressions import Cast, Expression
from penstock.model.types import Type
from penstock.model.user_defined import UserDefined, UserFunction, check_call


@dataclass(frozen=True)
class UserCall(Expression):
    """The value that a user's function gives; a host computes it with the function's code."""

    function: UserFunction
    args: tuple[Expression, ...]

    def __post_init__(self) -> None:
        check_call(self.function, tuple(arg.type for arg in self.args))

    @property
    def type(self) -> Type:
        return self.function.returns

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.args

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.args))})"


def typed(function: UserFunction, args: list[Expression]) -> UserFunction:
    """A function with the types of these arguments, where it takes anything."""
    if len(args) != len(function.arguments):
        return function  # which is refused
    pairs = zip(function.arguments, args, strict=True)
    taken = tuple(
        replace(each, type=arg.type) if each.type is Type.NULL else each for each, arg in pairs
    )
    return replace(function, arguments=taken)


def brought(function: UserDefined, args: list[Expression]) -> tuple[Expression, ...]:
    """Arguments as the types that a function declares, if they fit."""
    check_call(function, tuple(arg.type for arg in args))
    pairs = zip(args, function.arguments, strict=True)
    return tuple(arg if arg.type is want.type else Cast(arg, want.type) for arg, want in pairs)
