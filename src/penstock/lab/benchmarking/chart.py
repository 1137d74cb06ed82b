"""A benchmark's ratios as bars, by matplotlib: above the line at 1 we are faster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from penstock.lab.benchmarking.measure import Result


def draw_chart(name: str, results: Sequence[Result], path: Path) -> None:
    """Write the chart to a file, as PNG, SVG or PDF: whatever the file's name ends with."""
    # No pyplot: it keeps figures and may look for a screen.
    figure = Figure(figsize=(max(5.0, 1.5 + 0.55 * len(results)), 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    # Bars begin at 1, so that a ratio of 1/2 is as long as one of 2.
    heights = [result.ratio - 1 for result in results]
    colours = ["tab:blue" if result.ratio >= 1 else "tab:orange" for result in results]
    places = range(len(results))
    bars = axes.bar(places, heights, bottom=1, color=colours)
    axes.set_yscale("log")
    axes.bar_label(bars, [f"{result.ratio:.2g}" for result in results], padding=2, fontsize=8)
    axes.axhline(1, color="black", linewidth=1)
    axes.set_xticks(places, [result.case for result in results], rotation=45, ha="right")
    axes.set(title=name, ylabel="the rival's time over ours")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(axis="y", alpha=0.3)
    axes.margins(y=0.1)
    figure.savefig(path, dpi=120)
