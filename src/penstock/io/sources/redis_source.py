"""FROM redis: the entries of a Redis stream as rows, by their ids.

    OPTIONS (key 'clicks')                  the stream; required
    start '1700000000000-0'                 begin behind this entry instead of with the first
    maxRowsPerTrigger '10000'               entries of a micro-batch on Spark, at the most
    removed 'skip'                          pass over entries that were removed before they were
                                            read, instead of failing

A stream of Redis is a log: an entry never changes, and its id is greater than those before it. So
ids are offsets, and what lies between two of them is the same whenever it is read, as long as
nobody removes it. Redis tells from version 7 on how many entries were ever added and which was
removed last; if some were removed that were still to be read, that is an error.

The fields of an entry are columns by their names, whatever their case; their values are text that
is read as text in files is, and of a BINARY column the bytes. A field that is not there is NULL,
and one that no column is named after is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.errors import HostError, NotExecutable, PenstockError
from penstock.io.address import plain_cause
from penstock.io.files import FileBlock
from penstock.io.redis_address import check_redis, connect, count_in, shown
from penstock.io.sources.source_kind import SourceKind
from penstock.model.streams import Stream
from penstock.model.types import Type

#: What to do about entries that were removed.
PASS_OVER = "begin with a new checkpoint, or accept the loss: OPTIONS (removed 'skip')"
#: Entries of a micro-batch, unless the stream says how many.
MOST = 100_000
#: Entries that are asked for at a time.
PAGE = 10_000

_WHAT = "FROM redis"
_OPTIONS = ("key", "start", "maxrowspertrigger", "removed")

#: An id: when the entry was added, in milliseconds, and its number among those of that time.
EntryId: TypeAlias = tuple[int, int]
Entry: TypeAlias = tuple[EntryId, Mapping[bytes, bytes]]


@dataclass(frozen=True)
class EntryOffset:
    """The last entry that was read, and how many were added to the stream up to it, if known."""

    id: EntryId
    added: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"id": as_text(self.id), "added": self.added}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> EntryOffset:
        return cls(parse_id(said["id"]), said["added"])


@dataclass(frozen=True)
class _Facts:
    """What the server tells of a stream; of one older than Redis 7, not all of it."""

    last: EntryId
    length: int
    first: EntryId | None
    removed: EntryId
    added: int | None


class RedisEntries:
    """The entries of one stream's key."""

    def __init__(self, stream: Stream) -> None:
        given = check_redis(stream.origin, _WHAT, _OPTIONS)
        self._stream = stream
        self._key = given["key"]
        self._most = count_in(given, "maxrowspertrigger", _WHAT) or MOST
        removed = given.get("removed", "fail").lower()
        if removed not in ("skip", "fail"):
            raise NotExecutable(
                f"{_WHAT}: the option `removed` cannot be '{given['removed']}'",
                hint="removed 'skip', or leave it out",
            )
        self._skips = removed == "skip"
        #: Where reading begins: behind this one.
        self.first = EntryOffset(_option_id(given.get("start", "0-0")))
        self._client: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}  # a connection stays where it was made

    def newest(self, behind: EntryOffset) -> EntryOffset:
        """The last entry of those to be read next, behind another: not too many at once."""
        with self._asking():
            facts = self._facts()
            if facts is None or facts.last == behind.id:
                return behind
            self._check_whole(behind, facts)
            if facts.last < behind.id:
                raise HostError(
                    f"stream `{self._stream.name}`: {self._place} ends with the entry "
                    f"{as_text(facts.last)}, and {as_text(behind.id)} was read already",
                    hint="it was deleted, or the server lost entries: begin with a new checkpoint",
                )
            if facts.length <= self._most:
                return EntryOffset(facts.last, facts.added)
            page = self._page(behind.id, "+", self._most)
            if len(page) < self._most:
                return EntryOffset(facts.last, facts.added)
            before = behind.added
            if before is None and behind.id == (0, 0) and facts.added is not None:
                before = facts.added - facts.length  # what is gone was before all there is
            return EntryOffset(page[-1][0], None if before is None else before + len(page))

    def last(self) -> EntryId:
        """The last entry of all that are there."""
        with self._asking():
            facts = self._facts()
        return self.first.id if facts is None else facts.last

    def check_whole(self, behind: EntryOffset) -> None:
        """Raise if entries behind this one are gone; they are to be read."""
        with self._asking():
            facts = self._facts()
            if facts is not None:
                self._check_whole(behind, facts)

    def _check_whole(self, behind: EntryOffset, facts: _Facts) -> None:
        if self._skips or behind == self.first:
            return
        lost = facts.removed > behind.id  # by XDEL
        is_trimmed = facts.first is None or facts.first > behind.id
        if is_trimmed and None not in (behind.added, facts.added):
            # All that are left came behind it. Are these all that were added since?
            lost = lost or facts.length < int(facts.added or 0) - int(behind.added or 0)
        if lost:
            raise HostError(
                f"stream `{self._stream.name}`: entries of {self._place} behind "
                f"{as_text(behind.id)} were removed before they were read",
                hint=PASS_OVER,
            )

    def pages(self, behind: EntryId, to: EntryId, size: int = PAGE) -> Iterator[list[Entry]]:
        """The entries behind one up to another, so many at a time."""
        while behind < to:
            with self._asking():
                page = self._page(behind, as_text(to), size)
            if not page:
                return
            yield page
            behind = page[-1][0]

    def _page(self, behind: EntryId, to: str, size: int) -> list[Entry]:
        found = self._connected().xrange(self._key, as_text(_next(behind)), to, count=size)
        return [(parse_id(name), fields) for name, fields in found]

    def _facts(self) -> _Facts | None:
        """What there is; None: no such key, so far."""
        client = self._connected()
        if not client.exists(self._key):
            return None
        told = {_name(name): value for name, value in client.xinfo_stream(self._key).items()}
        first = told["first-entry"]
        return _Facts(
            last=parse_id(told["last-generated-id"]),
            length=int(told["length"]),
            first=None if first is None else parse_id(first[0]),
            removed=parse_id(told.get("max-deleted-entry-id", "0-0")),
            added=told.get("entries-added"),
        )

    @property
    def _place(self) -> str:
        return f"redis `{shown(self._stream.origin)}`"

    def _connected(self) -> Any:
        if self._client is None:
            self._client = connect(self._stream.origin, _WHAT)
        return self._client

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except PenstockError:
            raise
        except Exception as cause:  # what it raises is the package's own choice
            said, is_plain = plain_cause(cause, self._stream.origin)
            raise HostError(
                f"stream `{self._stream.name}`: cannot read from {self._place}: {said}",
                hint="with a checkpoint, a restart continues behind the last entry that was read",
            ) from (cause if is_plain else None)


