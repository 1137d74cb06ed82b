"""The experiments on joins and on order come out as published."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "experiments"
LONG = ("h2", "h3", "j1", "j2", "g3", "n1", "m1", "g1", "g2", "n2")


@pytest.mark.parametrize("name", ["h1", *(pytest.param(n, marks=pytest.mark.slow) for n in LONG)])
def test_it_is_reproduced(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    outcome = importlib.import_module(name).run(quick=True)
    sys.modules.pop(name)
    assert [check.claim for check in outcome.checks if not check.holds] == []
