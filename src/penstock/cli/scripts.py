"""What the commands that run scripts by name (`bench`, `experiment`) have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.lab.scripts import Script


def show(known: Mapping[str, Script], what: str) -> None:
    """List them, each with its alias and the first line of its docstring."""
    width = max(map(len, known), default=0)
    for name, script in known.items():
        also = f"{script.alias}  " if script.alias else ""
        print(f"{name:<{width}}   {also}{script.summary}")
    if not known:
        print(f"no {what} yet")


def start_over_with(environment: Mapping[str, str]) -> None:
    """Start over with this environment, unless we are in it: libraries read it when imported."""
    if any(os.environ.get(name) != value for name, value in environment.items()):
        again = [sys.executable, "-m", "penstock", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, **environment})
