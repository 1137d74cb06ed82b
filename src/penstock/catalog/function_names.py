"""Which names functions of users can have."""

from __future__ import annotations

import re

from penstock.errors import DuplicateName, SyntaxFault
from penstock.model.aggregate_functions import SPELLINGS
from penstock.model.functions import FUNCTIONS, canonical
from penstock.model.user_defined import UserDefined


def check_function_name(
    function: UserDefined, existing: UserDefined | None, *, replace: bool
) -> None:
    """Refuse a name that cannot be called, is built in, or is taken and not to be replaced."""
    name, kind = function.name, function.kind
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise SyntaxFault(
            f"`{name}` cannot be the name of {_a(kind)}",
            hint="a name has letters, digits and _, and begins with none of the digits",
        )
    if name.lower() in SPELLINGS or canonical(name) in FUNCTIONS:
        raise DuplicateName(f"`{name}` is built in", hint="choose another name")
    if existing is not None and not replace:
        raise DuplicateName(
            f"{existing.kind} `{existing.name}` exists already",
            hint="choose another name, or declare it with replace=True",
        )


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
