"""Plots as PNG files, by matplotlib."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from penstock.lab.experimenting.outcome import Plot

#: So that lines can be told apart without colour.
MARKERS = "osD^vPX*"


def draw(plot: Plot, path: Path) -> None:
    """Write the plot to a file."""
    # No pyplot: it keeps figures and may look for a screen.
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for (name, points), marker in zip(plot.lines.items(), cycle(MARKERS)):
        xs, ys = zip(*points, strict=True) if points else ((), ())
        style = "" if plot.scattered else "-"
        axes.plot(xs, ys, style, marker=marker, markersize=4, label=name)
    axes.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
    if plot.log_x:
        axes.set_xscale("log")
    if plot.log_y:
        axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def file_name(experiment: str, plot: Plot) -> str:
    """The plot's file, after the experiment and its title.

    >>> file_name("t1", Plot("Output latency (log)", "", "", {}))
    't1-output-latency-log.png'
    """
    words = re.findall(r"[a-z0-9]+", plot.title.lower())
    return "-".join([experiment, *words]) + ".png"
