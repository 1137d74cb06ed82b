"""Whether a figure grows over a run: `benchmarks/_flatness.py`, and what processes take."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks._flatness import flatness, slope
from benchmarks._processes import family, process_of


def test_what_stays_the_same_is_flat_whatever_the_warm_up_was() -> None:
    samples = [(at, 500.0 if at < 100 else 80.0) for at in range(0, 400, 10)]
    found = flatness(samples, warm_up=100)
    assert (found.first, found.last, found.slope, found.ratio) == (80, 80, 0, 1)


def test_what_grows_has_a_slope_and_a_ratio_below_one() -> None:
    found = flatness([(at, 100 + at) for at in range(0, 301, 10)], warm_up=0)
    assert (found.first, found.last) == (150, 350)
    assert found.slope == pytest.approx(3600)
    assert found.ratio == pytest.approx(150 / 350)


def test_of_what_rises_and_falls_the_highest_counts_if_asked() -> None:
    teeth = [(at, at % 60) for at in range(0, 361, 5)]
    assert flatness(teeth, 0, max).ratio == 1
    assert abs(slope(teeth)) < 0.1


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="2 samples after the warm-up of 10 s: too few"):
        flatness([(0, 1), (10, 1), (20, 1)], warm_up=10)


def test_nothing_is_flat() -> None:
    assert flatness([(at, 0) for at in range(9)], warm_up=0).ratio == 1


def test_a_process_has_memory_threads_and_children() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = family()
        [driver] = found["driver"]
        assert (driver.id, driver.threads >= 1, driver.bytes > 1 << 20) == (os.getpid(), True, True)
        assert child.pid in {process.id for process in found["workers"]}
        child.kill()
    assert process_of(child.pid) is None
