"""INTO redis: a Redis stream, to which every row is added as an entry.

    OPTIONS (key 'name')                the stream; required
    maxlen '1000000'                    so many entries are kept, or a few more; else all

A batch is one MULTI: its entries, and its number under the key `NAME:penstock:APPLICATION`. A
batch that is noted there is not written again. The fields of an entry are the columns, as text
that `FROM redis` reads: times in UTC, the bytes of BINARY as they are, and JSON of what has parts.
NULL is left out; a row of nothing but NULLs has one field without a name, because Redis takes no
entry without fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from penstock.errors import HostError
from penstock.io.json_text import json_text, no_json
from penstock.io.redis_address import check_redis, connect, count_in, key_of, shown
from penstock.io.sinks.sink_kind import SinkKind, Target, writing
from penstock.io.sinks.tables import check_types, text_of
from penstock.model.schema import Schema
from penstock.model.streams import Place, Sink

_WHAT = "INTO redis"
_OPTIONS = ("key", "maxlen")


class RedisStreams(SinkKind):
    """`INTO redis 'uri' OPTIONS (key 'name')`."""

    def check(self, sink: Sink, schema: Schema) -> None:
        count_in(check_redis(sink, _WHAT, _OPTIONS), "maxlen", _WHAT)
        check_types(schema, _WHAT, lambda of: not of.is_nested or no_json(of) is None)

    def place(self, sink: Place) -> str:
        return shown(sink)

    def open(self, target: Target) -> RedisWriter:
        return RedisWriter(target, self.place(target.sink))


class RedisWriter:
    """Adds batches to one stream."""

    def __init__(self, target: Target, place: str) -> None:
        given = check_redis(target.sink, _WHAT, _OPTIONS)
        self._target = target
        self._place = place
        self._key = key_of(target.sink)
        self._noted = f"{self._key}:penstock:{target.application}"
        self._most = count_in(given, "maxlen", _WHAT)
        with writing(target, place):
            self._client: Any = connect(target.sink, _WHAT)
            self._check_type(self._client)

    def _check_type(self, client: Any) -> None:
        """Refuse a key that is something else: MULTI would go on behind what fails in it."""
        found = client.type(self._key).decode()
        if found not in ("none", "stream"):
            raise HostError(
                f"{self._target.whose}: cannot write into redis `{self._place}`: the key is a "
                f"{found}, not a stream",
                hint="name another key",
            )

    def write(self, batch: int, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        with writing(self._target, self._place):
            while not self._has_written(batch, rows):
                pass  # another process came between; what it has written shows next time

    def _has_written(self, batch: int, rows: pl.DataFrame) -> bool:
        """Write a batch, unless it is there; False: somebody else has noted one meanwhile."""
        from redis import WatchError

        with self._client.pipeline(transaction=True) as together:
            together.watch(self._noted)
            last = together.get(self._noted)
            if last is not None and int(last) >= batch:
                return True
            self._check_type(together)
            together.multi()
            for fields in entries_of(rows):
                together.xadd(self._key, fields, maxlen=self._most, approximate=True)
            together.set(self._noted, batch)
            try:
                together.execute()
            except WatchError:
                return False
        return True

    def close(self) -> None:
        self._client.close()


def entries_of(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows as the fields of entries."""
    nested = [json_text(column) for column in rows.get_columns() if column.dtype.is_nested()]
    rows = rows.with_columns(nested)
    texts = rows.select(text_of(name, of) for name, of in rows.schema.items())
    for row in texts.iter_rows(named=True):
        yield {name: value for name, value in row.items() if value is not None} or {"": ""}
