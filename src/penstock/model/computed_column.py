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

#: Hexadecimal digits of a name.
_DIGITS = 10


@dataclass(frozen=True)
class ComputedColumn:
    """A column, the SQL that gives it, and its type as Spark writes it."""

    name: str
    type: Type
    sql: str
    ddl: str

    @classmethod
    def of(cls, sql: str, type_: Type, ddl: str) -> ComputedColumn:
        """
        >>> ComputedColumn.of("sha2(`k`, 256)", Type.STRING, "STRING").name
        'spark_66b1539060'
        """
        digest = hashlib.sha256(sql.encode()).hexdigest()
        return cls(f"spark_{digest[:_DIGITS]}", type_, sql, ddl)

    @property
    def column(self) -> Column:
        return Column(self.name, self.type)

    def __str__(self) -> str:
        return f"{self.name} = {self.sql} ({self.type})"
