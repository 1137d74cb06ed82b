"""Messages between the driver, the tasks of the exchange and partition groups, and their codec.

A message is a frozen dataclass. Spark carries it as a *record*: the partition group it goes to, the
number of its class, the stream, the task, the place among the messages of the task, its own fields
as JSON, and a payload of bytes.

    message             payload                        goes to
    ControlLine         line of the control stream     every group
    MalformedRows       Arrow IPC, all text            one group
    PunctuationRows     Arrow IPC                      every group
    TaskProgress        top timestamps (SLACK n ROWS)  every group
    FurtherProgress                                    every group
    RowFigures                                         the driver, where there are no groups
    StagedResults       where the files are            one group, or the driver
    QueryResults        Arrow IPC                      one group, or the driver
    PartialAggregates   Arrow IPC                      the group of their keys
    SharedRows          Arrow IPC                      the group of their keys
    RowBlock            Arrow IPC                      the group of their keys

Groups and driver take messages in the order in which tasks made them, whatever Spark does with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import pyarrow as pa

#: Number of the control stream where a stream has its number.
CONTROL = -1


@dataclass(frozen=True)
class Message:
    """A message about a stream, from a task."""

    stream: int
    task: int
    payload: bytes = field(default=b"", kw_only=True)


@dataclass(frozen=True)
class ControlLine(Message):
    """Punctuation from outside and the end of a run."""


@dataclass(frozen=True)
class MalformedRows(Message):
    """Rows that do not fit the stream. They belong to no group; one carries them to the driver."""


@dataclass(frozen=True)
class PunctuationRows(Message):
    """Rows that are punctuation. One group, which `reports`, hands those out that are refused."""

    reports: bool


@dataclass(frozen=True)
class TaskProgress(Message):
    """Rows that a task has read, and the newest timestamp among them; BEGINNING: none."""

    newest: int
    rows: int


@dataclass(frozen=True)
class FurtherProgress(Message):
    """The newest timestamp in another time column of the stream."""

    column: str
    newest: int


@dataclass(frozen=True)
class RowFigures(Message):
    """Late rows that a task has served, the oldest of them, and rows in and out by operator."""

    late: int
    oldest: int
    operators: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class StagedResults(Message):
    """Results that a task has written to files."""

    rows: int


@dataclass(frozen=True)
class QueryResults(Message):
    """Results of a query over single rows, where the task cannot write them."""

    query: str
    rows: int


@dataclass(frozen=True)
class PartialAggregates(Message):
    """Partial aggregates of so many rows, for the aggregate with a number in the program."""

    aggregate: int
    rows: int


@dataclass(frozen=True)
class SharedRows(Message):
    """Rows that are partially aggregated, for other operators that read them as well."""


@dataclass(frozen=True)
class RowBlock(Message):
    """Rows of a stream."""


#: The classes by their number in records.
CLASSES: tuple[type[Message], ...] = (
    ControlLine,
    MalformedRows,
    PunctuationRows,
    TaskProgress,
    FurtherProgress,
    RowFigures,
    StagedResults,
    QueryResults,
    PartialAggregates,
    SharedRows,
    RowBlock,
)
_NUMBERS = {each: number for number, each in enumerate(CLASSES)}
_COMMON = tuple(each.name for each in fields(Message))
_OWN = {
    each: tuple(own.name for own in fields(each) if own.name not in _COMMON) for each in CLASSES
}

SCHEMA = pa.schema(
    [
        ("g", pa.int64()),
        ("kind", pa.int32()),
        ("stream", pa.int32()),
        ("task", pa.int32()),
        ("number", pa.int32()),
        ("fields", pa.string()),
        ("payload", pa.binary()),
    ]
)
DDL = "g BIGINT, kind INT, stream INT, task INT, number INT, fields STRING, payload BINARY"


class Record(NamedTuple):
    """A message as Spark carries it: a row of Spark's has the same names."""

    g: int
    kind: int
    stream: int
    task: int
    number: int
    fields: str
    payload: bytes


def record_batch(groups: Sequence[int], number: int, message: Message) -> pa.RecordBatch:
    """A message to each of these groups; `number` is its place among those of its task."""
    kind = type(message)
    own = json.dumps({name: getattr(message, name) for name in _OWN[kind]})
    values = (_NUMBERS[kind], message.stream, message.task, number, own, message.payload)
    columns = [groups, *([value] * len(groups) for value in values)]
    arrays = [pa.array(each, type=of.type) for each, of in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def control_columns(groups: Iterable[int], line: str) -> tuple[str, ...]:
    """Spark SQL that makes a record for each group of a column of lines."""
    return (
        f"explode(array({', '.join(f'{group}L' for group in groups)})) AS `g`",
        f"{_NUMBERS[ControlLine]} AS `kind`",
        f"{CONTROL} AS `stream`",
        "0 AS `task`",
        "0 AS `number`",
        "'{}' AS `fields`",
        f"encode({line}, 'utf-8') AS `payload`",
    )


def message_of(record: Record) -> Message:
    """The message of a record."""
    own = json.loads(record.fields)
    payload = bytes(record.payload)
    kind = CLASSES[record.kind]
    return kind(record.stream, record.task, payload=payload, **own)


def in_order(records: Iterable[Record]) -> list[Message]:
    """The messages in one order, the same on every replay, however Spark has mixed them."""
    return [message_of(each) for each in sorted(records, key=_place)]


def _place(record: Record) -> tuple[int, int, int, bytes]:
    return record.stream, record.task, record.number, record.payload
