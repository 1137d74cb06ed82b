"""ComputedColumn columns: what Spark adds to the rows of a stream as it reads them.

An expression that the kernel does not know is computed where rows are read, and is a column of the
stream from then on. Its name follows from its SQL, so queries that use the same expression share
the column, and every process calls it the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from penstock.model.schema import Column
from penstock.model.types import Type
from penstock.model.zones import UTC

#: Hexadecimal digits of a name.
_DIGITS = 10


@dataclass(frozen=True)
class ComputedColumn:
    """A column, the SQL that gives it, and the time zone in which that is computed."""

    name: str
    type: Type
    sql: str
    zone: str = UTC

    @classmethod
    def of(cls, sql: str, type_: Type, zone: str = UTC) -> ComputedColumn:
        """
        >>> ComputedColumn.of("sha2(`k`, 256)", Type.STRING).name
        'spark_66b1539060'
        """
        known = sql if zone == UTC else f"{sql} in {zone}"
        digest = hashlib.sha256(known.encode()).hexdigest()
        return cls(f"spark_{digest[:_DIGITS]}", type_, sql, zone)

    @property
    def column(self) -> Column:
        return Column(self.name, self.type)

    def __str__(self) -> str:
        where = "" if self.zone == UTC else f", in {self.zone}"
        return f"{self.name} = {self.sql} ({self.type}{where})"
