"""Rows of a stream from where it comes: so many that fit together with those of other streams.

Files are read by the product's own readers, workloads are made. Rows are taken from one stretch of
time for all streams, as long as a few of the longest windows, and of keys that several streams
have, so that they meet. What cannot be read to an end (Kafka, sockets, what a program pushes), or
only with options that Spark alone knows, gets rows of the declared types instead.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from zlib import crc32

import polars as pl

from penstock.errors import NotExecutable
from penstock.io.files import check_options, read_blocks
from penstock.io.results import SINK_FORMATS
from penstock.kernel.conform import conform
from penstock.model.streams import Stream
from penstock.verification.case import Row, own_time, rows_of

#: Rows of a stream that are looked at.
MOST_READ = 50_000


@dataclass(frozen=True)
class StreamSample:
    """Rows that were read, all of a stream or its first ones; None: it cannot be read."""

    rows: pl.DataFrame | None
    origin: str
    reason: str = ""
    rejected: int = 0


def read_sample(stream: Stream) -> StreamSample:
    """The first rows of a stream, in a block's types."""
    origin = stream.origin
    if origin.format in SINK_FORMATS and origin.path is not None:
        return _of_files(stream)
    if origin.format == "workload":
        from penstock.io.sources.workload_source import workload_of

        made = workload_of(origin)
        count = MOST_READ if made.total is None else min(made.total, MOST_READ)
        return StreamSample(made.rows(0, count), str(origin))
    read = ", ".join((*SINK_FORMATS, "workload"))
    reason = "no FROM" if origin.format == "push" else f"{origin}; what is read here: {read}"
    return StreamSample(None, str(origin), reason)


def _of_files(stream: Stream) -> StreamSample:
    try:
        check_options(stream)
    except NotExecutable as error:  # Spark may know it
        return StreamSample(None, str(stream.origin), error.message)
    frames, rejected, read = [], 0, 0
    for block in islice(read_blocks(stream, MOST_READ // 5), 50):
        conformed = conform(stream, block.rows)
        frames.append(conformed.rows)
        rejected += len(block.rejected)
        rejected += 0 if conformed.rejected is None else conformed.rejected.height
        read += conformed.rows.height
        if read >= MOST_READ:
            break
    rows = pl.concat(frames) if frames else None
    if rows is None or not rows.height:
        return StreamSample(None, str(stream.origin), f"{stream.origin} has no rows", rejected)
    return StreamSample(rows.head(MOST_READ), str(stream.origin), rejected=rejected)


def choose(
    chance: random.Random,
    streams: Mapping[str, Stream],
    samples: Mapping[str, StreamSample],
    keys: Mapping[str, Sequence[str]],
    counts: Mapping[str, int],
    span: int,
) -> dict[str, list[Row]]:
    """At most so many rows of each stream, in its order, out of one stretch of time."""
    frames = {name: s.rows for name, s in samples.items() if s.rows is not None}
    dated = {name: on for name in frames if (on := own_time(streams[name])) is not None}
    few = all(frame.height <= counts[name] for name, frame in frames.items())
    for low, high in [] if few else _stretches(chance, frames, dated, span):
        cut = {
            name: frame.filter(pl.col(dated[name]).is_between(low, high))
            if name in dated
            else frame
            for name, frame in frames.items()
        }
        if all(frame.height for frame in cut.values()):
            break
    else:
        cut = frames
    met, salt = _met(cut, keys), chance.random()

    def rank(value: object) -> tuple[bool, int]:
        """Keys that several streams have come first, and in all streams in the same order."""
        return value not in met, crc32(f"{salt} {value}".encode())

    return {
        name: rows_of(_thinned(chance, frame, keys.get(name, ()), rank, counts[name]))
        for name, frame in cut.items()
    }


def _stretches(
    chance: random.Random, frames: Mapping[str, pl.DataFrame], dated: Mapping[str, str], span: int
) -> list[tuple[int, int]]:
    """Some stretches of time that begin at a row of the stream that has fewest."""
    if not dated:
        return []
    name = min(dated, key=lambda each: frames[each].height)
    times = frames[name].get_column(dated[name]).drop_nulls().to_list()
    begins = [chance.choice(times) for _ in range(8)] if times else []
    return [(begin - span // 4, begin + span) for begin in begins]


def _met(frames: Mapping[str, pl.DataFrame], keys: Mapping[str, Sequence[str]]) -> set[object]:
    """Values of first keys that several streams have."""
    seen = Counter(
        value
        for name, frame in frames.items()
        if keys.get(name)
        for value in frame.get_column(keys[name][0]).unique().to_list()
    )
    return {value for value, times in seen.items() if times > 1}


def _thinned(
    chance: random.Random,
    frame: pl.DataFrame,
    keys: Sequence[str],
    rank: Callable[[object], tuple[bool, int]],
    count: int,
) -> pl.DataFrame:
    """So many rows, of as few keys as it takes."""
    if frame.height <= count:
        return frame
    places = list(range(frame.height))
    if keys:
        values = frame.get_column(keys[0]).to_list()
        counts = Counter(values)
        wanted: set[object] = set()
        for value in sorted(counts, key=rank)[:200]:
            wanted.add(value)
            if sum(counts[each] for each in wanted) >= count:
                break
        places = [place for place, value in enumerate(values) if value in wanted] or places
    count = min(count, len(places))
    if chance.random() < 0.5:  # as dense as they are
        first = chance.randint(0, len(places) - count)
        return frame[places[first : first + count]]
    return frame[sorted(chance.sample(places, count))]
