"""Which queries of a checkpoint want to be computed in another way than they were.

A query goes on by the operators that it had, also where others would be chosen today: that depends
on what was measured. A setting that was changed in between is another matter if it is one that the
query depends on, that is, if some value of it would give the query other operators. Then it goes on
only if what is asked for now is what it had.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from penstock.catalog.settings import SETTINGS
from penstock.errors import NotExecutable
from penstock.optimizer.optimize import optimize, read_as_in
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Plans
from penstock.plan.nodes import Node


def changed_settings(before: Options, now: Options) -> list[str]:
    """The settings that differ."""
    names = (each.name for each in fields(Options))
    return [name for name in names if getattr(before, name) != getattr(now, name)]


def goes_on(queries: Mapping[str, Node], options: Options, kept: Plans, before: Options) -> Plans:
    """The kept plans by which queries of these options go on; others want other operators."""
    changed = changed_settings(before, options)
    known = {n: read_as_in(query, kept) for n, query in queries.items() if n in kept}
    if not changed:
        return {name: kept[name] for name in known}
    now = optimize(known, options).plans
    return {
        name: kept[name]
        for name, query in known.items()
        if now[name] == kept[name]
        or not any(_depends(query, options, setting, before) for setting in changed)
    }


def _depends(query: Node, options: Options, setting: str, before: Options) -> bool:
    """Whether a query's operators depend on a setting."""
    values = {*SETTINGS[setting].words, getattr(before, setting), getattr(options, setting)}
    found = (_plans(query, replace(options, **{setting: value})) for value in values)
    return any(plans != _plans(query, options) for plans in found)


def _plans(query: Node, options: Options) -> Plans | None:
    try:
        return optimize({"": query}, options).plans
    except NotExecutable:
        return None
