"""Penstock: standing SQL queries over streams.

Engine        runs them on Spark
LocalEngine   runs them in this process, over rows that the program pushes
__version__   of this package
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.version import __version__

if TYPE_CHECKING:
    from penstock.local.engine import LocalEngine
    from penstock.spark.engine import Engine

__all__ = ["Engine", "LocalEngine", "__version__"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: `penstock --help` need not wait for Polars, nor anyone for Spark who
    # does not use it.
    if name == "Engine":
        from penstock.spark.engine import Engine

        return Engine
    if name == "LocalEngine":
        from penstock.local.engine import LocalEngine

        return LocalEngine
    raise AttributeError(f"module `penstock` has no attribute `{name}`")
