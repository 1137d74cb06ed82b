"""Plays every transcript of tests/transcripts; see transcripts.py for what that means."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import penstock.kernel
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.operator import Operator
from tests.kernel.transcript_operators import build
from tests.kernel.transcripts import (
    BareOperator,
    OnHost,
    as_they_are,
    backwards,
    play,
    scripts,
    shuffled,
)

#: Classes that others are made of.
BASES = {"BehindWindows", "IdDriver", "WindowDriver", "Preaggregating"}
BASES |= {"ByLeft", "InOrder", "InStep", "Passing"}
#: Fork hands out no rows: it only says whose turn it is (tests/kernel/test_graph.py).
WITHOUT = {"Fork"}


@pytest.mark.parametrize("limit", [1, None], ids=["row by row", "whole blocks"])
@pytest.mark.parametrize(
    ("title", "script"), scripts(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_transcript(title: str, script: dict[str, Any], limit: int | None) -> None:
    orders = [as_they_are]
    if script.get("order") == "free":
        orders += [backwards, shuffled]
    for arrange in orders:
        play(script, BareOperator(script, build, limit), arrange)
    if script.get("only") != "kernel":
        for arrange in orders[:2]:
            play(script, OnHost(script, build, limit), arrange)


def parts_of_kernel(below: type[Any]) -> Iterator[type[Any]]:
    """All classes derived from one."""
    for each in below.__subclasses__():
        if each.__module__.startswith("penstock.kernel"):
            yield each
            yield from parts_of_kernel(each)


def test_every_operator_and_every_tactic_of_joins_has_a_transcript() -> None:
    for module in pkgutil.walk_packages(penstock.kernel.__path__, "penstock.kernel."):
        importlib.import_module(module.name)
    played: set[type[Any]] = set()
    for _, script in scripts():
        for operator in build(script["operator"], len(script["inputs"])):
            played |= {type(operator), type(getattr(operator, "tactic", operator))}
    there = {*parts_of_kernel(Operator), Tactic, *parts_of_kernel(Tactic)}
    assert {each.__name__ for each in there} - BASES - WITHOUT == {p.__name__ for p in played}
