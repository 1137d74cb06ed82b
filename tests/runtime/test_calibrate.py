"""Costs are measured for every way to compute windows, by samples that take it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.optimizer.cost.aggregation import way_of_panes
from penstock.optimizer.cost.costs import REFERENCE
from penstock.runtime import calibrate


def test_there_are_samples_of_every_way() -> None:
    ways = {
        way_of_panes(each.window, [each.aggregate], each.load.rows_per_slide, each.groups)
        for each in calibrate.SAMPLES
    }
    assert {"wid", "join", *ways} == set(REFERENCE.units)


def test_costs_keep_the_proportions_of_the_reference_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibrate, "_seconds", lambda sample, aggregation: 1.0)
    monkeypatch.setattr(calibrate, "_seconds_of_join", lambda sample: 1.0)
    found = calibrate.calibrated()
    for way, reference in REFERENCE.units.items():
        factors = {cost / of for cost, of in zip(found[way], reference, strict=True) if of}
        assert max(factors) == pytest.approx(min(factors))


def test_a_sample_runs_through_both_algorithms() -> None:
    sample = replace(calibrate.SAMPLES[0], rows=600)
    assert all(calibrate._seconds(sample, name) >= 0 for name in ("wid", "paned"))


def test_a_sample_of_joins_runs() -> None:
    assert calibrate._seconds_of_join(calibrate.JoinSample(keys=10, rows=600, window=20)) >= 0
