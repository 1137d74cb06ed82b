"""Types from their text, as `str(type)` writes it, Spark's `simpleString` and people do.

    DECIMAL(10, 2)  decimal(10,2)  array<int>  map<string,int>  struct<a:int,`b c`:string>

It is what plans that were written down, Spark's schemas and rows of settings hold.
"""

from __future__ import annotations

import re

from penstock.errors import TypeMismatch
from penstock.model.types import ArrayType, DecimalType, MapType, StructType, Type

#: Other names for types without parts.
SYNONYMS = {
    "BYTE": Type.TINYINT,
    "SHORT": Type.SMALLINT,
    "INTEGER": Type.INT,
    "LONG": Type.BIGINT,
    "REAL": Type.FLOAT,
    "TIMESTAMP_LTZ": Type.TIMESTAMP,
    "VOID": Type.NULL,
}

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[^\s<>(),:`]+|[<>(),:])")


def parse_type(text: str) -> Type:
    """The type that a text stands for; TypeMismatch if it stands for none.

    >>> parse_type("struct<a:int,`b c`:array<decimal(5,2)>>")
    <STRUCT<a: INT, `b c`: ARRAY<DECIMAL(5, 2)>>>
    """
    words = _TOKEN.findall(text)
    if "".join(words) != re.sub(r"\s+(?=(?:[^`]*`[^`]*`)*[^`]*$)", "", text):
        raise _unknown(text)
    try:
        found, rest = _type(words)
    except (IndexError, ValueError):
        raise _unknown(text) from None
    if rest:
        raise _unknown(text)
    return found


def _unknown(text: str) -> TypeMismatch:
    return TypeMismatch(f"there is no type {text}", hint=f"there are: {NAMES}")


#: Those that a column can be declared as.
NAMES = ", ".join(
    (
        *(str(each) for each in Type if each not in (Type.INTERVAL, Type.NULL)),
        *("DECIMAL(p, s)", "ARRAY<…>", "MAP<…, …>", "STRUCT<name: …, …>"),
    )
)


def _type(words: list[str]) -> tuple[Type, list[str]]:
    """The type at the beginning, and what stands behind it."""
    name, rest = words[0].upper(), words[1:]
    match name:
        case "DECIMAL" | "DEC" | "NUMERIC":
            return _decimal(rest)
        case "ARRAY":
            element, rest = _type(_behind("<", rest))
            return ArrayType(element), _behind(">", rest)
        case "MAP":
            key, rest = _type(_behind("<", rest))
            value, rest = _type(_behind(",", rest))
            return MapType(key, value), _behind(">", rest)
        case "STRUCT":
            return _struct(_behind("<", rest))
        case _ if name in SYNONYMS:
            return SYNONYMS[name], rest
    known = {each.name: each for each in Type}
    if name not in known:
        raise ValueError(name)
    return known[name], rest


def _decimal(rest: list[str]) -> tuple[Type, list[str]]:
    if rest[:1] != ["("]:
        return DecimalType(), rest
    if rest[2] == ")":
        return DecimalType(int(rest[1])), rest[3:]
    return DecimalType(int(rest[1]), int(_behind(",", rest[2:])[0])), _behind(")", rest[4:])


def _struct(rest: list[str]) -> tuple[Type, list[str]]:
    fields = []
    while True:
        name, rest = rest[0], rest[1:]
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        of, rest = _type(rest[1:] if rest[0] == ":" else rest)
        fields.append((name, of))
        if rest[0] != ",":
            return StructType(tuple(fields)), _behind(">", rest)
        rest = rest[1:]


def _behind(word: str, words: list[str]) -> list[str]:
    if words[0] != word:
        raise ValueError(word)
    return words[1:]
