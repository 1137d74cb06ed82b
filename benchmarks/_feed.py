"""A feed: rows that arrive by the clock, as small parquet files, from a process of its own.

Every tick brings one file per stream. Event time is the wall clock at which a row is made, evenly
spread; each row arrives up to a tick late, so a slack of one tick is enough. A file is written
under a hidden name and renamed when it is complete; that is when its rows arrive, and it is noted.
The rows are the same in every run but for the time at which it began. `v` numbers a stream's rows.

A feed may begin with a file of the time before it, at a low rate, which fills long windows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

SECOND = 1_000_000
TICK = 100_000  # microseconds
HISTORY_RATE = 1_000
SCHEMA = "k BIGINT, v BIGINT, ts TIMESTAMP"

_END = "feed.json"


@dataclass(frozen=True)
class Feed:
    """What arrives, and for how long."""

    streams: tuple[str, ...]
    rate: int  # rows a second, of all streams together
    keys: int
    seconds: int
    history: int = 0  # seconds


@dataclass(frozen=True)
class Fed:
    """What has arrived: the rows of each stream, with the time they `arrived`, in microseconds."""

    start: int
    rows: dict[str, pl.DataFrame]


@contextmanager
def feeding(feed: Feed, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that feeds into the folders of the streams, which are made here."""
    for stream in feed.streams:
        (folder / stream).mkdir(parents=True)
    asked = [sys.executable, __file__, str(folder), json.dumps(asdict(feed))]
    with subprocess.Popen(asked) as process:
        try:
            yield process
        finally:
            process.kill()


def fed(folder: Path) -> Fed:
    """What a feed that is over has brought."""
    told = json.loads((folder / _END).read_text())
    rows = {
        stream: pl.concat(
            pl.read_parquet(folder / stream / _name(number)).with_columns(
                pl.col("ts").dt.epoch("us"), arrived=pl.lit(at, pl.Int64)
            )
            for number, at in enumerate(arrived)
        )
        for stream, arrived in told["arrived"].items()
    }
    return Fed(told["start"], rows)


def ticks(feed: Feed, seed: int) -> Iterator[pl.DataFrame]:
    """The rows of one stream as they arrive, tick by tick; times count from the start."""
    rng = np.random.default_rng(seed)
    rate = feed.rate // len(feed.streams)
    held, number = _rows(np.empty(0, np.int64), feed.keys, 0, rng), 0
    if feed.history:
        times = np.arange(-feed.history * HISTORY_RATE, 0) * (SECOND // HISTORY_RATE)
        yield _rows(times, feed.keys, number, rng).drop("due")
        number += times.size
    per_tick = rate * TICK // SECOND
    for begin in range(0, feed.seconds * SECOND, TICK):
        times = begin + np.arange(per_tick) * TICK // per_tick
        rows = pl.concat([held, _rows(times, feed.keys, number, rng)]).sort("due")
        number += per_tick
        is_due = pl.col("due") < begin + TICK
        held = rows.filter(~is_due)
        yield rows.filter(is_due).drop("due")


def _rows(
    times: npt.NDArray[np.int64], keys: int, number: int, rng: np.random.Generator
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "k": rng.integers(0, keys, times.size),
            "v": number + np.arange(times.size),
            "ts": times,
            "due": times + rng.integers(0, TICK, times.size),
        }
    )


def _name(number: int) -> str:
    return f"{number:05d}.parquet"


def _run(feed: Feed, folder: Path) -> None:
    """Feed, in time with the clock, and tell at the end when each file arrived."""
    made = [ticks(feed, seed) for seed in range(len(feed.streams))]
    arrived: dict[str, list[int]] = {stream: [] for stream in feed.streams}
    begun = time.time_ns() // 1000
    for number, parts in enumerate(zip(*made, strict=True)):
        due = begun + (number if feed.history else number + 1) * TICK
        files = []
        for stream, rows in zip(feed.streams, parts, strict=True):
            shown = rows.with_columns((pl.col("ts") + begun).cast(pl.Datetime("us", "UTC")))
            hidden = folder / stream / f".{number:05d}"
            files.append((stream, shown, hidden))
        time.sleep(max(0, due - time.time_ns() // 1000) / SECOND)
        for stream, shown, hidden in files:
            shown.write_parquet(hidden, compression="snappy")
            hidden.rename(folder / stream / _name(number))
            arrived[stream].append(time.time_ns() // 1000)
    (folder / _END).write_text(json.dumps({"start": begun, "arrived": arrived}))


if __name__ == "__main__":
    asked = json.loads(sys.argv[2])
    _run(Feed(**{**asked, "streams": tuple(asked["streams"])}), Path(sys.argv[1]))
