"""TableJoin: rows of a stream meet the rows of a static table.

The table is complete before the first row comes, so there is nothing to wait for and nothing to
keep: every row finds its partners in the index, or none, and passes on at once, in the order it
came in. Punctuation passes through.  Spec: window-queries 2.6 (where one side does not move).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np
import polars as pl

from penstock.errors import PenstockBug
from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.keys import Keys
from penstock.kernel.joins.run import Index
from penstock.kernel.joins.spec import Match, SideSpec
from penstock.kernel.joins.table_index import TableIndex
from penstock.kernel.operator import Output
from penstock.kernel.operators.project import Project
from penstock.kernel.progress.release import Times, Waiting
from penstock.kernel.state import from_ipc
from penstock.model.expressions import Expression, Named, Ref
from penstock.model.joins import JoinKind
from penstock.model.schema import Column
from penstock.model.tables import StaticTable


@dataclass(frozen=True)
class TableJoinSpec:
    """What a join with a static table computes; `names` are the stream's and the table's."""

    names: tuple[str, str]
    columns: tuple[Column, ...]  # of the stream, as they come
    table: StaticTable
    equalities: tuple[tuple[str, str], ...] = ()
    residual: Expression | None = None
    filter: Expression | None = None
    kind: JoinKind = JoinKind.INNER

    @cached_property
    def match(self) -> Match:
        stream, table = self.names
        sides = SideSpec(stream, self.columns, ""), SideSpec(table, self.table.columns, "")
        return Match(sides, self.equalities, self.residual)


#: Indexes that some operator of this process uses: groups and queries share them.
_INDEXES: WeakValueDictionary[TableJoinSpec, TableIndex] = WeakValueDictionary()


def index_of(spec: TableJoinSpec) -> TableIndex:
    """The table's rows that can match, under the join's names, built or found."""
    found = _INDEXES.get(spec)
    if found is not None:
        return found
    if spec.table.content is None:
        raise PenstockBug(f"table `{spec.table.name}` was never read")
    rows = from_ipc(spec.table.content)
    rows = rows.select(pl.all().name.prefix(f"{spec.names[1]}."))
    if spec.filter is not None:
        rows = rows.filter(compile_expression(spec.filter))
    mine, theirs = spec.match.keys
    keys = Keys(theirs, mine)
    rows = keys.without_null(rows)
    index = TableIndex(rows, keys.hashes(rows))
    _INDEXES[spec] = index
    return index


class TableJoin(Project):
    """Looks the rows of its input up in a static table; their columns get the join's names."""

    def __init__(self, spec: TableJoinSpec) -> None:
        name = spec.match.sides[0].column
        super().__init__([Named(name(c.name), Ref(c.name, c.type)) for c in spec.columns])
        self._kind = spec.kind
        self._spec = spec
        self._keys = Keys(*spec.match.keys)
        self._nothing = spec.match.nothing(1)

    @cached_property
    def _index(self) -> TableIndex:
        # Not before a row comes: whoever only explains a query has not read its tables.
        return index_of(self._spec)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self.projected(block.rows)
        candidates = self._index.candidates(self._keys.hashes(rows))
        found = [self._matching(rows, *pair) for pair in candidates]
        new = np.concatenate([mine for mine, _ in found])
        if self._kind.is_one_sided:
            met = np.zeros(rows.height, np.bool_)
            met[new] = True
            rows = rows.filter(met if self._kind is JoinKind.SEMI else ~met)
        elif self._kind is JoinKind.LEFT:
            rows = self._with_lone(rows, found, new)
        else:
            rows = pl.concat([pairs for _, pairs in found])
        if rows.height:
            out.batch(Block(rows))

    def _matching(self, rows: pl.DataFrame, new: Index, old: Index) -> tuple[Index, pl.DataFrame]:
        """Rows beside their partners, and which rows they are."""
        pairs = rows[new].hstack(self._index.rows[old])
        holds = self._spec.match.holds(pairs)
        return (new, pairs) if holds is None else (new[holds.to_numpy()], pairs.filter(holds))

    def _with_lone(
        self, rows: pl.DataFrame, found: list[tuple[Index, pl.DataFrame]], new: Index
    ) -> pl.DataFrame:
        """Pairs, and where a row has no partner the row alone, in the order of rows."""
        lone = np.setdiff1d(np.arange(rows.height), new)
        pairs = [part for _, part in found]
        if not len(lone):
            return pl.concat(pairs)
        alone = rows[lone].with_columns(self._nothing)
        order = np.argsort(np.concatenate([new, lone]), kind="stable")
        return pl.concat([*pairs, alone])[order]

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        certain = self._kind is JoinKind.LEFT
        return [replace(waiting, certain=certain) for waiting in super().passes(port, times)]
