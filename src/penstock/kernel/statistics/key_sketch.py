"""KeySketch: how often each key comes, folded into a few numbers, to tell sizes of joins by.

A key goes to one of 4096 counters, by 12 bits of its hash, and counts there as +1 or -1, by another
bit. Of two sketches, the products of counters sum up to the number of pairs with equal keys: pairs
of equal keys count 1, others that share a counter cancel each other out, for they count +1 as often
as -1. What is left of those is the error, of about

    sqrt(equal pairs of the one with itself * equal pairs of the other with itself / 4096)

so frequent keys are told well, and rare ones as soon as there are many. Sketches of parts of a
stream add up to that of the whole: of groups that see other keys each, for example.
This is the sketch of Cormode and Garofalakis (Fast-AGMS) with one row of counters: as exact as
several rows with as many counters in all, and it costs one pass over the hashes.
"""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.kernel.joins.run import Codes

Counters: TypeAlias = NDArray[np.int64]

BITS = 12
WIDTH = 1 << BITS
#: How a sketch is written: small numbers nearly always, in the order of bytes of all machines.
_WRITTEN = (np.dtype("<i2"), np.dtype("<i8"))


def _nothing() -> Counters:
    return np.zeros(WIDTH, np.int64)


@dataclass(eq=False)
class KeySketch:
    """The keys of some rows."""

    counters: Counters = field(default_factory=_nothing)

    def add(self, hashes: Codes, times: int = 1) -> None:
        """Count rows with these keys, by hashes of 64 bits, each as if it came so many times."""
        places = (hashes >> np.uint64(64 - BITS - 1)).astype(np.int64)
        counts = np.bincount(places, minlength=2 * WIDTH)
        # The last of the bits is the sign.
        self.counters += (counts[0::2] - counts[1::2]) * times

    def __add__(self, other: KeySketch) -> KeySketch:
        """The sketch of the rows of both."""
        return KeySketch(self.counters + other.counters)

    def to_text(self) -> str:
        narrow, wide = _WRITTEN
        fits = int(np.abs(self.counters).max()) <= np.iinfo(narrow).max
        packed = zlib.compress(self.counters.astype(narrow if fits else wide).tobytes(), 1)
        return base64.b64encode(packed).decode()

    @classmethod
    def from_text(cls, text: str) -> KeySketch:
        data = zlib.decompress(base64.b64decode(text))
        of = next(of for of in _WRITTEN if of.itemsize * WIDTH == len(data))
        return cls(np.frombuffer(data, of).astype(np.int64))


def mixed(*columns: NDArray[np.int64]) -> Codes:
    """Hashes of whole numbers (SplitMix64): of few, in less time than it takes to ask Polars.

    >>> (mixed(np.array([1, 2])) == mixed(np.array([1, 1]))).tolist()
    [True, False]
    >>> (mixed(np.array([1, 2]), np.array([2, 1])) == mixed(np.array([1, 2]))).tolist()
    [False, False]
    """
    found: Codes | None = None
    for column in columns:
        numbers = column.view(np.uint64)
        found = _mixed(numbers if found is None else found ^ numbers)
    assert found is not None, "keys without columns"
    return found


def _mixed(numbers: Codes) -> Codes:
    found: Codes = numbers + np.uint64(0x9E3779B97F4A7C15)
    found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found = found ^ (found >> np.uint64(31))
    return found


def equal_pairs(one: KeySketch, other: KeySketch) -> tuple[float, float]:
    """How many pairs of a row of each have equal keys, and the standard error of that."""
    a, b = one.counters.astype(np.float64), other.counters.astype(np.float64)
    size = float(a @ b)
    return size, math.sqrt((float(a @ a) * float(b @ b) + size * size) / WIDTH)
