"""Overlay: which ranges lie on which wids must not change by cutting."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.aggregates.keys import Codes
from penstock.kernel.aggregation.wid.overlay import overlay

ranges = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-20, 20), st.integers(1, 12)), min_size=1, max_size=12
)


def lay(cases, scale=1, offset=0):
    group, start, length = (np.array(part, dtype=np.int64) for part in zip(*cases, strict=True))
    start = start * scale + offset
    stop = start + length * scale
    return group, start, stop, overlay(Codes(group, 4), start, stop)


@given(ranges)
def test_every_wid_has_the_same_ranges_on_it_as_before(cases):
    group, start, stop, cut = lay(cases)
    after: dict = {}
    for source, piece in zip(cut.source, cut.pieces.ids, strict=True):
        for wid in range(cut.start[piece], cut.stop[piece]):
            after.setdefault((group[source], wid), []).append(source)
    before: dict = {}
    for source in range(len(group)):
        for wid in range(start[source], stop[source]):
            before.setdefault((group[source], wid), []).append(source)
    assert {key: sorted(on) for key, on in after.items()} == before


@given(ranges)
def test_pieces_are_as_few_as_the_ends_allow(cases):
    group, _, _, cut = lay(cases)
    assert cut.pieces.size <= 2 * len(group) - 1
    assert set(cut.pieces.ids.tolist()) == set(range(cut.pieces.size))


@given(ranges)
def test_a_piece_knows_its_group(cases):
    group, _, _, cut = lay(cases)
    for source, piece in zip(cut.source, cut.pieces.ids, strict=True):
        assert group[cut.relative[piece]] == group[source]


@given(ranges)
def test_ranges_may_be_long_and_far_apart(cases):
    *_, near = lay(cases)
    *_, far = lay(cases, scale=10**15, offset=-(10**16))
    assert far.source.tolist() == near.source.tolist()
    assert far.start.tolist() == [wid * 10**15 - 10**16 for wid in near.start.tolist()]
    assert far.stop.tolist() == [wid * 10**15 - 10**16 for wid in near.stop.tolist()]
