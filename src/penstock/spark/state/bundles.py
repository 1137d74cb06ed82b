"""Bundles: small segments with the same columns, kept as one value of Spark's store.

A value costs a call to the store, some 0.3 ms however small it is, and a thousand queries have more
than a thousand new segments in every batch. So those of a batch that are alike stand one below the
other in one value, and the directory says which they are, in their order:

    segments    [id of a segment that is a value by itself, …]
    bundles     {id of a value: [[id of a segment, its rows], …], …}

A bundle is removed when its last segment has gone. Before that, when those that have gone are more
than those that are left, the latter are written anew, with what is new in that batch: for each row
that is written again, another one has gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

from penstock.kernel.segments import new_id
from penstock.kernel.stacks import stacks

#: The segments in a value, and how many rows each has; None: those of the whole value.
Parts: TypeAlias = "list[tuple[int, int | None]]"
#: By id, what is kept in the store.
Values: TypeAlias = dict[int, Parts]


@dataclass(frozen=True)
class SegmentPlace:
    """Where a segment is: in which value, from which row on, and how many; None: the whole."""

    value: int
    first: int = 0
    rows: int | None = None


def values_in(directory: Mapping[str, Any]) -> Values:
    """What a directory refers to."""
    alone: Values = {number: [(number, None)] for number in directory["segments"]}
    bundles = directory.get("bundles", {}).items()
    return alone | {int(value): [(n, rows) for n, rows in parts] for value, parts in bundles}


def told_of(values: Values) -> dict[str, Any]:
    """The same as it stands in the directory."""
    alone = [value for value, parts in values.items() if parts == [(value, None)]]
    bundles = {value: parts for value, parts in values.items() if parts != [(value, None)]}
    return {"segments": sorted(alone), "bundles": bundles}


def places_in(values: Values) -> dict[int, SegmentPlace]:
    """By segment, where it is."""
    found = {}
    for value, parts in values.items():
        first = 0
        for number, rows in parts:
            found[number] = SegmentPlace(value, first, rows)
            first += rows or 0
    return found


def still_good(values: Values, wanted: Collection[int]) -> Values:
    """The values that stay, where these segments are wanted."""
    return {value: parts for value, parts in values.items() if _stays(parts, wanted)}


def _stays(parts: Parts, wanted: Collection[int]) -> bool:
    # A segment has rows, so one that is a value by itself counts as one.
    left = sum(rows or 1 for number, rows in parts if number in wanted)
    return left > 0 and 2 * left >= sum(rows or 1 for _, rows in parts)


def bundled(segments: Mapping[int, pl.DataFrame]) -> Iterator[tuple[int, Parts]]:
    """Segments as they are to be written: by the id of a value, those that it has."""
    for numbers in stacks(segments):
        if len(numbers) == 1:
            yield numbers[0], [(numbers[0], None)]
        else:
            yield new_id(), [(number, segments[number].height) for number in numbers]
