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


def test_costs_of_windows_keep_the_proportions_of_the_reference_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibrate, "_seconds", lambda sample, aggregation: 1.0)
    monkeypatch.setattr(calibrate, "join_samples", list)
    monkeypatch.setattr(calibrate, "calibrated_join", lambda runs: [1.0] * 5)
    found = calibrate.calibrated()
    assert found.pop("join") == [1.0] * 5
    for way in found:
        reference = REFERENCE.units[way]
        factors = {cost / of for cost, of in zip(found[way], reference, strict=True) if of}
        assert max(factors) == pytest.approx(min(factors))


def test_a_sample_runs_through_both_algorithms() -> None:
    sample = replace(calibrate.SAMPLES[0], rows=600)
    assert all(calibrate._seconds(sample, name) >= 0 for name in ("wid", "paned"))


def test_each_cost_of_joins_is_measured_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = (2500.0, 0.2, 0.08, 0.1, 700.0, 0.3, 0.04)

    def seconds(sample: calibrate.JoinSample) -> float:
        return sum(cost * work for cost, work in zip(machine, sample.work, strict=True)) / 1e6

    monkeypatch.setattr(calibrate, "seconds_of_join", seconds)
    found = calibrate.calibrated_join([calibrate.join_samples()])
    assert found[:-1] == pytest.approx(machine[:-1], rel=0.1)
    assert found[-1] == pytest.approx(machine[-1], rel=0.3)


@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("in_twos", [False, True])
def test_a_sample_of_joins_runs(streams: int, chain: bool, in_twos: bool) -> None:
    sample = calibrate.JoinSample(
        10, rows=600, window=20, block=200, streams=streams, chain=chain, in_twos=in_twos
    )
    assert calibrate.seconds_of_join(sample) >= 0
