"""JoinCells: what the groups of a pipeline say of its joins, as one.

A cell takes many batches. After each, every group tells what has come to it since, and all of it
adds up here. A cell that some group does not look at is left out, for of its rows only a part would
be known; so is one of which reports are missing, as when the driver was started again in its midst:
groups know how many rows they have told of.

Bounds rise with batches, so a cell is often over a batch after its last row. What more than half
of one says of pairs counts before that, for whoever decides what to do next; not what it says of
rates, for inputs may have come to different times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from penstock.kernel.statistics.cell import Cell
from penstock.kernel.statistics.join_meter import is_looked_at
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.model.timestamps import BEGINNING

#: Cells of a join that are kept at most until they are over.
MOST = 32


class JoinCells:
    """The cells of all joins of a pipeline that are not over."""

    def __init__(self) -> None:
        self._open: dict[str, dict[int, Cell]] = {}
        self._over: dict[str, dict[int, list[int]]] = {}  # rows of groups in which it is over
        self._last: dict[str, int] = {}  # by join, the last cell that was over
        self._reached: dict[str, int] = {}  # by join, up to where all inputs have come

    def note(self, groups: Iterable[Mapping[str, Any]]) -> dict[str, list[Cell]]:
        """By join, the cells that are over with a batch; each group says in JSON what came."""
        said: dict[str, list[Mapping[str, Any]]] = {}
        for group in groups:
            for key, each in group.items():
                said.setdefault(key, []).append(each)
        found = {key: self._noted(key, parts) for key, parts in said.items()}
        return {key: cells for key, cells in found.items() if cells}

    def halves(self, join: MeasuredJoin) -> list[Cell]:
        """The cells of a join that are not over, and more than half of which has come."""
        reached, half = self._reached.get(join.key, BEGINNING), join.width // 2
        cells = self._open.get(join.key, {}).values()
        return [cell for cell in cells if cell.number * join.width + half <= reached]

    def forget(self, joins: Collection[str]) -> None:
        """Joins other than these are gone."""
        known: tuple[dict[str, Any], ...] = self._open, self._over, self._last, self._reached
        for each in known:
            for key in each.keys() - joins:
                del each[key]

    def _noted(self, key: str, groups: list[Mapping[str, Any]]) -> list[Cell]:
        self._reached[key] = min(group["reached"] for group in groups)
        cells, last = self._open.setdefault(key, {}), self._last.get(key)
        over = self._over.setdefault(key, {})
        for part in (Cell.from_json(each) for group in groups for each in group["parts"]):
            if last is None or part.number > last:
                cells[part.number] = cells[part.number] + part if part.number in cells else part
        for number, rows in ((int(n), r) for group in groups for n, r in group["over"].items()):
            known = over.get(number, [0] * len(rows))
            over[number] = [a + b for a, b in zip(known, rows, strict=True)]
        looked_at = [
            number
            for number in sorted(cells)
            if all(is_looked_at(number, group["looks"]) for group in groups)
        ]
        # Bounds of what operators hold back may rise in groups at different times.
        whole = [number for number in looked_at if over.get(number) == cells[number].rows]
        found = [cells[number] for number in whole]
        if whole:
            last = self._last[key] = whole[-1]
        left = [number for number in looked_at if last is None or number > last][:MOST]
        self._open[key] = {number: cells[number] for number in left}
        self._over[key] = {number: over[number] for number in left if number in over}
        return found
