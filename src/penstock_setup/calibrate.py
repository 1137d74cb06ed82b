"""How fast this machine computes windows, measured once, by `penstock calibrate`.

It takes some seconds, and choices between algorithms are better for it. Without it they go by a
reference machine, so nothing that happens here is a reason to fail.
"""

from __future__ import annotations

import os
import subprocess

from penstock_setup.places import Places
from penstock_setup.progress import Progress

#: It takes five; a machine that takes so much longer is too busy to be measured.
LIMIT_SECONDS = 60.0


def calibrate(places: Places, progress: Progress) -> None:
    """Measure and write down, unless that was done or is not wanted."""
    if os.environ.get("PENSTOCK_COSTS") == "reference":
        return
    environ = {
        **{k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")},
        "PYTHONPATH": str(places.root / "src"),
        "PENSTOCK_HOME": str(places.home),
        "POLARS_MAX_THREADS": "1",
    }
    try:
        process = subprocess.Popen(
            [str(places.env_python), "-m", "penstock", "calibrate", "--once"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return _without(progress)
    measuring = "measuring how fast this machine computes windows"
    progress.wait_for(process, lambda: measuring, LIMIT_SECONDS)
    if process.returncode != 0:
        return _without(progress)
    progress.say(f"measured how fast this machine computes windows, after {progress.seconds} s")


def _without(progress: Progress) -> None:
    progress.say(
        "not measured how fast this machine computes windows: choices between algorithms go by a"
        " reference machine until `./penstock calibrate` is called"
    )
