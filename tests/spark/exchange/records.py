"""What a packer sends, as messages."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from penstock.kernel.state import from_ipc
from penstock.spark.exchange.messages import SCHEMA, Message, Record, message_of


def records_in(batches: Iterable[pa.RecordBatch]) -> list[Record]:
    """The records of a packer, in their order."""
    found = list(batches)
    assert all(batch.schema == SCHEMA for batch in found)
    return [Record(**each) for batch in found for each in batch.to_pylist()]


def addressed(batches: Iterable[pa.RecordBatch]) -> list[tuple[int, Message]]:
    """The messages of a packer, each with its group."""
    return [(record.g, message_of(record)) for record in records_in(batches)]


def messages_in(batches: Iterable[pa.RecordBatch]) -> list[Message]:
    return [message for _, message in addressed(batches)]


def height(message: Message) -> int:
    """The rows in the payload of a message."""
    return from_ipc(message.payload).height
