"""Joins, from the definition: every row is tried with every other."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import polars as pl

from penstock.model.joins import JoinKind
from penstock.model.types import Type
from penstock.oracle.belonging import equal, holds, prefixed
from penstock.plan import nodes
from penstock.windows import Row


def join(plan: nodes.Join, sides: Sequence[Sequence[Row]]) -> list[dict[str, Any]]:
    """A row of each input is tried with those of all others; rows without a partner follow."""
    named = [
        [prefixed(name, row) for row in rows] for name, rows in zip(plan.names, sides, strict=True)
    ]
    found: list[tuple[int, ...]] = [(i,) for i in range(len(named[0]))]
    for step, rows in enumerate(named[1:], start=1):
        # Whatever does not hold of some inputs does not hold of all.
        found = [
            (*tried, i)
            for tried in found
            for i in range(len(rows))
            if matches(plan, step, together(named, (*tried, i)))
        ]
    matched = [{tried[side] for tried in found} for side in range(len(named))]
    if plan.kind.is_one_sided:
        wanted = plan.kind is JoinKind.SEMI
        return [row for i, row in enumerate(named[0]) if (i in matched[0]) is wanted]
    answer = [together(named, tried) for tried in found]
    nothing = dict.fromkeys(plan.schema.names)
    for side, rows in enumerate(named[:2]):
        if plan.kind.keeps_alone(side):
            answer += [{**nothing, **row} for i, row in enumerate(rows) if i not in matched[side]]
    return answer


def together(named: Sequence[Sequence[Row]], tried: tuple[int, ...]) -> dict[str, Any]:
    """One row of each of the first inputs, as one."""
    return {k: v for rows, i in zip(named, tried, strict=False) for k, v in rows[i].items()}


def matches(plan: nodes.Join, step: int, row: Row) -> bool:
    """Whether rows of the first inputs satisfy all that the last of them brings."""
    edge = plan.edges[step - 1]
    mine, theirs = row[edge.left], row[edge.right]
    return (
        mine is not None
        and theirs is not None
        and edge.band.joins(mine, theirs)
        and all(
            equal(row[a], type_in(plan, a), row[b], type_in(plan, b))
            for a, b in plan.equalities
            if plan.step(frozenset((a, b))) == step
        )
        and all(holds(each, row) for each in plan.conditions if plan.step(each.refs) == step)
    )


def type_in(plan: nodes.Join, column: str) -> Type:
    child, own = plan.origin(column)
    return plan.inputs[child].schema[own].type


def table_join(plan: nodes.TableJoin, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Every row is tried with every row of the table."""
    assert plan.table.content is not None
    table = pl.read_ipc_stream(io.BytesIO(plan.table.content)).to_dicts()
    nothing = dict.fromkeys(plan.schema.names)
    answer = []
    for row in rows:
        mine = prefixed(plan.names[0], row)
        pairs = [{**mine, **prefixed(plan.names[1], other)} for other in table]
        met = [
            pair
            for pair, other in zip(pairs, table, strict=True)
            if all(
                equal(row[a], plan.input.schema[a].type, other[b], plan.table.schema[b].type)
                for a, b in plan.equalities
            )
            and holds(plan.filter, pair)
            and holds(plan.residual, pair)
        ]
        if plan.kind.is_one_sided:
            answer += [mine] if bool(met) is (plan.kind is JoinKind.SEMI) else []
        else:
            alone = [{**nothing, **mine}] if plan.kind.keeps_alone(0) else []
            answer += met or alone
    return answer
