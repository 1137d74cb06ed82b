"""`penstock calibrate` says where it writes, and before it measures whether it can."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.optimizer.cost.costs import REFERENCE
from penstock.runtime import calibrate

ROOT = Path(__file__).parents[2]

runner = CliRunner()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    monkeypatch.setenv("POLARS_MAX_THREADS", "1")  # else the command starts over with it
    return tmp_path


def test_what_was_measured_is_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "calibrated", lambda: dict(REFERENCE.units))
    done = runner.invoke(app, ["calibrate"])
    [file] = home.iterdir()
    assert done.stdout.splitlines()[-1] == f"written to {file}"
    assert done.exit_code == 0


def test_it_can_measure_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "calibrated", lambda: dict(REFERENCE.units))
    assert runner.invoke(app, ["calibrate", "--once"]).stdout.startswith("wid: 1.00 times")
    assert runner.invoke(app, ["calibrate", "--once"]).stdout == "measured already\n"
    assert runner.invoke(app, ["calibrate"]).stdout.startswith("wid: 1.00 times")


def test_nothing_is_measured_where_nothing_can_be_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").touch()
    monkeypatch.setenv("PENSTOCK_HOME", str(home / "file"))
    monkeypatch.setattr(calibrate, "calibrated", lambda: pytest.fail("measured"))
    done = runner.invoke(app, ["calibrate"])
    assert done.exit_code == 1
    assert "name another directory in PENSTOCK_HOME" in done.stderr


def test_a_benchmark_leaves_the_users_costs_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = runpy.run_path(str(ROOT / "benchmarks" / "choose.py"))
    monkeypatch.setitem(choose["cases"].__globals__, "calibrated", lambda: REFERENCE.units)
    assert next(choose["cases"](quick=True)).name == "5-count-1"
    assert list(home.iterdir()) == []
