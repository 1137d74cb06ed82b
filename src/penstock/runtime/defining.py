"""Defining: functions and aggregates that a program brings to an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.catalog.catalog import Catalog
from penstock.model.user_defined import UserDefined
from penstock.runtime.engine_lock import EngineLock
from penstock.runtime.user_functions import user_aggregate, user_function


class Defining:
    """The part of an engine that takes code of users."""

    catalog: Catalog
    _turn: EngineLock

    def aggregate(
        self,
        name: str,
        code: Any = None,
        *,
        arguments: str,
        returns: str,
        state: str | Mapping[str, str] | None = None,
        vectorised: bool | None = None,
        replace: bool = False,
        **methods: Callable[..., Any] | None,
    ) -> None:
        """Declare an aggregate, which queries can use like those that are built in.

        `code` is a class with the methods `empty`, `add`, `result`, and if it can `merge` and
        `subtract`; or these are given as functions. `arguments` and `state` are columns, as
        in "x DOUBLE"; a state that is not declared is any value that JSON can hold. `vectorised`:
        methods take columns of many groups. docs/functions.md tells more.
        """
        found = user_aggregate(name, code, methods, arguments, returns, state, vectorised)
        self._add_function(found, replace=replace)

    def function(
        self,
        name: str,
        code: Callable[..., Any],
        *,
        arguments: str | None = None,
        returns: str | None = None,
        vectorised: bool = False,
        nulls: bool = False,
        replace: bool = False,
    ) -> None:
        """Declare a function of single rows, which expressions can use.

        `arguments` are "x DOUBLE, y STRING", or else the annotations of Python. `vectorised`: it
        takes and gives Polars columns. `nulls`: it is also called where an argument is NULL.
        """
        found = user_function(name, code, arguments, returns, vectorised, nulls)
        self._add_function(found, replace=replace)

    def _add_function(self, function: UserDefined, *, replace: bool) -> None:
        with self._turn:
            self.catalog.add_function(function, replace=replace)
