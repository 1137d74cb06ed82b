"""Rows of arrays and maps, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.oracle.expressions import value_of
from penstock.plan import nodes
from penstock.windows import Row


def exploded(plan: nodes.Explode, row: Row) -> Iterator[dict[str, Any]]:
    """The rows that come of one: for each element, or for each entry of a map."""
    of = plan.of
    kept = {name: row[name] for name in plan.kept}
    value = value_of(of.value, row)
    if not value:
        if of.outer:
            yield {**kept, **{column.name: None for column in of.columns}}
        return
    elements = value.items() if isinstance(value, dict) else value
    for number, element in enumerate(elements, start=of.first):
        parts: list[Any] = [element]
        if isinstance(value, dict):
            parts = list(element)
        elif of.fields:
            parts = [None] * len(of.names) if element is None else list(element.values())
        position = {} if of.position is None else {of.position: number}
        yield {**kept, **dict(zip(of.names, parts, strict=True)), **position}
