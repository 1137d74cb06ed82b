"""Every experiment in its quick form: what was published holds, but for what is known to fail.

Once with the seed that the command uses, and once with a fresh one, which is printed; set
PENSTOCK_SEED to run that one again.
"""

from __future__ import annotations

import importlib
import os
import random
from pathlib import Path

import pytest

from penstock.lab.experimenting import Outcome
from penstock.lab.scripts import scripts

ROOT = Path(__file__).parent.parent.parent
FOLDER, PAGE = ROOT / "experiments", ROOT / "docs" / "experiments.md"
ALL = scripts(FOLDER)
#: Those that take less than a second; X2 is run by the tests of the command.
FAST = {"ordered-join-formulas"}
SEED = 1
FRESH = int(os.environ.get("PENSTOCK_SEED") or random.SystemRandom().randrange(2, 2**31))


def quick(name: str, seed: int) -> Outcome:
    outcome: Outcome = ALL[name].function("run", "experiment")(True, seed)
    return outcome


def surprises(outcome: Outcome) -> list[str]:
    """Claims that fail, and known failures that hold, with what was measured."""
    return [
        f"{check.verdict.value}: {check.claim} ({check.measured})" for check in outcome.surprises
    ]


def rows_of_page(heading: str) -> list[list[str]]:
    """The cells of a table of the page."""
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_the_page_has_every_experiment() -> None:
    named = [name for first, *_ in rows_of_page("What is repeated") for name in first.split(", ")]
    assert sorted(named) == sorted(script.alias for script in ALL.values())


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in ALL]
)
def test_it_comes_out_as_published_or_as_is_known_and_as_the_page_says(name: str) -> None:
    outcome = quick(name, SEED)
    assert surprises(outcome) == []
    known = [check.claim for check in outcome.checks if check.known is not None]
    on_page = [claim for of, claim, _ in rows_of_page("Known failures") if of == ALL[name].alias]
    assert known == on_page


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_it_does_so_with_a_fresh_seed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():  # whoever watches a long run wants to know it before it fails
        print(f"\n{name}: PENSTOCK_SEED={FRESH}")
    assert surprises(quick(name, FRESH)) == [], f"PENSTOCK_SEED={FRESH}"


@pytest.mark.parametrize("dataset", ["ds1", "ds2", "ds3", "ds4", "ds5"])
def test_adapt_wid_takes_less_memory_than_eager_and_lazy(
    dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    costs = importlib.import_module("adapt_wid_memory").tumbling_sums(dataset, seconds=2, seed=SEED)
    best = min(cost.peak_bytes for name, cost in costs.items() if name != "AdaptWID")
    assert costs["AdaptWID"].peak_bytes < best
