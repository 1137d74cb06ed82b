"""Moving State: a new box of joins gets what the old one keeps, and computes what that lacks.

What a join stores of an input is called by the leaves that its rows are made of (`box`). Where both
boxes store the same, segments move by reference; by other keys, their rows are sorted again. What
only the new box stores is computed from the rows below it, by the joins themselves, and nothing
comes out, for all results of rows that are there have come out before. What only the old box stores
goes: it can be computed of what stays. Then the new joins learn the bounds of the leaves.

        old    ((a, b), c)      stores a  b  ab  c
        new    (a, (b, c))      stores a  b  c   bc: a, b and c move, bc is computed, ab goes

Where the new box tests conditions below its leaves that the old one has tested above its joins,
rows that do not meet them go as they move, and columns that it does not read are left out. What is
asked of the rows of a state is the bit map of the published form; here a set of conditions.

A leaf may come aggregated to the new box, and its rows to the old one: then the new box stores the
groups of these rows (`grouped_leaf`), and joins of them are computed.

That is right if everything that may be in a result to come is stored for every leaf (`missing`),
and if nothing is on its way between joins. Rows and results that an order holds back go along: rows
come to the new box as new ones, results wait in it or leave.
Spec: dynamic-optimization 3.2, 3.5, 3.7, Algorithms 6 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from penstock.kernel.expressions import compile_expression
from penstock.kernel.graph import GraphNode
from penstock.kernel.joins.run import CODE
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.migration.box import Box, BoxInput, inputs_at, join_at
from penstock.kernel.migration.grouped_leaf import GroupedLeaf
from penstock.kernel.migration.held_back import move_held_back
from penstock.kernel.operators.project import Project
from penstock.kernel.segments import Segment, SegmentTable
from penstock.model.expressions import Expression
from penstock.model.punctuation import Punctuation, columns_of
from penstock.model.timestamps import BEGINNING


@dataclass
class Moved:
    """What became of rows: moved by reference, sorted by other keys, computed anew.

    Or `filtered`: they had to meet further conditions.
    """

    by_reference: int = 0
    sorted_again: int = 0
    recomputed: int = 0
    filtered: int = 0


def missing(old: Box, stay: Iterable[GraphNode], begun: Iterable[GraphNode] = ()) -> list[str]:
    """The leaves of which rows were forgotten that may be in a result to come with a third leaf.

    `stay` are joins that the new box has, too: others may be computed of what they store. Some of
    them have `begun` lately, without the rows of before.
    """
    stored = [at for node in begun for at in inputs_at(node)]
    if len(old.leaves) > 2:  # else one join knows all of them
        stored += [*old.leaves.values(), *(at for node in stay for at in inputs_at(node))]
    return [at.on for at in stored if not _is_complete(old, at)]


def _is_complete(box: Box, at: BoxInput) -> bool:
    """Whether all is stored of an input that may be in a result to come."""
    return at.join.state.forgotten[at.port] <= box.keep_from(at.on, at.leaves)


def latest_times(box: Box) -> dict[str, int]:
    """By leaf, the latest time of the rows that are stored, or that results are timed by.

    Of a leaf whose rows are forgotten, results may still wait for another one.
    """
    found: dict[str, int] = {}
    for at in box.inputs.values():
        times = [rows.get_column(at.on) for rows in at.stored()]
        if times:
            latest = int(pl.concat(times).to_physical().to_numpy().max())
            found[at.on] = max(latest, found.get(at.on, latest))
    return found


def move_states(
    old: Box, new: Box, kept: Callable[[GraphNode], bool], grouped: GroupedLeaf | None = None
) -> Moved:
    """Fill a box that is empty with what another one keeps; both stand over the same leaves.

    `kept`: joins of the new box that were there before, and have their state. `grouped`: the leaf
    that comes aggregated to the new one.
    """
    moved = Moved()
    for node in old.joins:
        join_at(node).inputs.have_our_hashes()
    for node in new.joins:
        if kept(node):
            continue
        for at in new.inputs_of(node):
            before = old.by_leaves.get(at.leaves)
            if grouped is not None and grouped.on in at.leaves:
                if at.child is None:
                    moved.recomputed += _group(old.leaves[at.on], at, grouped)
                else:
                    moved.recomputed += _compute(at, old.keep_from(at.on, at.leaves))
            elif before is not None and _is_same(old, before, new, at):
                _move(before, at, _further(old, new, at), moved)
            else:
                moved.recomputed += _compute(at, old.keep_from(at.on, at.leaves))
    move_held_back(old, new)
    tell_bounds(old, new, kept, grouped)
    return moved


def _is_same(old: Box, before: BoxInput, new: Box, now: BoxInput) -> bool:
    """Whether two inputs bring the same rows, and the first has all of them."""
    if now.child is None:
        return True
    if before.child is None or not _is_complete(old, before):
        return False
    columns = {*before.join.inputs.columns(before.port)}
    if not columns.issuperset(now.join.inputs.columns(now.port)):
        return False  # they were left out above their leaves
    if not all(each.refs <= columns for each in _further(old, new, now)):
        return False
    return old.conditions(before.child) == new.conditions(now.child)


def _further(old: Box, new: Box, at: BoxInput) -> list[Expression]:
    """What the new box asks of single rows before it stores them, and the old one did not."""
    known = old.tested(at.leaves)
    return [each for text, each in new.tested(at.leaves).items() if text not in known]


def _move(before: BoxInput, now: BoxInput, further: list[Expression], moved: Moved) -> None:
    state, was = now.join.state, before.join.state
    meets = pl.all_horizontal(map(compile_expression, further)) if further else None
    there = [each for each in before.join.inputs.indexes if each.port == before.port]
    for index in now.join.inputs.indexes:
        if index.port != now.port:
            continue
        columns = [*now.join.inputs.columns(now.port), CODE]
        table = state.table(index.table)
        found = next((each for each in there if each.is_like(index)), None)
        if found is not None and meets is None:
            table.segments = _of_columns(was.table(found.table), columns)
            moved.by_reference += table.rows
            continue
        for rows in was.table(there[0].table):
            index.keep(state, (rows if meets is None else rows.filter(meets)).select(columns[:-1]))
        if meets is None:
            moved.sorted_again += table.rows
        else:
            moved.filtered += table.rows


def _of_columns(table: SegmentTable, columns: list[str]) -> list[Segment]:
    """Segments with these columns: the same, where they have them."""
    return [
        each if each.whole.columns == columns else Segment(each.rows.select(columns))
        for each in table.segments
    ]


def _group(before: BoxInput, at: BoxInput, grouped: GroupedLeaf) -> int:
    """Store the groups of rows of a leaf; gives how many."""
    groups = grouped.groups_of(before)
    if groups is None:
        return 0
    at.join.inputs.put_in(at.port, groups)
    return groups.height


def _compute(at: BoxInput, keep_from: int) -> int:
    """Store what the joins below an input find among the rows that they keep; gives how many."""
    assert at.child is not None, f"nobody has stored {at.on}"
    inputs, count = at.join.inputs, 0
    for found in join_at(at.child).inputs.results():
        rows = _through(at.between, found)
        rows = rows.filter(pl.col(inputs.on[at.port]) >= keep_from)
        inputs.put_in(at.port, rows)
        count += rows.height
    return count


def _through(between: tuple[GraphNode, ...], rows: pl.DataFrame) -> pl.DataFrame:
    """Rows behind projections."""
    for node in between:
        assert isinstance(node.operator, Project)
        rows = node.operator.projected(rows)
    return rows


def begin_empty(old: Box, new: Box, kept: Callable[[GraphNode], bool]) -> Moved:
    """Have a new box begin without the rows of the old one; its joins note that they lack them."""
    latest = latest_times(old)
    for at in new.inputs.values():
        if at.on in latest and not kept(at.node):
            forgotten = at.join.state.forgotten
            forgotten[at.port] = max(forgotten[at.port], latest[at.on] + 1)
    return tell_bounds(old, new, kept)


def tell_bounds(
    old: Box, new: Box, kept: Callable[[GraphNode], bool], grouped: GroupedLeaf | None = None
) -> Moved:
    """Have the joins of a new box know what the old one knows of its leaves; no row moves."""
    for node in new.joins:
        if kept(node):
            continue
        for at in new.inputs_of(node):
            if at.child is None:
                told = _of_leaf(old.leaves[at.on])
                if grouped is not None and at.on == grouped.on:
                    told = grouped.bounds_of(told)
            else:
                told = _sent(join_at(at.child)) if kept(at.child) else []
            for punctuation in told:
                for each in _translated(at.between, punctuation):
                    if columns_of(each.on) <= at.columns:
                        at.join.on_punctuation(at.port, each, node.output)
    if kept(new.joins[-1]):  # whoever reads it from now on has not heard of its bounds
        for punctuation in _sent(join_at(new.joins[-1])):
            for each in _translated(new.above, punctuation):
                new.root.output.append_as_is(each)
    return Moved()


def _of_leaf(at: BoxInput) -> list[Punctuation]:
    """The bounds that a join knows of an input, as the input has said them."""
    inputs, state = at.join.inputs, at.join.state
    found = {inputs.on[at.port]: state.reached[at.port], **state.latest[at.port]}
    for column, bound in at.join.carried_of(at.port):
        found[column] = bound
    for item in at.node.inputs[at.port].unread():  # where rows wait there
        if isinstance(item, Punctuation) and not item.where:
            found[item.on] = max(item.bound, found.get(item.on, item.bound))
    return [Punctuation(on, bound) for on, bound in found.items() if bound > BEGINNING]


def _sent(join: WindowJoin) -> list[Punctuation]:
    """The bounds that a join has sent on."""
    inputs, state = join.inputs, join.state
    found = {inputs.times[port]: state.sent[port] for port in inputs.progressing}
    found |= state.carried_sent | state.latest_sent
    return [Punctuation(on, bound) for on, bound in found.items() if bound > BEGINNING]


def _translated(between: tuple[GraphNode, ...], punctuation: Punctuation) -> list[Punctuation]:
    """What a bound says behind projections."""
    found = [punctuation]
    for node in between:
        assert node.operator is not None
        found = [each for one in found for each in node.operator.translate(one)]
    return found