class RedisSource(SourceKind):
    """Entries that are there now in this process; on Spark those between two ids, in one task."""

    is_local = True

    def blocks(self, stream: Stream, rows: int) -> Iterator[FileBlock]:
        entries = RedisEntries(stream)
        pages = entries.pages(entries.first.id, entries.last(), min(rows, PAGE))
        return (block_of(stream, page) for page in pages)

    def row_log(self, stream: Stream) -> RedisLog:
        return RedisLog(stream)


class RedisLog:
    """An offset is the id of the last entry that was read."""

    columns = None

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._entries = RedisEntries(stream)

    def initial_offset(self) -> dict[str, Any]:
        return self._entries.first.to_json()

    def latest_offset(self, start: Mapping[str, Any]) -> dict[str, Any]:
        return self._entries.newest(EntryOffset.from_json(start)).to_json()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[tuple[str, str]]:
        self._entries.check_whole(EntryOffset.from_json(start))  # a batch that is repeated, too
        return [(start["id"], end["id"])] if start != end else []

    def read(self, partition: tuple[str, str]) -> Iterator[FileBlock]:
        behind, to = map(parse_id, partition)
        for page in self._entries.pages(behind, to):
            yield block_of(self._stream, page)


def block_of(stream: Stream, entries: Sequence[Entry]) -> FileBlock:
    """Entries as rows; those whose values are no text come along as text that shows them."""
    columns = {column.name.lower(): column for column in stream.arriving}
    rows, rejected = [], []
    for number, fields in entries:
        row: dict[str, Any] = dict.fromkeys(column.name for column in stream.arriving)
        try:
            for name, value in fields.items():
                column = columns.get(name.decode(errors="replace").lower())
                if column is not None:
                    row[column.name] = value if column.type is Type.BINARY else value.decode()
        except UnicodeDecodeError:
            rejected.append(f"{as_text(number)} {dict(fields)!r}")
        else:
            rows.append(row)
    return FileBlock(rows, tuple(rejected))


def parse_id(text: bytes | str) -> EntryId:
    """An id by its text.

    >>> parse_id("1700000000000-2"), parse_id(b"17")
    ((1700000000000, 2), (17, 0))
    """
    time, _, number = _name(text).partition("-")
    return int(time), int(number or 0)


def as_text(entry: EntryId) -> str:
    return f"{entry[0]}-{entry[1]}"


def _next(entry: EntryId) -> EntryId:
    """The least id behind one."""
    return entry[0], entry[1] + 1


def _name(text: bytes | str) -> str:
    return text.decode() if isinstance(text, bytes) else text


def _option_id(text: str) -> EntryId:
    try:
        return parse_id(text)
    except ValueError:
        raise NotExecutable(
            f"{_WHAT}: the option `start` cannot be '{text}', which is no id of an entry",
            hint="start '1700000000000-0', or leave it out to begin with the first",
        ) from None
