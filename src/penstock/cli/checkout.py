"""The source tree around this package: what `test`, `bench` and `experiment` work on."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import HostError


def checkout() -> Path:
    """The root of the source tree; an error if Penstock was installed without it."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "pyproject.toml").is_file():
        raise HostError(
            f"there are no tests and benchmarks here: {root} is not a source tree of Penstock",
            hint="call ./penstock in a clone of the repository",
        )
    return root
