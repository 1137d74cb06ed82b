"""Explode: the operator of that name."""

from __future__ import annotations

from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import ExplodeSpec
from penstock.plan import nodes


def lower_explode(node: nodes.Explode) -> Chosen:
    kept = tuple(node.input.schema[name] for name in node.kept)
    return Chosen((ExplodeSpec(kept, node.of),), "a row for each element, no state")
