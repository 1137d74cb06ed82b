"""`penstock calibrate`: measure how fast this machine computes windows."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.shared.scripts import start_over_with


def calibrate(
    once: Annotated[
        bool, typer.Option("--once", help="Measure only if this machine was never measured.")
    ] = False,
) -> None:
    """Measure how fast this machine computes windows; `SET aggregation = auto` uses it."""
    start_over_with({"POLARS_MAX_THREADS": "1"})
    from penstock.optimizer.cost.costs import REFERENCE, are_kept, check_can_keep, keep
    from penstock.runtime.calibrate import calibrated

    if once and are_kept():
        print("measured already")
        return
    check_can_keep()  # it takes seconds to measure
    units = calibrated()
    for way, costs in units.items():
        print(f"{way}: {costs[0] / REFERENCE.units[way][0]:.2f} times the reference machine's cost")
    print(f"written to {keep(units)}")
