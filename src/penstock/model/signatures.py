"""Signatures: what a function takes and gives, written the way people read it.

    NUMBER, NUMBER -> NUMBER          both widen to one number type, which is also the result's
    STRING, BIGINT -> STRING          what fits is widened: INT to BIGINT, DATE to TIMESTAMP
    SAME... -> SAME                   one or more, all brought to one type
    ANY -> BOOLEAN                    whatever it is, left as it is
    TEXT... -> STRING                 whatever can be printed, left as it is
    STRING[, STRING] -> STRING        the second may be left out

NUMBER, INTEGER, SAME, EQUAL and ORDERED are variables: wherever one of them stands in a signature
it means the same type; maps are not EQUAL, and nothing with parts is ORDERED. NUMBER is no DECIMAL:
what these give in computations has its own rules (`decimals`). NULL fits everywhere. The text is
the rule, the documentation and the error message at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.errors import TypeMismatch
from penstock.model.types import Type, castable, common_type

#: Variable -> which types it may stand for, and what it is where every argument is a bare NULL.
_VARIABLES: dict[str, tuple[Callable[[Type], bool], Type]] = {
    "NUMBER": (lambda type_: type_.is_numeric and type_ in Type, Type.DOUBLE),
    "INTEGER": (lambda type_: type_.is_integer, Type.INT),
    "SAME": (lambda type_: True, Type.NULL),
    "EQUAL": (lambda type_: not type_.has_map, Type.NULL),
    "ORDERED": (lambda type_: not type_.is_nested, Type.NULL),
}

#: How people call what may stand for several types, and what is to be said of it.
_WORDS = {
    "NUMBER": ("number", ""),
    "INTEGER": ("whole number", ""),
    "SAME": ("value", "values are of one type"),
    "EQUAL": ("value", "values are of one type, without MAP"),
    "ORDERED": ("value", "values are of one type, which is no ARRAY, MAP or STRUCT"),
    "ANY": ("anything", ""),
    "TEXT": ("printable value", ""),
}

#: Parameters that take an argument without changing its type.
_AS_IT_IS = ("ANY", "TEXT")


def in_words(signatures: Iterable[Signature]) -> str:
    """Signatures as errors say them.

    >>> in_words([Signature.parse("ORDERED, ORDERED -> BOOLEAN")])
    'value, value -> BOOLEAN (values are of one type, which is no ARRAY, MAP or STRUCT)'
    """
    text = "; ".join(map(str, signatures))
    said = [more for name, (_, more) in _WORDS.items() if more and re.search(rf"\b{name}\b", text)]
    for name, (word, _) in _WORDS.items():
        text = re.sub(rf"\b{name}\b", word, text)
    return f"{text} ({'; '.join(said)})" if said else text


@dataclass(frozen=True)
class SignatureMatch:
    """How a call fits: the types its arguments are brought to, and the type it gives."""

    parameters: tuple[Type, ...]
    result: Type


@dataclass(frozen=True)
class Signature:
    """Parameters and result, each a type's name, a variable, ANY or TEXT."""

    parameters: tuple[str, ...]
    result: str
    optional: int = 0  # how many of the last parameters may be left out
    repeats: bool = False  # whether the last parameter may come again

    @classmethod
    def parse(cls, text: str) -> Signature:
        """
        >>> Signature.parse("STRING, ANY... -> STRING")
        Signature(parameters=('STRING', 'ANY'), result='STRING', optional=0, repeats=True)
        """
        taken, given = text.split(" -> ")
        names = taken.replace("[", "").replace("]", "").removesuffix("...").split(", ")
        return cls(tuple(names), given, taken.count("["), taken.endswith("..."))

    def __str__(self) -> str:
        kept = len(self.parameters) - self.optional
        taken = ", ".join(self.parameters[:kept])
        taken += "".join(f"[, {name}]" for name in self.parameters[kept:])
        return f"{taken}{'...' if self.repeats else ''} -> {self.result}"

    def takes(self, count: int) -> bool:
        """Whether it can be called with that many arguments."""
        most = len(self.parameters)
        return count >= most - self.optional and (self.repeats or count <= most)

    @property
    def _is_plain(self) -> bool:
        """Whether it is made of names of types and variables."""
        known = {*(each.name for each in Type), *_VARIABLES, *_AS_IT_IS}
        return known.issuperset((*self.parameters, self.result))

    def match(self, types: tuple[Type, ...]) -> SignatureMatch | None:
        """How arguments of these types fit, or None.

        >>> Signature.parse("NUMBER, NUMBER -> NUMBER").match((Type.INT, Type.BIGINT)).result
        <Type.BIGINT: 'BIGINT'>
        """
        if not self.takes(len(types)) or not self._is_plain:
            return None
        repeated = max(0, len(types) - len(self.parameters))
        wanted = (self.parameters + self.parameters[-1:] * repeated)[: len(types)]
        bound: dict[str, Type] = {}
        for name in _VARIABLES:
            if name in wanted:
                unified = _unify(name, [t for t, w in zip(types, wanted, strict=True) if w == name])
                if unified is None:
                    return None
                bound[name] = unified
        brought = [
            given if name in _AS_IT_IS else bound.get(name) or Type[name]
            for given, name in zip(types, wanted, strict=True)
        ]
        if any(common_type(t, to) is not to for t, to in zip(types, brought, strict=True)):
            return None
        if "TEXT" in wanted and not all(castable(given, Type.STRING) for given in types):
            return None
        return SignatureMatch(tuple(brought), bound.get(self.result) or Type[self.result])


def _unify(variable: str, types: list[Type]) -> Type | None:
    """The one type the variable stands for, or None."""
    allowed, default = _VARIABLES[variable]
    found = Type.NULL
    for type_ in types:
        common = common_type(found, type_)
        if common is None:
            return None
        found = common
    if found is Type.NULL:
        return default
    return found if allowed(found) else None


@dataclass(frozen=True)
class ScalarFunction:
    """A function or operator; `constants` are the positions of arguments that must be constants.

    `special` knows types that no signature can tell: of decimals, and of what has parts.
    """

    name: str
    description: str
    signatures: tuple[Signature, ...]
    constants: frozenset[int] = frozenset()
    special: Callable[[tuple[Type, ...]], SignatureMatch | None] | None = None

    def match(self, types: tuple[Type, ...]) -> SignatureMatch:
        """How a call with arguments of these types fits; TypeMismatch if it does not."""
        for form in (self.special, *(signature.match for signature in self.signatures)):
            found = form(types) if form is not None else None
            if found is not None:
                return found
        accepted = in_words(self.signatures)
        if not any(signature.takes(len(types)) for signature in self.signatures):
            count = f"{len(types) or 'no'} argument{'' if len(types) == 1 else 's'}"
            raise TypeMismatch(f"`{self.name}` cannot take {count}", hint=f"it takes {accepted}")
        raise TypeMismatch(
            f"`{self.name}` cannot take {' and '.join(map(str, types))}",
            hint=f"{_way_out(set(types))}; it takes {accepted}",
        )


def _way_out(types: set[Type]) -> str:
    """What the caller most likely wants to write instead."""
    times = types & {Type.TIMESTAMP, Type.INTERVAL}
    if Type.STRING in types and times:
        return "write TIMESTAMP '…' for a point in time, INTERVAL … SECONDS for a duration"
    if Type.STRING in types and Type.DATE in types:
        return "write DATE '…' for a day"
    if (times or Type.DATE in types) and any(type_.is_numeric for type_ in types):
        return "write INTERVAL … SECONDS for a duration, timestamp_seconds(…) for a point"
    return "CAST(… AS …) turns an argument into another type"
