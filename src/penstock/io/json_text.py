"""Values with parts as JSON text, for files and stores that have nothing else for them.

Structs and maps are objects, arrays are arrays. Times are text as in files of JSON, a DECIMAL is
text with all its digits, and what is not a number is null.
"""

from __future__ import annotations

import polars as pl

from penstock.model.types import MapType, Type


def no_json(of: Type) -> str | None:
    """Why values of a type cannot be JSON; None: they can.

    >>> no_json(Type("ARRAY<BINARY>")), no_json(Type("MAP<INT, STRING>"))
    ('JSON has no bytes', 'keys in JSON are text')
    """
    if of is Type.BINARY:
        return "JSON has no bytes"
    if isinstance(of, MapType) and of.key is not Type.STRING:
        return "keys in JSON are text"
    return next((why for part in of.parts if (why := no_json(part)) is not None), None)


def json_text(values: pl.Series) -> pl.Series:
    """Values as JSON text; NULL stays NULL.

    >>> json_text(pl.Series([{"a": [1, None]}, None])).to_list()
    ['{"a":[1,null]}', None]
    """
    wrapped = pl.select(pl.struct(values.alias("x")).struct.json_encode()).to_series()
    # {"x":…}: only a struct is encoded.
    inner = wrapped.str.slice(5).str.head(-1).alias(values.name)
    return inner.set(values.is_null(), None)
