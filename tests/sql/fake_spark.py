"""Functions of a host that knows a few of Spark's, for tests without Spark."""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.errors import UnknownName
from penstock.model.host_functions import HostType
from penstock.model.schema import Column
from penstock.model.types import ArrayType, Type

#: What outermost functions give.
_GIVES = {
    "sha2": Type.STRING,
    "soundex": Type.STRING,
    "get_json_object": Type.STRING,
    "crc32": Type.BIGINT,
    "bit_count": Type.INT,
    "size": Type.INT,
    "array_contains": Type.BOOLEAN,
    "date_format": Type.STRING,
    "overlay": Type.STRING,
    "trim": Type.STRING,
}


class FakeSpark:
    """Knows types by the name of the outermost function; `asked` is what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def type_of(self, sql: str, columns: Sequence[Column], zone: str) -> HostType:
        self.asked.append(sql)
        name = re.match(r"\w*", sql)
        found = name[0].lower() if name else ""
        if sql.endswith("]"):
            return HostType("STRING", Type.STRING)
        if found in ("split", "array", "transform"):
            return HostType("array<string>", ArrayType(Type.STRING))
        if found == "parse_json":
            return HostType("variant", None)
        if found not in _GIVES:
            raise UnknownName(f"neither we nor Spark have a function of `{sql}`")
        return HostType(str(_GIVES[found]), _GIVES[found])
