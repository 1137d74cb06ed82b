"""`penstock calibrate`: measure once how fast this machine computes windows."""

from __future__ import annotations

from penstock.cli.scripts import start_over_with


def calibrate() -> None:
    """Measure how fast this machine computes windows; `SET aggregation = auto` uses it."""
    start_over_with({"POLARS_MAX_THREADS": "1"})
    from penstock.optimizer.cost.costs import REFERENCE, check_can_keep, keep
    from penstock.runtime.calibrate import calibrated

    check_can_keep()  # it takes seconds to measure
    units = calibrated()
    for way, costs in units.items():
        print(f"{way}: {costs[0] / REFERENCE.units[way][0]:.2f} times the reference machine's cost")
    print(f"written to {keep(units)}")
