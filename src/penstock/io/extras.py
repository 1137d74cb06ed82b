"""Packages that are not installed with Penstock: what is missing is named with its extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from penstock.errors import HostError


def check_installed(what: str, package: str, extra: str) -> None:
    """Raise unless a package is there; it is not imported."""
    if find_spec(package) is None:
        raise _missing(what, package, extra)


@contextmanager
def imported(what: str, package: str, extra: str) -> Iterator[None]:
    """For the import of a package inside a function: raises what names the extra."""
    try:
        yield
    except ImportError as cause:
        raise _missing(what, package, extra) from cause


def _missing(what: str, package: str, extra: str) -> HostError:
    return HostError(
        f"{what} needs the package `{package}`, which is not installed",
        hint=f"pip install 'penstock[{extra}]'",
    )
