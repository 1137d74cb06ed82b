"""Project: the same rows with other columns.

A promise about a column that is passed on goes on under its new name (under all of them, if it was
passed on twice); one about a column that is gone ends here.  Spec: window-queries 7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_columns
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import UNUSED, Grain, both
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.model.expressions import Named, Ref
from penstock.model.punctuation import Punctuation


class Project(Operator):
    """Computes each output column from a row's own columns."""

    idle_waiting_prone = False

    def __init__(self, columns: Sequence[Named]) -> None:
        super().__init__()
        self._project = compile_columns(columns)
        self._renamed: dict[str, list[str]] = {}
        for column in columns:
            if isinstance(column.value, Ref):
                self._renamed.setdefault(column.value.name, []).append(column.name)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        out.batch(Block(self._project(block.rows)))

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        renamed = {new: time for old, time in times.items() for new in self._renamed.get(old, ())}
        return (Waiting((), renamed),)

    def needed(self, on: str, bound: int) -> Needs | None:
        found = [Need(0, old, bound) for old, new in self._renamed.items() if on in new]
        return Needs(tuple(found)) if found else None

    def translate(self, punctuation: Punctuation) -> list[Punctuation]:
        if any(name not in self._renamed for name, _ in punctuation.where):
            return []  # what it is about cannot be said any more
        where = tuple((self._renamed[name][0], p) for name, p in punctuation.where)
        names = self._renamed.get(punctuation.on, ())
        return [Punctuation(name, punctuation.bound, where) for name in names]

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        if wanted is None:
            return frozenset(self._renamed)
        return frozenset(name for name, new in self._renamed.items() if wanted.intersection(new))

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return reduce(both, map(behind, self._renamed.get(on, ())), UNUSED)
