"""What the groups of a pipeline say of its joins, as one: cells of all groups add up.

A cell that some group does not look at is left out: of its rows only a part would be known. A group
that looks at it and has no rows in it says nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from typing import Any

from penstock.kernel.statistics.cell import Cell


def cells_of(groups: Iterable[Mapping[str, Any]]) -> dict[str, list[Cell]]:
    """By join, the cells that are over, of all groups; each says it in JSON."""
    found: dict[str, dict[int, list[Cell]]] = {}
    one_in: dict[str, int] = {}
    for group in groups:
        for key, said in group.items():
            one_in[key] = max(one_in.get(key, 1), said["one_in"])
            for each in said["cells"]:
                cell = Cell.from_json(each)
                found.setdefault(key, {}).setdefault(cell.number, []).append(cell)
    return {
        key: [
            reduce(add, parts)
            for number, parts in sorted(cells.items())
            if number % one_in[key] == 0
        ]
        for key, cells in found.items()
    }
