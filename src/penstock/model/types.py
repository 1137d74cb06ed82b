"""The types a column can have, under their Spark SQL names.

    BOOLEAN                                     STRING, BINARY
    TINYINT < SMALLINT < INT < BIGINT           DATE         days since 1970
      < DECIMAL(p, s) < FLOAT < DOUBLE          TIMESTAMP    a point in time: ticks (`timestamps`)
    ARRAY<INT>                                  TIMESTAMP_NTZ   what a clock shows, in ticks
    MAP<STRING, INT>                            INTERVAL     a number of ticks
    STRUCT<a: INT, b: STRING>                   NULL         of a bare NULL: fits everywhere

Numbers widen in that order. There is one object for each type, however it was made: types are
compared with `is`, and their text says all about them (`type_text` reads it). What a DECIMAL holds
and gives in computations stands in `decimals`; how columns of a type look in a block, in
`kernel/types`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from penstock.errors import TypeMismatch

#: Digits that a DECIMAL has at most.
MOST_DIGITS = 38

_KNOWN: dict[str, Type] = {}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Types(type):
    """The types without parts, as `for each in Type` and `Type["INT"]`."""

    def __iter__(cls) -> Iterator[Type]:
        return iter(_SCALARS)

    def __getitem__(cls, name: str) -> Type:
        return next(each for each in _SCALARS if each.name == name)


class Type(metaclass=_Types):
    """A column's type; `Type(text)` is the one of that text."""

    __slots__ = ("name",)
    name: str

    BOOLEAN: ClassVar[Type]
    TINYINT: ClassVar[Type]
    SMALLINT: ClassVar[Type]
    INT: ClassVar[Type]
    BIGINT: ClassVar[Type]
    FLOAT: ClassVar[Type]
    DOUBLE: ClassVar[Type]
    STRING: ClassVar[Type]
    BINARY: ClassVar[Type]
    DATE: ClassVar[Type]
    TIMESTAMP: ClassVar[Type]
    TIMESTAMP_NTZ: ClassVar[Type]
    INTERVAL: ClassVar[Type]
    NULL: ClassVar[Type]

    def __new__(cls, text: str) -> Type:
        from penstock.model.type_text import parse_type  # which needs this module

        return _KNOWN.get(text) or parse_type(text)

    @classmethod
    def _one(cls, text: str, **parts: Any) -> Any:
        """The object of that text, made if there is none."""
        found = _KNOWN.get(text)
        if found is None:
            found = object.__new__(cls)
            for name, part in {"name": text, **parts}.items():
                object.__setattr__(found, name, part)
            found = _KNOWN.setdefault(text, found)
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a type cannot be changed: {self}.{name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Type, (self.name,)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Type.{self.name}: '{self.name}'>" if self in _SCALARS else f"<{self.name}>"

    @property
    def value(self) -> str:
        """Its text."""
        return self.name

    @property
    def is_integer(self) -> bool:
        return self in _INTEGERS

    @property
    def is_numeric(self) -> bool:
        return self in _NUMBERS

    @property
    def is_time(self) -> bool:
        """Whether values are ticks since 1970, in UTC or as a clock shows them."""
        return self is Type.TIMESTAMP or self is Type.TIMESTAMP_NTZ

    @property
    def is_nested(self) -> bool:
        """Whether values have parts."""
        return isinstance(self, ArrayType | MapType | StructType)

    @property
    def has_map(self) -> bool:
        """Whether values are or have maps, which are not compared with each other."""
        return isinstance(self, MapType) or any(part.has_map for part in self.parts)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types that it is made of."""
        return ()

    @property
    def can_progress(self) -> bool:
        """Whether a bound can be stated on it: ordered and discrete."""
        return self.is_integer or self.is_time


class DecimalType(Type):
    """Numbers of `precision` decimal digits, `scale` of them behind the point.

    >>> DecimalType(10, 2), DecimalType(10, 2) is Type("decimal(10,2)")
    (<DECIMAL(10, 2)>, True)
    """

    __slots__ = ("precision", "scale")
    precision: int
    scale: int

    def __new__(cls, precision: int = 10, scale: int = 0) -> DecimalType:
        if not 1 <= precision <= MOST_DIGITS or not 0 <= scale <= precision:
            raise TypeMismatch(
                f"there is no DECIMAL({precision}, {scale})",
                hint=f"it has 1 to {MOST_DIGITS} digits, and no more than these behind the point",
            )
        text = f"DECIMAL({precision}, {scale})"
        return cls._one(text, precision=precision, scale=scale)  # type: ignore[no-any-return]

    @property
    def is_numeric(self) -> bool:
        return True


class ArrayType(Type):
    """Lists of values of one type, which may be NULL."""

    __slots__ = ("element",)
    element: Type

    def __new__(cls, element: Type) -> ArrayType:
        return cls._one(f"ARRAY<{element}>", element=element)  # type: ignore[no-any-return]

    @property
    def parts(self) -> tuple[Type, ...]:
        return (self.element,)


class MapType(Type):
    """Values by their keys, which are never NULL."""

    __slots__ = ("key", "of")
    key: Type
    of: Type

    def __new__(cls, key: Type, of: Type) -> MapType:
        if key.has_map:
            raise TypeMismatch(
                f"the keys of a MAP cannot be {key}", hint="maps are not compared with each other"
            )
        return cls._one(f"MAP<{key}, {of}>", key=key, of=of)  # type: ignore[no-any-return]

    @property
    def parts(self) -> tuple[Type, ...]:
        return (self.key, self.of)


class StructType(Type):
    """Several values by the names of its fields.

    >>> StructType((("a", Type.INT), ("b c", Type.STRING)))
    <STRUCT<a: INT, `b c`: STRING>>
    """

    __slots__ = ("fields",)
    fields: tuple[tuple[str, Type], ...]

    def __new__(cls, fields: tuple[tuple[str, Type], ...]) -> StructType:
        names = [name.lower() for name, _ in fields]
        for name, _ in fields:
            if names.count(name.lower()) > 1:
                raise TypeMismatch(
                    f"a STRUCT has the field `{name}` twice: case is ignored",
                    hint="give one of them another name",
                )
        if not fields:
            raise TypeMismatch("a STRUCT has no fields", hint="write STRUCT<a: INT>")
        text = ", ".join(f"{quoted(name)}: {of}" for name, of in fields)
        return cls._one(f"STRUCT<{text}>", fields=tuple(fields))  # type: ignore[no-any-return]

    @property
    def parts(self) -> tuple[Type, ...]:
        return tuple(of for _, of in self.fields)

    def field(self, name: str) -> tuple[str, Type] | None:
        """The field of that name as it is spelt, in any case; None: there is none."""
        return next((f for f in self.fields if f[0].lower() == name.lower()), None)


def quoted(name: str) -> str:
    """A name as it is written: in backquotes, unless it is a plain word."""
    return name if _PLAIN_NAME.fullmatch(name) else "`{}`".format(name.replace("`", "``"))


_NAMES = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BINARY"),
    *("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "INTERVAL", "NULL"),
)
for _name in _NAMES:
    setattr(Type, _name, Type._one(_name))
_SCALARS: tuple[Type, ...] = tuple(_KNOWN[name] for name in _NAMES)
_INTEGERS = (Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT)
_NUMBERS = (*_INTEGERS, Type.FLOAT, Type.DOUBLE)


def common_type(left: Type, right: Type) -> Type | None:
    """The type both fit in, or None.

    >>> common_type(Type.INT, Type.DOUBLE), common_type(Type.STRING, Type.INT)
    (<Type.DOUBLE: 'DOUBLE'>, None)
    >>> common_type(DecimalType(5, 2), Type.INT)
    <DECIMAL(12, 2)>
    """
    if left is right or right is Type.NULL:
        return left
    if left is Type.NULL:
        return right
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    if left.is_time and right.is_time:
        return Type.TIMESTAMP
    if Type.DATE in (left, right) and (left.is_time or right.is_time):
        return right if left is Type.DATE else left
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        element = common_type(left.element, right.element)
        return None if element is None else ArrayType(element)
    return None


def _common_number(left: Type, right: Type) -> Type:
    if isinstance(left, DecimalType) or isinstance(right, DecimalType):
        first, second = as_decimal(left), as_decimal(right)
        if first is None or second is None:
            return Type.DOUBLE
        scale = max(first.scale, second.scale)
        whole = max(first.precision - first.scale, second.precision - second.scale)
        return DecimalType(min(whole + scale, MOST_DIGITS), scale)
    wider = max(left, right, key=_NUMBERS.index)
    # The whole numbers do not fit into 32 bits of float.
    return Type.DOUBLE if wider is Type.FLOAT and left is not right else wider


#: Digits that hold every value of an integer type.
_DIGITS = {Type.TINYINT: 3, Type.SMALLINT: 5, Type.INT: 10, Type.BIGINT: 20}


def as_decimal(of: Type) -> DecimalType | None:
    """The DECIMAL that holds every value of an exact number's type."""
    if isinstance(of, DecimalType):
        return of
    return DecimalType(_DIGITS[of]) if of in _DIGITS else None


def castable(given: Type, to: Type) -> bool:
    """Whether CAST has a meaning, if only for some values.

    >>> castable(Type.STRING, Type.DATE), castable(Type.DATE, Type.INT)
    (True, False)
    """
    if given is to or given is Type.NULL:
        return True
    if (given.is_numeric or given is Type.BOOLEAN) and (to.is_numeric or to is Type.BOOLEAN):
        return True
    pair = {given, to}
    if Type.TIMESTAMP in pair and (pair & {*_NUMBERS, Type.DATE, Type.TIMESTAMP_NTZ}):
        return True
    if pair == {Type.TIMESTAMP_NTZ, Type.DATE}:
        return True
    if isinstance(given, ArrayType) and isinstance(to, ArrayType):
        return castable(given.element, to.element)
    if given.is_nested or to.is_nested:
        return False
    if to is Type.STRING:
        return given is not Type.BINARY  # its bytes need not be text
    return given is Type.STRING and to not in (Type.INTERVAL, Type.NULL)
