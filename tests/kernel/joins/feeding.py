"""A join operator fed by hand: blocks and bounds in, results and bounds out."""

from __future__ import annotations

from typing import Any

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.joins.spec import JoinSpec, SideSpec
from penstock.kernel.operator import Operator
from penstock.model.punctuation import Punctuation, is_latest
from penstock.model.schema import Column
from penstock.model.timestamps import BEGINNING
from penstock.model.types import Type
from penstock.windows import JoinBand

COLUMNS = (Column("k", Type.STRING), Column("v", Type.INT), Column("ts", Type.TIMESTAMP))
SCHEMA = {"k": pl.String(), "v": pl.Int32(), "ts": pl.Int64()}


def spec(band: JoinBand, *keys: str, **more: Any) -> JoinSpec:
    """A join of `l` and `r` with the columns above."""
    sides = (SideSpec("l", COLUMNS, "ts"), SideSpec("r", COLUMNS, "ts"))
    return JoinSpec(sides, band, tuple((key, key) for key in keys), **more)


class Collected:
    """Everything an operator has put out."""

    def __init__(self) -> None:
        self.blocks: list[pl.DataFrame] = []
        self.bounds: list[tuple[str, int]] = []
        self.latest = BEGINNING  # the bound on the greatest time

    def batch(self, block: Block) -> None:
        self.blocks.append(block.rows)

    def punctuation(self, punctuation: Punctuation) -> None:
        if is_latest(punctuation.on):
            self.latest = punctuation.bound
        else:
            self.bounds.append((punctuation.on, punctuation.bound))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [row for block in self.blocks for row in block.rows()]


def rows(*values: tuple[str | None, int | None, int | None]) -> pl.DataFrame:
    return pl.DataFrame(list(values), schema=SCHEMA, orient="row")


def push(join: Operator, port: int, block: pl.DataFrame, out: Collected) -> None:
    join.on_batch(port, Block(block), out)


def punctuate(join: Operator, port: int, bound: int, out: Collected) -> None:
    join.on_punctuation(port, Punctuation("ts", bound), out)
