"""Set-up measures the machine once, and goes on whatever comes of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from penstock_setup import calibrate as module
from penstock_setup import progress
from penstock_setup.calibrate import calibrate
from penstock_setup.places import Places
from penstock_setup.progress import Progress


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.delenv("PENSTOCK_COSTS", raising=False)
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)
    return Places(root=tmp_path / "root", home=tmp_path / "home")


def with_python(places: Places, script: str) -> Places:
    places.env_python.parent.mkdir(parents=True)
    places.env_python.write_text(f"#!/bin/sh\n{script}\n")
    places.env_python.chmod(0o755)
    return places


def said(places: Places) -> str:
    out = io.StringIO()
    calibrate(places, Progress(out))
    return out.getvalue()


def test_the_command_is_called_with_our_sources_and_for_this_home(places: Places) -> None:
    called = places.root.parent / "called"
    with_python(places, f'echo "$* $PYTHONPATH $PENSTOCK_HOME $POLARS_MAX_THREADS" >"{called}"')
    assert said(places) == "penstock: measured how fast this machine computes windows, after 0 s\n"
    source, home = places.root / "src", places.home
    assert called.read_text() == f"-m penstock calibrate --once {source} {home} 1\n"


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 60", None])
def test_without_a_measurement_set_up_goes_on(
    places: Places, script: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIMIT_SECONDS", 0.5)
    if script is not None:
        with_python(places, script)
    assert "until `./penstock calibrate` is called" in said(places)


def test_nothing_is_measured_where_the_reference_machine_is_wanted(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COSTS", "reference")
    assert said(with_python(places, "exit 1")) == ""
