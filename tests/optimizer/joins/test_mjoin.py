"""By which edges the inputs of an MJoin find each other."""

from __future__ import annotations

import pytest

from penstock.optimizer.joins.mjoin import mjoin_spec
from penstock.plan.nodes import Join
from tests.optimizer.plans import plan


@pytest.mark.parametrize(
    ("conditions", "edges"),
    [
        # Equal to a third is equal to each other.
        ("a.k = b.k AND b.k = s.k", ["0-1 k", "0-2 k"]),
        # Through b there is a key, and the bands to it add up.
        ("a.v = b.v AND b.k = s.k", ["0-1 v", "1-2 k"]),
        ("a.v = b.v AND b.v < s.v", ["0-1 v", "0-2 "]),
    ],
)
def test_inputs_of_an_mjoin_find_each_other_by_keys(conditions: str, edges: list[str]) -> None:
    inputs = "a [RANGE 3 SECONDS], b [RANGE 5 SECONDS], slack s [RANGE 7 SECONDS]"
    [top] = plan(f"SELECT a.k FROM {inputs} WHERE {conditions}").children
    assert isinstance(top, Join)
    spec = mjoin_spec(top)
    assert [
        f"{edge.ends[0]}-{edge.ends[1]} {' '.join(ref.name[-1] for ref, _ in edge.keys)}"
        for edge in spec.edges
    ] == edges
    assert [edge.ends for edge in spec.bands] == [(0, 1), (0, 2), (1, 2)]
