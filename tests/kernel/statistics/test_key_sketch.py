"""Sketches of keys: sizes of joins against exact counts."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from penstock.kernel.statistics.key_sketch import KeySketch, equal_pairs, mixed

Rows = np.ndarray


def sketch(keys: Rows) -> KeySketch:
    found = KeySketch()
    found.add(mixed(keys.astype(np.int64)))
    return found


def exact(one: Rows, other: Rows) -> int:
    a, b = Counter(one.tolist()), Counter(other.tolist())
    return sum(count * b[key] for key, count in a.items())


def zipf(random: np.random.Generator, rows: int) -> Rows:
    return random.zipf(1.3, rows) % 1_000_000


STREAMS: dict[str, Callable[[np.random.Generator], tuple[Rows, Rows]]] = {
    "uniform": lambda r: (r.integers(0, 500, 5000), r.integers(0, 500, 3000)),
    "skewed": lambda r: (zipf(r, 5000), zipf(r, 5000)),
    "one of them skewed": lambda r: (zipf(r, 5000), r.integers(0, 100, 5000)),
    "each key once": lambda r: (np.arange(20_000), np.arange(10_000, 30_000)),
    "all equal": lambda r: (np.zeros(1000), np.zeros(10)),
    "nothing in common": lambda r: (r.integers(0, 500, 5000), r.integers(500, 900, 5000)),
    "tiny": lambda r: (np.array([1, 2, 3]), np.array([3, 3])),
    "empty": lambda r: (np.empty(0), r.integers(0, 9, 100)),
}


@pytest.mark.parametrize("streams", STREAMS)
def test_counts_pairs_of_equal_keys_within_its_error(streams: str) -> None:
    for seed in range(5):
        one, other = STREAMS[streams](np.random.default_rng(seed))
        found, error = equal_pairs(sketch(one), sketch(other))
        assert abs(found - exact(one, other)) <= 4 * error


def test_sketches_of_parts_add_up() -> None:
    keys = np.random.default_rng(1).integers(0, 100, 1000)
    parts = sketch(keys[:300]) + sketch(keys[300:])
    assert (parts.counters == sketch(keys).counters).all()


@pytest.mark.parametrize("rows", [0, 1, 1000, 100_000])
def test_is_written_and_read(rows: int) -> None:
    found = sketch(np.zeros(rows))
    assert (KeySketch.from_text(found.to_text()).counters == found.counters).all()


def test_is_small_when_written() -> None:
    text = sketch(np.random.default_rng(1).integers(0, 10_000, 10_000)).to_text()
    assert len(text) < 4000
