"""Costs are kept for a machine, and never decide a test."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.home import home as home_of
from penstock.optimizer.cost.costs import REFERENCE, are_kept, check_can_keep, costs, keep


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    monkeypatch.delenv("PENSTOCK_COSTS", raising=False)
    return tmp_path


def test_without_a_measurement_they_are_those_of_a_reference_machine() -> None:
    assert costs() is REFERENCE


def test_what_was_measured_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = {way: [2 * cost for cost in each] for way, each in REFERENCE.units.items()}
    keep(doubled)
    assert costs().of("wid", [1] * 7) == pytest.approx(2 * REFERENCE.of("wid", [1] * 7))
    assert costs().source == "measured on this machine"
    monkeypatch.setenv("PENSTOCK_COSTS", "reference")
    assert costs() is REFERENCE


def test_they_lie_where_set_up_has_made_the_environment(tmp_path: Path) -> None:
    env = tmp_path / "home" / "env"
    env.mkdir(parents=True)
    assert home_of({"XDG_CACHE_HOME": "/cache"}, env) == Path("/cache/penstock")
    (env / "made-with").touch()
    assert home_of({"XDG_CACHE_HOME": "/cache"}, env) == tmp_path / "home"
    assert home_of({"PENSTOCK_HOME": "/srv"}, env) == Path("/srv")


def test_whether_they_are_kept_is_known() -> None:
    assert not are_kept()
    keep(REFERENCE.units)
    assert are_kept()


def test_where_they_cannot_be_kept_somebody_can_be_told_before_measuring(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_can_keep()
    assert list(home.iterdir()) == []
    (home / "file").touch()
    monkeypatch.setenv("PENSTOCK_HOME", str(home / "file"))
    for attempt in (check_can_keep, lambda: keep(REFERENCE.units)):
        with pytest.raises(HostError, match="file: File exists") as refused:
            attempt()
        assert "PENSTOCK_HOME" in str(refused.value)


ODD: list[object] = [
    [math.nan] * 7,
    [math.inf] * 7,
    [-1.0] + [1.0] * 6,
    [1e308] * 7,
    [0] * 7,
    [True] * 7,
    ["1"] * 7,
    "1234567",
    [1.0] * 6,
    None,
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_file_with_odd_numbers_counts_for_nothing(odd: object) -> None:
    keep(REFERENCE.units).write_text(json.dumps({**REFERENCE.units, "wid": odd}))
    assert costs() is REFERENCE


@pytest.mark.parametrize("text", ["", "[]", "7", '{"wid": [1]}', '{"wid": "x"}'])
def test_a_file_that_cannot_be_read_counts_for_nothing(text: str) -> None:
    keep(REFERENCE.units).write_text(text)
    assert costs() is REFERENCE
