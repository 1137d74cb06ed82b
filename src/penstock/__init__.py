"""Penstock: continuous SQL queries over streams.

Engine          runs them on Spark
LocalEngine     runs them in this process, over rows that the program pushes
Query           a handle on one of them; both engines give these
Status          the state of an engine, its queries, streams and operators
PenstockError   and below it every error that is raised (`penstock.errors` draws them)
__version__     of this package
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.errors import (
    BadPunctuation,
    BadSetting,
    CannotJoin,
    CannotOrder,
    CannotWindow,
    CyclicView,
    DuplicateName,
    HostError,
    IncompleteResults,
    LateRow,
    MalformedRow,
    NotExecutable,
    PenstockBug,
    PenstockError,
    QueryError,
    StreamError,
    SyntaxFault,
    TooManyWindows,
    TypeMismatch,
    UnknownName,
    UserCodeError,
)
from penstock.version import __version__

if TYPE_CHECKING:
    from penstock.local.engine import LocalEngine
    from penstock.runtime.query import Query
    from penstock.runtime.status import Status
    from penstock.spark.engine import Engine

__all__ = [
    "BadPunctuation",
    "BadSetting",
    "CannotJoin",
    "CannotOrder",
    "CannotWindow",
    "CyclicView",
    "DuplicateName",
    "Engine",
    "HostError",
    "IncompleteResults",
    "LateRow",
    "LocalEngine",
    "MalformedRow",
    "NotExecutable",
    "PenstockBug",
    "PenstockError",
    "Query",
    "QueryError",
    "Status",
    "StreamError",
    "SyntaxFault",
    "TooManyWindows",
    "TypeMismatch",
    "UnknownName",
    "UserCodeError",
    "__version__",
]

#: Loaded when asked for: `penstock --help` need not wait for Polars, nor anyone for Spark who does
#: not use it.
_LAZY = {
    "Engine": "penstock.spark.engine",
    "LocalEngine": "penstock.local.engine",
    "Query": "penstock.runtime.query",
    "Status": "penstock.runtime.status",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module `penstock` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted([*__all__, "errors"])
