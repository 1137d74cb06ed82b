"""Every query text of the specification binds, as it is written there. Spec: window-queries 2.2.

The texts and their plans stand in `golden/specification.txt`. Two texts are lost; ours are written
after their description. Q6-4 asks which sources sent 5 % of all packets: a count per source, joined
with the count of all over equal windows. Q7-1 counts pairs per pair of times.
"""

from __future__ import annotations

import pytest

from penstock.plan.nodes import Join, WindowAggregate
from penstock.windows import Partitioned, Sliding
from tests.sql.declared import plan_of
from tests.sql.golden import Case, compared
from tests.sql.specification import QUERIES

#: As the specification numbers them; Q6-1 is Q5-1.
NAMES = """
    Q1-1 Q1-2 Q2-1 Q3-1 Q5-1 Q5-2 Q5-3 Q5-4 Q5-5 Q5-6 Q5-7 Q5-8
    Q6-2 Q6-3 Q6-4 Q6-5 Q6-6 Q6-7 Q6-8 Q7-1 Q7-2 Q8-1 Q8-2 Q8-3 Q8-4 Q8-5
"""


def test_none_is_left_out() -> None:
    assert list(QUERIES) == NAMES.split()


@pytest.mark.parametrize("case", QUERIES.values(), ids=lambda case: case.title)
def test_a_query_of_the_specification_has_this_plan(case: Case) -> None:
    found, expected = compared(case)
    assert found == expected


def test_the_ranges_of_a_sliding_join_belong_to_their_own_sides() -> None:
    """Q5-8: Main1's packet at most 2 min after Main2's; Main2's at most 3 min after Main1's."""
    join = plan_of(QUERIES["Q5-8"].sql).children[0]
    assert isinstance(join, Join)
    minute, [edge] = 60_000_000, join.edges
    assert edge.band.joins(10 * minute, 8 * minute)
    assert not edge.band.joins(10 * minute, 8 * minute - 1)
    assert edge.band.joins(10 * minute, 13 * minute)
    assert not edge.band.joins(10 * minute, 13 * minute + 1)


def test_partition_then_window_is_not_window_then_group() -> None:
    """Q5-2 takes the last 1000 packets of each source, Q5-3 the last 1000 of all."""
    partitioned, grouped = (plan_of(QUERIES[name].sql) for name in ("Q5-2", "Q5-3"))
    assert isinstance(partitioned, WindowAggregate)
    assert isinstance(grouped, WindowAggregate)
    assert isinstance(partitioned.window, Partitioned)
    assert isinstance(grouped.window, Sliding)
    assert partitioned.groups == grouped.groups == ("srcIP",)
