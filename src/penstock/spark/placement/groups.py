"""Partition groups: which rows are computed together, and where.

A group is a share of the keys; one kernel graph runs per group. Spark places a group on a state
partition by hashing the group's key, and small numbers hash unevenly (0 and 1 meet in one of two
partitions). So the keys are chosen by their hash: `group_keys` gives every partition the same
number of groups.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF


def group_keys(groups: int, partitions: int) -> list[int]:
    """A key for each group, spread evenly over the partitions.

    >>> group_keys(2, 2), group_keys(4, 4)
    ([2, 0], [2, 0, 14, 3])
    """
    room = [groups // partitions + (p < groups % partitions) for p in range(partitions)]
    chosen: list[list[int]] = [[] for _ in range(partitions)]
    key = 0
    while sum(map(len, chosen)) < groups:
        partition = spark_hash(key) % partitions
        if len(chosen[partition]) < room[partition]:
            chosen[partition].append(key)
        key += 1
    return [keys[i] for i in range(max(room)) for keys in chosen if i < len(keys)]


def spark_hash(value: int) -> int:
    """What Spark's `hash(bigint)` gives: Murmur3 with seed 42, as a signed integer."""
    value &= 0xFFFFFFFFFFFFFFFF
    state = _mix(_mix(42, _scramble(value & _MASK)), _scramble(value >> 32)) ^ 8
    state ^= state >> 16
    state = (state * 0x85EBCA6B) & _MASK
    state ^= state >> 13
    state = (state * 0xC2B2AE35) & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >= 1 << 31 else state


def _rotate(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def _scramble(value: int) -> int:
    return (_rotate((value * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _mix(state: int, value: int) -> int:
    return (_rotate(state ^ value, 13) * 5 + 0xE6546B64) & _MASK
