"""Plans as `penstock explain` prints them, with the operators chosen and why.

For every `tests/plans/NAME.sql` there is a `NAME.txt` with the text. `PENSTOCK_REWRITE=1` writes
the texts anew instead of failing; the diff is what the reviewer reads.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.catalog.catalog import Catalog
from penstock.cli.explain import explain, plans
from penstock.plan.graph import walk
from penstock.plan.picture import to_dot, to_svg

FILES = sorted((Path(__file__).parent.parent / "plans").glob("*.sql"))
REWRITE = os.environ.get("PENSTOCK_REWRITE") == "1"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_plans_are_those_of_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain(file)
    shown = capsys.readouterr().out
    golden = file.with_suffix(".txt")
    if REWRITE:
        golden.write_text(shown)
    assert shown == golden.read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_plan_can_be_drawn(file: Path) -> None:
    queries = plans(file.read_text(), Catalog())
    boxes = len(walk(*queries.values())) + len(queries)
    assert to_svg(queries).count("<rect ") == boxes
    assert to_dot(queries).count("[label=") == boxes


def test_no_golden_text_is_left_over() -> None:
    texts = {file.stem for file in FILES[0].parent.glob("*.txt")}
    assert texts == {file.stem for file in FILES}
