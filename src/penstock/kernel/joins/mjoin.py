"""MJoin: one symmetric join of several inputs, which keeps single rows and no intermediate results.

Edges connect the inputs, and every edge bounds how far apart in time two of them can lie and says
which of their keys must be equal. Rows that come meet the stored rows of a neighbour, what is found
meets the next one, until all inputs are in; then they are stored. A result goes out when the last
of its rows comes, so it goes out once. Every input has its own order in which the others are met:
a given one, or it is chosen anew for each block: the smallest store next, so that little is carried
on.

An input may be results of another join, with several times, and an edge says by which of them. An
input is stored once for every set of keys and every time that a neighbour asks it by; where all are
joined by one key, that is once. When a row may be forgotten follows from the bands between its time
and those of all other inputs, and from their bounds.
Spec: dynamic-optimization 1.3, 1.6, 1.7, 2.4; window-queries 6.1 for each band.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl

from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.key_index import KeyIndex
from penstock.kernel.joins.keys import Keys
from penstock.kernel.joins.partners import partners, widest
from penstock.kernel.joins.reach import Reach, along
from penstock.kernel.joins.run import CODE, Needles, cell_shift, encode
from penstock.kernel.joins.spec import SideSpec, holds
from penstock.model.expressions import Call, Expression, Ref
from penstock.model.types import common_type
from penstock.windows import JoinBand


@dataclass(frozen=True)
class MEdge:
    """Two inputs whose times lie within a band; `keys` are columns of them that must be equal.

    `times` are the columns of both that are meant, where they are not the times of these inputs.
    """

    ends: tuple[int, int]
    band: JoinBand
    keys: tuple[tuple[Ref, Ref], ...] = ()
    times: tuple[str, ...] = ()


@dataclass(frozen=True)
class MJoinSpec:
    """Rows of all inputs, one of each, that satisfy every edge and every condition."""

    inputs: tuple[SideSpec, ...]
    edges: tuple[MEdge, ...]  # by these, inputs find each other
    conditions: tuple[Expression, ...]  # equalities among them
    output: tuple[str, ...]
    progressing: tuple[str, ...]  # the timestamps that progress in results
    bands: tuple[MEdge, ...] = ()  # by these, rows are forgotten; none: by the edges
    # of each input, the others in the order in which its rows meet them; none: the smallest next
    orders: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class _Hop:
    """From rows that hold one end of an edge to the other end."""

    start: int
    goal: int
    on: str  # the time of the start
    band: JoinBand
    side: int  # which end of the band the start is
    keys: Keys
    index: KeyIndex
    asks: frozenset[str]  # columns of the start: its time, and its keys
    equal: int  # how many keys there are


@dataclass(frozen=True)
class _Step:
    """One more input comes in."""

    columns: frozenset[str]  # that anybody asks for from then on
    test: pl.Expr | None  # what can be tested then


class MJoin(Inputs):
    """Several inputs that meet at once."""

    def __init__(self, spec: MJoinSpec) -> None:
        self._spec = spec
        self.names = [f"rows_{port}" for port in range(len(spec.inputs))]
        self.on = [each.on for each in spec.inputs]
        self.times = [each.column(each.on) for each in spec.inputs]
        self.progressing = [n for n, time in enumerate(self.times) if time in spec.progressing]
        self.output = spec.output
        self._found = list(dict.fromkeys((*spec.output, *self.times)))
        bands = spec.bands or spec.edges
        self.reach = Reach(len(spec.inputs), [(edge.ends, edge.band) for edge in bands])
        # By their input, by what and how finely they are asked.
        self._indexes: dict[tuple[int, tuple[str, ...], int, str], KeyIndex] = {}
        self._hops = list(self._build_hops())
        self._ways = [self._in_order(port, order) for port, order in enumerate(spec.orders)]
        self.indexes = list(self._indexes.values())
        self._needed = [self._never_null(port) for port in range(self.ports)]
        #: What can be tested of rows of one input.
        self._alone = [_all_of(self._conditions_on(port)) for port in range(self.ports)]
        self._steps: dict[tuple[int | None, frozenset[int], int], _Step] = {}

    def _build_hops(self) -> Iterator[_Hop]:
        for edge in self._spec.edges:
            times = edge.times or [self.times[end] for end in edge.ends]
            for side in (0, 1):
                start, goal = edge.ends[side], edge.ends[1 - side]
                mine = [pair[side] for pair in edge.keys]
                theirs = [pair[1 - side] for pair in edge.keys]
                index = self._index(goal, times[1 - side], theirs, mine, edge.band)
                keys = Keys(mine, theirs)
                asks = frozenset((times[side], *(ref.name for ref in mine)))
                yield _Hop(start, goal, times[side], edge.band, side, keys, index, asks, len(mine))

    def _index(
        self, port: int, on: str, keys: list[Ref], others: list[Ref], band: JoinBand
    ) -> KeyIndex:
        """The index of an input by a time and these keys, made if there is none."""
        shift = cell_shift(widest(band))
        types = [common_type(a.type, b.type) for a, b in zip(keys, others, strict=True)]
        asked = tuple(f"{ref.name}:{of}" for ref, of in zip(keys, types, strict=True))
        if (port, asked, shift, on) not in self._indexes:
            table = f"rows_{port}_{sum(of == port for of, *_ in self._indexes)}"
            index = KeyIndex(port, table, on, Keys(keys, others), shift)
            self._indexes[port, asked, shift, on] = index
        return self._indexes[port, asked, shift, on]

    def _in_order(self, port: int, order: tuple[int, ...]) -> list[_Hop]:
        """The way of an input's rows through the others: of several edges, by that of most keys."""
        found = []
        for place, goal in enumerate(order):
            seen = (port, *order[:place])
            hops = (hop for hop in self._hops if hop.goal == goal and hop.start in seen)
            found.append(max(hops, key=lambda hop: hop.equal))
        return found

    def _never_null(self, port: int) -> list[str]:
        """Columns of an input without which a row can be in no result."""
        ends = [
            (edge, side)
            for edge in self._spec.edges
            for side, end in enumerate(edge.ends)
            if end == port
        ]
        keys = {pair[side].name for edge, side in ends for pair in edge.keys}
        times = {edge.times[side] for edge, side in ends if edge.times} - {self.times[port]}
        return [self.times[port], *sorted(keys | times)]

    @property
    def found(self) -> list[str]:
        return self._found

    def columns(self, port: int) -> list[str]:
        return self._spec.inputs[port].names

    # -- rows ---------------------------------------------------------------------------------

    def join(self, port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        rows = self._named(port, rows)
        if not rows.height:
            return
        found = self._meet_all(port, rows)
        if found is not None:
            yield found[self._found]
        self._store(port, rows)

    def _named(self, port: int, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that can be in a result, under the join's names."""
        rows = self._spec.inputs[port].named(rows)
        needed = self._needed[port]
        has_null = any(rows.get_column(name).null_count() for name in needed)
        return rows.drop_nulls(needed) if has_null else rows

    def put_in(self, port: int, rows: pl.DataFrame) -> None:
        self._store(port, self._named(port, rows))

    def results(self) -> Iterator[pl.DataFrame]:
        fewest = min(self.indexes, key=lambda index: self.state.table(index.table).rows)
        for rows in list(self.state.table(fewest.table)):
            found = self._meet_all(fewest.port, rows.drop(CODE))
            if found is not None:
                yield found.select(self.output)

    def _meet_all(self, port: int, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Results with these rows of one input."""
        seen = frozenset((port,))
        found = _where(self._alone[port], rows)
        while found is not None and len(seen) < self.ports:
            hop = self._ways[port][len(seen) - 1] if self._ways else self._next(seen)
            step = self._step(port, seen, hop.goal)
            found = self._meet(hop, found, step.columns)
            found = None if found is None else _where(step.test, found)
            seen |= {hop.goal}
        return found

    def _next(self, seen: frozenset[int]) -> _Hop:
        """To a neighbour of what is there already, the one with the fewest rows."""
        ways = [hop for hop in self._hops if hop.start in seen and hop.goal not in seen]
        return min(ways, key=lambda hop: self.state.table(hop.index.table).rows)

    def _step(self, port: int, seen: frozenset[int], goal: int) -> _Step:
        """Of rows that have come to an input and have met some others, the step to one more."""
        key = (port if self._ways else None, seen, goal)
        if key not in self._steps:
            before, now = self._conditions_on(*seen), self._conditions_on(*seen, goal)
            hops = self._ways[port][len(seen) :] if self._ways else self._hops
            asked = {name for hop in hops if hop.goal not in {*seen, goal} for name in hop.asks}
            later = (each.refs for each in self._spec.conditions if each not in before)
            columns = frozenset(self._found).union(asked, *later)
            self._steps[key] = _Step(columns, _all_of([c for c in now if c not in before]))
        return self._steps[key]

    def _conditions_on(self, *seen: int) -> list[Expression]:
        """The conditions on columns of these inputs alone."""
        names = {*chain(*map(self.columns, seen))}
        return [each for each in self._spec.conditions if each.refs <= names]

    def _meet(self, hop: _Hop, rows: pl.DataFrame, asked: frozenset[str]) -> pl.DataFrame | None:
        """Rows beside the stored rows of the next input that lie in the band and may be equal.

        Only of the columns that are asked for: there may be many partners.
        """
        times = rows.get_column(hop.on).cast(pl.Int64).to_numpy()
        hashes = hop.keys.hashes(rows)
        # Sorted, so that a block walks through a run from front to back.
        order = np.argsort(encode(hashes, times, hop.index.shift))
        first, last = partners(hop.band, hop.side, times[order])
        needles = Needles(hashes[order], first, last)
        stored = self.state.table(hop.index.table)
        found = list(hop.index.store.candidates(stored, needles))
        if not found:
            return None
        mine = rows[[name for name in rows.columns if name in asked]]
        places = np.concatenate([mine for _, mine, _ in found])
        # Rows with several partners each: sorted first, they are copied from front to back.
        mine = mine[order][places] if len(places) > len(order) else mine[order[places]]
        names = [name for name in self.columns(hop.goal) if name in asked]
        theirs = [run.only(names)[old] for run, _, old in found]
        return mine.hstack(pl.concat(theirs))

    def _store(self, port: int, rows: pl.DataFrame) -> None:
        """Keep the rows that can still be in a result."""
        times = rows.get_column(self.times[port]).cast(pl.Int64).to_numpy()
        needed = times >= self.keep_from(port)
        rows = rows if needed.all() else rows.filter(needed)
        for index in self.indexes:
            if index.port == port:
                index.keep(self.state, rows)

    # -- forgetting ---------------------------------------------------------------------------

    def purge(self, port: int, keep_from: int) -> Iterable[pl.DataFrame]:
        for index in self.indexes:
            if index.port == port:
                first = along(self._way(index), keep_from)
                index.store.purge(self.state.table(index.table), first)
        return ()

    def _way(self, index: KeyIndex) -> tuple[tuple[JoinBand, int], ...]:
        """From the time of an input to that of an index."""
        side = self._spec.inputs[index.port]
        ways = (each.bands for each in side.carried if side.column(each.column) == index.on)
        return () if index.on == self.times[index.port] else next(ways)


def _all_of(conditions: list[Expression]) -> pl.Expr | None:
    return pl.all_horizontal(map(compile_expression, conditions)) if conditions else None


def _where(test: pl.Expr | None, rows: pl.DataFrame) -> pl.DataFrame | None:
    """The rows of which this is true; None: there are none."""
    mask = None if test is None else holds(test, rows)
    rows = rows if mask is None else rows.filter(mask)
    return rows if rows.height else None


def equality(pair: tuple[Ref, Ref]) -> Expression:
    """That two columns are equal, as a condition."""
    return Call("=", pair)
