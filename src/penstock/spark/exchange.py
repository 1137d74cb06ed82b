"""Exchange: rows of a Spark partition become one binary block per partition group.

Spark computes each row's group (`penstock_group`, a stable hash of the partitioning key) before
rows cross to Python; here they are only cut apart and packed as Arrow IPC. At its end every task
sends a *progress* line to every group, with the newest timestamp it saw, so that each group learns
in the same micro-batch how far the whole stream has come, even if none of its own keys was there.

Lines of the exchange have one shape, whatever the stream:

    column   a block                        progress                        malformed rows
    g        the group's key                the group's key                 some group's key
    stream   number of the stream           number of the stream            number of the stream
    task     who packed it                  who sends it                    who packed them
    seq      number of the block            PROGRESS                        MALFORMED_ROWS
    newest   BEGINNING                      newest timestamp, in ticks;     BEGINNING
                                            BEGINNING: none
    rows     rows in it                     rows the task saw               rows in it
    payload  Arrow IPC                      NULL                            Arrow IPC, all text

(task, seq) puts blocks into one order, the same on every replay. Malformed rows were recognised by
`fitting`; they belong to no group, and one carries them to where they are handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl
import pyarrow as pa

from penstock.kernel.state import to_ipc
from penstock.model.timestamps import BEGINNING, END
from penstock.spark.fitting import MALFORMED, texts

GROUP = "penstock_group"
#: Where a block has its number.
PROGRESS, MALFORMED_ROWS = -1, -2

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
            count += rows.height
            if MALFORMED in rows.columns:
                rows, bad = _apart(rows)
                if bad.height:
                    yield _line(groups[task % len(groups)], stream, task, MALFORMED_ROWS, bad)
            if on is not None:
                newest = max(newest, _newest(rows.get_column(on)))
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
                        "seq": PROGRESS,
                        "newest": newest,
                        "rows": count,
                    }
                    for g in groups
                ],
                schema=SCHEMA,
            )

    return pack


def _apart(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that fit, and the malformed ones as text."""
    marks = rows.get_column(MALFORMED)
    names = [name for name in rows.columns if name not in (MALFORMED, GROUP)]
    good = rows.drop(MALFORMED)
    if marks.null_count() == rows.height:
        return good, texts((), names)
    return good.filter(marks.is_null()), texts(marks.drop_nulls(), names)


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
