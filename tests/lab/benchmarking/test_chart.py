"""The bars of a benchmark."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock.lab.benchmarking.chart import draw_chart
from penstock.lab.benchmarking.measure import Result


def result(case: str, ratio: float) -> Result:
    return Result(case, "rival", (1.0,), (ratio,), ratio, None, {})


def test_every_case_has_a_bar_with_its_ratio(tmp_path: Path) -> None:
    path = tmp_path / "bench.svg"
    draw_chart("bench", [result("slow", 0.5), result("fast", 20.0)], path)
    # Matplotlib draws text as shapes and says in comments what they spell.
    text = path.read_text()
    assert all(f"<!-- {word} -->" in text for word in ("bench", "slow", "fast", "0.5", "20"))
    ElementTree.fromstring(text)


@pytest.mark.parametrize("ratios", [[], [1.0], [0.001, 1000.0]])
def test_any_ratios_can_be_drawn(tmp_path: Path, ratios: list[float]) -> None:
    path = tmp_path / "bench.png"
    draw_chart("bench", [result(f"case {n}", ratio) for n, ratio in enumerate(ratios)], path)
    assert path.read_bytes().startswith(b"\x89PNG")
