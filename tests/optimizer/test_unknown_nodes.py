"""Whoever tells kinds of nodes apart takes none that it does not know for another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from penstock.errors import PenstockBug
from penstock.model.schema import Column, Schema
from penstock.model.types import Type
from penstock.optimizer.closing import closing_bounds
from penstock.optimizer.joins.tactic import order_of
from penstock.optimizer.optimize import choose
from penstock.optimizer.options import Options
from penstock.plan.nodes.node import Leaf, Node
from penstock.plan.waiting import waits
from penstock.spark.placement.partitioning import partitioning


@dataclass(frozen=True)
class Stranger(Leaf):
    """A kind that nobody was told of."""

    @property
    def schema(self) -> Schema:
        return Schema.of([Column("x", Type.INT)])

    @property
    def order(self) -> frozenset[str]:
        return frozenset()

    @property
    def label(self) -> str:
        return "Stranger"


ASKED: dict[str, Callable[[Node], object]] = {
    "operators": lambda node: choose(node, Options()),
    "waiting": waits,
    "order": lambda node: order_of(node, Options()),
    "the end of a run": lambda node: closing_bounds([node], {}, {}, Options()),
    "partitioning": partitioning,
}


@pytest.mark.parametrize("asked", ASKED)
def test_an_unknown_node_is_a_bug(asked: str) -> None:
    with pytest.raises(PenstockBug, match="Stranger"):
        ASKED[asked](Stranger())
