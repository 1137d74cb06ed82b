"""TableJoin: rows of a stream meet the rows of a static table.

The table is complete before the first row comes, so there is nothing to wait for and nothing to
keep: every row finds its partners in the index, or none, and passes on at once, in the order it
came in. Punctuation passes through.  Spec: window-queries 2.6 (where one side does not move).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np
import polars as pl

from penstock.errors import PenstockBug
from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.keys import Keys, computed_keys
from penstock.kernel.joins.run import Index
from penstock.kernel.joins.table_index import TableIndex
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import Grain
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.state import from_ipc
from penstock.kernel.types import polars_type
from penstock.model.expressions import Call, Expression, Ref
from penstock.model.joins import JoinKind, qualified
from penstock.model.punctuation import Punctuation
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
    def keys(self) -> tuple[list[Expression], list[Expression]]:
        """What must be equal, of the stream and of the table: columns, then what is computed."""
        mine, theirs = self._refs
        pairs: list[tuple[Expression, Expression]] = [*self._equal]
        pairs += computed_keys(self.residual, mine, theirs)
        return [mine for mine, _ in pairs], [theirs for _, theirs in pairs]

    @property
    def conditions(self) -> list[Expression]:
        """Everything that a row and a row of the table with equal hashes must satisfy."""
        equal = [Call("=", pair) for pair in self._equal]
        return [*equal, *([] if self.residual is None else [self.residual])]

    @property
    def _refs(self) -> tuple[dict[str, Ref], dict[str, Ref]]:
        """The columns of both by what the join calls them."""
        stream, table = (
            {qualified(name, column.name): column.type for column in columns}
            for name, columns in zip(self.names, (self.columns, self.table.columns), strict=True)
        )
        return (
            {name: Ref(name, of) for name, of in stream.items()},
            {name: Ref(name, of) for name, of in table.items()},
        )

    @property
    def _equal(self) -> list[tuple[Ref, Ref]]:
        (stream, table), (mine, theirs) = self.names, self._refs
        return [(mine[qualified(stream, a)], theirs[f"{table}.{b}"]) for a, b in self.equalities]


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
    mine, theirs = spec.keys
    keys = Keys(theirs, mine)
    rows = keys.without_null(rows)
    index = TableIndex(rows, keys.hashes(rows))
    _INDEXES[spec] = index
    return index


class TableJoin(Operator):
    """Looks the rows of its input up in a static table."""

    idle_waiting_prone = False

    def __init__(self, spec: TableJoinSpec) -> None:
        super().__init__()
        self._kind = spec.kind
        self._spec = spec
        self._prefix = qualified(spec.names[0], "")
        self._columns = [
            pl.col(column.name).alias(f"{self._prefix}{column.name}") for column in spec.columns
        ]
        self._keys = Keys(*spec.keys)
        conditions = [compile_expression(condition) for condition in spec.conditions]
        self._condition = pl.all_horizontal(conditions) if conditions else None
        self._nothing = [
            pl.lit(None, polars_type(column.type)).alias(f"{spec.names[1]}.{column.name}")
            for column in spec.table.columns
        ]

    @cached_property
    def _index(self) -> TableIndex:
        # Not before a row comes: whoever only explains a query has not read its tables.
        return index_of(self._spec)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = block.rows.select(self._columns)
        found = [self._matching(rows, *pair) for pair in self._candidates(rows)]
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

    def _candidates(self, rows: pl.DataFrame) -> list[tuple[Index, Index]]:
        nobody = np.zeros(0, np.int64)
        return list(self._index.candidates(self._keys.hashes(rows))) or [(nobody, nobody)]

    def _matching(self, rows: pl.DataFrame, new: Index, old: Index) -> tuple[Index, pl.DataFrame]:
        """Rows beside their partners, and which rows they are."""
        pairs = rows[new].hstack(self._index.rows[old])
        if self._condition is None or not len(new):
            return new, pairs
        holds = pairs.select(self._condition).to_series().fill_null(False)
        return (new, pairs) if holds.all() else (new[holds.to_numpy()], pairs.filter(holds))

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
        named = {f"{self._prefix}{name}": time for name, time in times.items()}
        return (Waiting((), named, certain=self._kind is JoinKind.LEFT),)

    def needed(self, on: str, bound: int) -> Needs | None:
        if not on.startswith(self._prefix):
            return None
        return Needs((Need(0, on.removeprefix(self._prefix), bound),))

    def translate(self, punctuation: Punctuation) -> list[Punctuation]:
        where = tuple((f"{self._prefix}{name}", p) for name, p in punctuation.where)
        return [Punctuation(f"{self._prefix}{punctuation.on}", punctuation.bound, where)]

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return behind(f"{self._prefix}{on}")

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str] | None:
        if wanted is None:
            return None
        return frozenset(
            name.removeprefix(self._prefix) for name in wanted if name.startswith(self._prefix)
        )
