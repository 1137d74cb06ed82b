"""Keys of partition groups: as many as asked for, spread evenly by Spark's own hash."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.placement.groups import group_keys, spark_hash


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # Known values of Spark's hash(bigint).
        (0, -1670924195),
        (1, -1712319331),
        (42, 1316951768),
    ],
)
def test_the_hash_is_sparks(value: int, expected: int) -> None:
    assert spark_hash(value) == expected


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_the_hash_is_a_signed_32_bit_integer(value: int) -> None:
    assert -(1 << 31) <= spark_hash(value) < 1 << 31


@given(st.integers(1, 40), st.integers(1, 16))
def test_every_partition_has_its_share_of_the_groups(groups: int, partitions: int) -> None:
    keys = group_keys(groups, partitions)
    assert len(set(keys)) == len(keys) == groups
    places = Counter(spark_hash(key) % partitions for key in keys)
    sizes = [places[partition] for partition in range(partitions)]
    assert max(sizes) - min(sizes) <= 1


def test_the_first_groups_lie_on_different_partitions() -> None:
    keys = group_keys(8, 4)
    assert len({spark_hash(key) % 4 for key in keys[:4]}) == 4
