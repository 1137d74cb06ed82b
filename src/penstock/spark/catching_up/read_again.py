"""A slice of the past, as a group sees it: its rows, and how far the streams had come then.

Groups read the files themselves, each all of them, and keep their own rows. The exchange would read
each once, but where no rows come it has no tasks. Malformed rows are passed over: they were handed
out when they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING
from penstock.optimizer.physical import Program
from penstock.runtime.arrivals import Arrivals
from penstock.spark.control.told import Told
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.exchange.reached import Reached
from penstock.spark.exchange.spreading import spread
from penstock.spark.sources.direct_files import read_file
from penstock.spark.sources.narrow_reading import columns_needed, whole


def read_again(
    program: Program, slice: Mapping[str, Sequence[str]], group: int, told: Told
) -> list[Arrivals]:
    """What a slice brings to a group, by stream of the program; by stream, it has these files."""
    used = columns_needed(program)
    return [
        _arrivals(stream, slice.get(stream.name, ()), group, told, used[stream.name])
        for stream in program.streams
    ]


def _arrivals(
    stream: Stream, files: Sequence[str], group: int, told: Told, used: frozenset[str] | None
) -> Arrivals:
    keys, found, reached = told.keys.get(stream.name, ()), Arrivals(), Reached(stream)
    columns = None if used is None else used.union(keys or ())
    needed = Preaggregation(columns=columns).needed(BEGINNING, stream)
    marker, place = stream.timing.marker, list(told.groups).index(group)
    for number, file in enumerate(files):
        for block in read_file(file, stream, needed):
            rows = block.rows
            found.rows += rows.height
            if marker is not None and rows.get_column(marker).any():
                is_punctuation = rows.get_column(marker).fill_null(False)
                found.punctuation.append(whole(rows.filter(is_punctuation), stream))
                rows = rows.filter(~is_punctuation)
            reached.take(rows)
            for mine in _mine(rows, keys, number, place, len(told.groups)):
                found.blocks.append(whole(mine, stream))
    found.newest, found.highest = reached.newest, reached.newest_of
    found.foremost = reached.foremost.to_list()
    return found


def _mine(
    rows: pl.DataFrame, keys: Sequence[str] | None, file: int, place: int, groups: int
) -> Iterator[pl.DataFrame]:
    """The rows of the group at a place, if there are any: spread as the exchange does."""
    if keys is None:
        mine = rows if file % groups == place else rows.clear()
    elif not keys or groups == 1:
        mine = rows if place == 0 else rows.clear()
    else:
        mine = rows.filter(spread(rows, keys, groups) == place)
    if mine.height:
        yield mine
