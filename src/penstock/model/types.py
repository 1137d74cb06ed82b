"""The types a column can have, under their Spark SQL names.

Numbers widen in the order TINYINT < SMALLINT < INT < BIGINT < FLOAT < DOUBLE. A TIMESTAMP is ticks
(`timestamps`), an INTERVAL a number of ticks; a DATE is days since 1970.
"""

from __future__ import annotations

from enum import Enum


class Type(Enum):
    """A column's type."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    INTERVAL = "INTERVAL"
    NULL = "NULL"  # the type of a bare NULL: fits everywhere

    def __str__(self) -> str:
        return self.value

    @property
    def is_integer(self) -> bool:
        return self in _INTEGERS

    @property
    def is_numeric(self) -> bool:
        return self in _NUMBERS

    @property
    def can_progress(self) -> bool:
        """Whether a bound can be stated on it: ordered and discrete."""
        return self.is_integer or self is Type.TIMESTAMP


_INTEGERS = (Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT)
_NUMBERS = (*_INTEGERS, Type.FLOAT, Type.DOUBLE)


def common_type(left: Type, right: Type) -> Type | None:
    """The type both fit in, or None.

    >>> common_type(Type.INT, Type.DOUBLE), common_type(Type.STRING, Type.INT)
    (<Type.DOUBLE: 'DOUBLE'>, None)
    """
    if left is right or right is Type.NULL:
        return left
    if left is Type.NULL:
        return right
    if left.is_numeric and right.is_numeric:
        wider = max(left, right, key=_NUMBERS.index)
        # The whole numbers do not fit into 32 bits of float.
        return Type.DOUBLE if wider is Type.FLOAT and left is not right else wider
    if {left, right} == {Type.DATE, Type.TIMESTAMP}:
        return Type.TIMESTAMP
    return None


def castable(given: Type, to: Type) -> bool:
    """Whether CAST has a meaning, if only for some values.

    >>> castable(Type.STRING, Type.DATE), castable(Type.DATE, Type.INT)
    (True, False)
    """
    if given in (to, Type.NULL):
        return True
    pair = {given, to}
    if pair <= {*_NUMBERS, Type.BOOLEAN}:
        return True
    if Type.TIMESTAMP in pair and (pair & {*_NUMBERS, Type.DATE}):
        return True
    if to is Type.STRING:
        return given is not Type.BINARY  # its bytes need not be text
    return given is Type.STRING and to not in (Type.INTERVAL, Type.NULL)
