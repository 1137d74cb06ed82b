"""Costs: what a unit of work takes, in microseconds; measured once on a machine and kept in a file.

`./penstock` measures them when it sets up. The file lies in PENSTOCK_HOME, else beside the
environment that `./penstock` made, else in the user's cache directory, under a name that tells the
machine, Penstock's version and that of Polars; a machine that has none yet gets `REFERENCE`, so
that what is chosen depends on nothing but the query. PENSTOCK_COSTS=reference wants it so always.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from penstock.errors import HostError
from penstock.home import home
from penstock.version import __version__


@dataclass(frozen=True)
class Costs:
    """By way to compute windows, what each unit of `Work` costs; of joins, those of `JoinUnits`."""

    units: Mapping[str, Sequence[float]]
    source: str

    def of(self, way: str, work: Sequence[float]) -> float:
        return sum(cost * units for cost, units in zip(self.units[way], work, strict=True))


#: The way that is none to compute windows: joins, by `JoinUnits.of_kinds`.
JOIN = "join"

#: Measured on two cores of a server of 2024; by `Work`'s fields.
REFERENCE = Costs(
    {
        "wid": (1020, 0.0155, 0.079, 1280, 0, 0.209, 0.159),
        "grid": (1140, 0.0164, 0.0143, 1260, 0.0513, 0.0561, 0),
        "blocks": (1130, 0.0206, 0.00714, 1530, 0, 0.0764, 0),
        "differences": (1120, 0.0173, 0.0927, 1630, 0.205, 0.179, 0),
        "merge": (1410, 0.0153, 0.0116, 1240, 0.252, 0, 0.0197),
        JOIN: (900, 0.09, 0.035, 0.03, 220, 0.1, 0.01),
    },
    "of a reference machine",
)


def costs() -> Costs:
    """Those of this machine, if they have been measured; the file is read once."""
    if os.environ.get("PENSTOCK_COSTS") == "reference":
        return REFERENCE
    return _kept_in(_file())


@cache
def _kept_in(file: Path) -> Costs:
    try:
        units = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return REFERENCE
    return Costs(units, "measured on this machine") if are_costs(units) else REFERENCE


#: A unit of work takes microseconds; what is said to take an hour was not measured.
MOST = 3.6e9


def are_costs(units: object) -> bool:
    """Whether these can be costs: numbers for all units of all ways, none below 0 and not all 0.

    >>> are_costs(REFERENCE.units), are_costs({**REFERENCE.units, "wid": [-1.0] * 7})
    (True, False)
    """
    return (
        isinstance(units, Mapping)
        and units.keys() == REFERENCE.units.keys()
        and all(_are_of_a_way(units[way], len(each)) for way, each in REFERENCE.units.items())
    )


def _are_of_a_way(costs: object, count: int) -> bool:
    if not isinstance(costs, list | tuple) or len(costs) != count:
        return False
    # A NaN is in no interval.
    return all(type(cost) in (int, float) and 0 <= cost <= MOST for cost in costs) and any(costs)


def keep(units: Mapping[str, Sequence[float]]) -> Path:
    """Write the costs of this machine down; gives where."""
    file = _file()
    with _writing(file) as beside:
        beside.write_text(json.dumps({way: list(each) for way, each in units.items()}))
        beside.replace(file)  # whole, or not at all
    _kept_in.cache_clear()
    return file


def check_can_keep() -> None:
    """Raise a HostError if costs could not be written down: whoever measures asks first."""
    with _writing(_file()) as beside:
        beside.touch()
        beside.unlink()


@contextmanager
def _writing(file: Path) -> Iterator[Path]:
    """A name beside the file to write to; what goes wrong is an error of ours."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield file.with_suffix(f".{os.getpid()}")
    except OSError as error:
        raise HostError(
            f"the costs of this machine cannot be written to {file.parent}: {error.strerror}",
            hint="name another directory in PENSTOCK_HOME",
        ) from error


def are_kept() -> bool:
    """Whether there is a measurement of this machine."""
    return _kept_in(_file()) is not REFERENCE


def _file() -> Path:
    return home(os.environ, Path(sys.prefix)) / f"costs-{_machine()}.json"


@cache  # groups ask in every micro-batch, and versions are read from disk
def _machine() -> str:
    """Names this machine, and what runs on it."""
    machine = (platform.node(), platform.machine(), platform.processor(), os.cpu_count())
    # The reference tells the model: costs that were measured for another one are of other units.
    what = repr((*machine, __version__, version("polars"), REFERENCE.units))
    return hashlib.sha256(what.encode()).hexdigest()[:16]
