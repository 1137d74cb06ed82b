"""Merge against sorting: whatever the blocks and bounds, the output is the ordered whole."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.block import Block
from penstock.kernel.buffer import Buffer
from penstock.kernel.operators.merge import Merge
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from tests.engine.draw import examples

ordered = st.lists(st.integers(-20, 20), max_size=25).map(sorted)


@examples(100)
@given(
    inputs=st.lists(ordered, min_size=2, max_size=3),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    limit=st.sampled_from([1, 3, None]),
    late_bounds=st.booleans(),
    data=st.data(),
)
def test_the_output_is_ordered_and_complete(
    inputs: list[list[int]],
    sizes: list[int],
    limit: int | None,
    late_bounds: bool,
    data: st.DataObject,
) -> None:
    merge = Merge(len(inputs), "ts")
    buffers = [Buffer() for _ in inputs]
    cursors = [buffer.reader() for buffer in buffers]
    out = Buffer()
    sink = out.reader()
    pending = [list(values) for values in inputs]
    turn = 0
    while any(pending):
        port = data.draw(st.sampled_from([p for p, values in enumerate(pending) if values]))
        size = sizes[turn % len(sizes)]
        turn += 1
        block, pending[port] = pending[port][:size], pending[port][size:]
        rows = pl.DataFrame({"ts": block, "port": [port] * len(block)})
        buffers[port].batch(Block(rows))
        if not late_bounds:
            buffers[port].punctuation(Punctuation("ts", block[-1]))
        while merge.more(cursors):
            merge.step(cursors, out, limit)
    for buffer in buffers:
        buffer.punctuation(Punctuation("ts", END))
    while merge.more(cursors):
        merge.step(cursors, out, limit)

    times: list[int] = []
    bound = None
    while not sink.empty:
        item = sink.take(1)
        if isinstance(item, Punctuation):
            assert bound is None or item.bound > bound
            bound = item.bound
        else:
            [row] = item.rows.to_dicts()
            assert bound is None or row["ts"] >= bound
            times.append(row["ts"])
    assert times == sorted(value for values in inputs for value in values)
    assert bound == END
