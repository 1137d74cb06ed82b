"""Exchange: rows of a Spark partition become one binary block per partition group.

Spark computes each row's group (`penstock_group`, a stable hash of the partitioning key) before
rows cross to Python; here they are only cut apart and packed as Arrow IPC. At its end every task
sends a *progress* line to every group, with the newest timestamp it saw, so that each group learns
in the same micro-batch how far the whole stream has come, even if none of its own keys was there.

Lines of the exchange have one shape, whatever the stream:

    column   a block                        progress
    g        the group's key                the group's key
    stream   number of the stream           number of the stream
    task     who packed it                  who sends it
    seq      number of the block            -1
    newest   BEGINNING                      newest timestamp, in ticks; BEGINNING: none
    rows     rows in it                     rows the task saw
    payload  Arrow IPC                      NULL

(task, seq) puts blocks into one order, the same on every replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl
import pyarrow as pa

from penstock.kernel.state import to_ipc
from penstock.model.timestamps import BEGINNING, END

GROUP = "penstock_group"

SCHEMA = pa.schema(
    [
        ("g", pa.int64()),
        ("stream", pa.int32()),
        ("task", pa.int32()),
        ("seq", pa.int32()),
        ("newest", pa.int64()),
        ("rows", pa.int64()),
        ("payload", pa.binary()),
    ]
)
DDL = "g BIGINT, stream INT, task INT, seq INT, newest BIGINT, rows BIGINT, payload BINARY"

Batches = Iterator[pa.RecordBatch]


def packer(stream: int, on: str | None, groups: Sequence[int]) -> Callable[[Batches], Batches]:
    """The function that `mapInArrow` runs over each partition of a stream."""

    def pack(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        newest = BEGINNING
        count = seq = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            rows = pl.from_arrow(pa.Table.from_batches([batch]))
            assert isinstance(rows, pl.DataFrame)
            if on is not None:
                newest = max(newest, _newest(rows.get_column(on)))
            count += rows.height
            for (group,), part in rows.partition_by(GROUP, include_key=False, as_dict=True).items():
                yield _line(group, stream, task, seq, part)
                seq += 1
        if count:
            yield pa.RecordBatch.from_pylist(
                [
                    {
                        "g": g,
                        "stream": stream,
                        "task": task,
                        "seq": -1,
                        "newest": newest,
                        "rows": count,
                    }
                    for g in groups
                ],
                schema=SCHEMA,
            )

    return pack


def _newest(times: pl.Series) -> int:
    """The newest of the times; one beyond all bounds is no time, and promises nothing."""
    high = times.max()
    if isinstance(high, int) and high >= END:
        high = times.filter(times < END).max()
    return high if isinstance(high, int) else BEGINNING


def _line(group: int, stream: int, task: int, seq: int, rows: pl.DataFrame) -> pa.RecordBatch:
    values = (group, stream, task, seq, BEGINNING, rows.height, to_ipc(rows))
    arrays = [pa.array([v], type=f.type) for v, f in zip(values, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
