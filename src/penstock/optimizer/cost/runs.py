"""Runs: how much a join's store holds, where rows come in blocks and go in whole runs.

`kernel/joins/store.py`: a block is a run; a run goes when its newest row can go. Of eight blocks
and more several are merged, which leaves about five runs, however many blocks there are. A merged
run stays until its newest row can go, so rows stay a little longer.

Blocks are also why results of joins are sometimes not stored at all: those that come with a block
whose other input is ahead already, and whose time lies so far back that nobody can need them.

These shares were measured on the store itself, with windows of 1 to 64 blocks.
"""

from __future__ import annotations

import math

from penstock.kernel.segments import FEW

#: From so many blocks on they are merged …
MERGED = 8
#: … to about so many runs.
RUNS = 5.0
#: What merged runs hold of what single ones would.
LONGER = 1.15
#: Blocks that a window is longer than a whole number of them by less than this are none.
_LITTLE = 1e-3


def runs_of(blocks: float) -> float:
    """How many runs there are of so many blocks that have not gone.

    >>> runs_of(0.3), runs_of(4), runs_of(100)
    (1.0, 4, 5.0)
    """
    return max(1.0, math.ceil(blocks - _LITTLE)) if blocks < MERGED else RUNS


def merges_of(blocks: float) -> float:
    """How often a row is merged before it goes.

    >>> merges_of(4), merges_of(16), merges_of(64)
    (0.0, 1.0, 2.0)
    """
    return math.log(blocks / FEW, FEW) if blocks >= MERGED else 0.0


def stored_for(stays: float, blocks: float, inputs: int) -> float:
    """For how long rows are stored on average, where they stay so many seconds, come in so many
    blocks a second, and are results of joining `inputs`.

    >>> stored_for(4.0, 1.0, inputs=1), stored_for(64.0, 1.0, inputs=1)
    (4.0, 73.6)
    """
    step = inputs / blocks  # from one block of an input to its next
    steps = math.ceil(stays / step - _LITTLE)
    whole = steps * step if steps * inputs < MERGED else stays * LONGER
    # The other input is ahead in half of all cases, by half a block; in one of `inputs` cases the
    # row whose time counts has just come. Half as much again goes when the block is halved.
    ahead = (inputs - 1) / inputs * step * 3 / 8 / stays if stays else 0.0
    return whole * max(0.5, 1.0 - ahead)
