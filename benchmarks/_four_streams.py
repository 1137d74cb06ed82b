"""Four streams in a chain, for benchmarks of joins of many: rows, SQL, Spark's way, and the answer.

Every row joins those of the next stream within 10 s, or another band, that are of the same shop and
have one more key in common:

    a ── x ── b ── y ── c ── z ── d

`Fans` says how many partners a row has along each key, by how many values the key has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from _streams import SECOND, START, arrivals, read_files, write_files
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

RATE, DISORDER, BAND, SHOPS = 10_000, 5, 10, 1_000
FILE_SECONDS, FILES_PER_TRIGGER = 10, 2

STREAMS = {"a": ("x",), "b": ("x", "y"), "c": ("y", "z"), "d": ("z",)}
LINKS = ("x", "y", "z")
#: The row that closes everything is of no shop, in every stream another.
NOBODY = {name: {"shop": -1 - number} for number, name in enumerate(STREAMS)}

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fans:
    """How many partners a row has on average, along each key."""

    x: float
    y: float
    z: float

    def values(self, key: str, near: float) -> int:
        """So many values of a key leave a row so many partners, of those of its shop near it."""
        return round(near / float(getattr(self, key)))


@dataclass(frozen=True)
class Chain:
    """Streams that last some seconds; fans change at the beginning of each phase."""

    seconds: int
    phases: tuple[tuple[int, Fans], ...]  # (from second, fans)
    band: int = BAND
    disorder: int = DISORDER
    file_seconds: int = FILE_SECONDS

    @property
    def rows(self) -> int:
        """Of each stream."""
        return self.seconds * RATE

    def write(self, folder: Path) -> list[Path]:
        """The files of all streams, all but the first of which wait."""
        for name, rows in self.made().items():
            files = self.seconds // self.file_seconds
            write_files(folder / name, rows, files, keys=NOBODY[name])
        return [folder / name for name in STREAMS]

    def made(self) -> dict[str, pl.DataFrame]:
        found = {}
        for seed, (name, keys) in enumerate(STREAMS.items()):
            rng = np.random.default_rng(seed)
            times = arrivals(self.rows, RATE, self.disorder, rng)
            columns = {"shop": rng.integers(0, SHOPS, self.rows), "id": np.arange(self.rows)}
            for key in keys:
                columns[key] = self._drawn(key, times, rng)
            found[name] = pl.DataFrame({**columns, "ts": times})
        return found

    def _drawn(self, key: str, times: Times, rng: np.random.Generator) -> Times:
        """Values of a key, as many as the phase of each time has."""
        begins = np.array([START + begin * SECOND for begin, _ in self.phases])
        near = RATE * 2 * self.band / SHOPS
        values = np.array([fans.values(key, near) for _, fans in self.phases])
        phase = np.searchsorted(begins, times, side="right") - 1
        drawn: Times = (rng.random(len(times)) * values[phase]).astype(np.int64)
        return drawn

    def answer(self) -> pl.DataFrame:
        """What the join comes to, by Polars, each phase from its most selective end."""
        made = self.made()
        ends = [begin for begin, _ in self.phases[1:]]
        bounds = [-(1 << 62), *(START + end * SECOND for end in ends), 1 << 62]
        parts = []
        for (_, fans), low, high in zip(self.phases, bounds, bounds[1:], strict=False):
            # Every result belongs to the phase of its row of b.
            near = self.band * SECOND
            within = {
                name: rows.filter(
                    pl.col("ts").is_between(low - 2 * near, high + 2 * near)
                    if name != "b"
                    else (pl.col("ts") >= low) & (pl.col("ts") < high)
                )
                for name, rows in made.items()
            }
            parts.append(_joined(within, "abcd" if fans.x < fans.z else "dcba", self.band))
        return pl.concat(parts)


def _joined(rows: dict[str, pl.DataFrame], order: str, band: int) -> pl.DataFrame:
    """All four streams joined in this order, along the chain."""
    found = _named(rows[order[0]], order[0])
    for before, name in pairwise(order):
        [link] = set(STREAMS[before]) & set(STREAMS[name])
        found = found.join(
            _named(rows[name], name),
            left_on=[f"{before}_shop", f"{before}_{link}"],
            right_on=[f"{name}_shop", f"{name}_{link}"],
            coalesce=False,
        ).filter((pl.col(f"{before}_ts") - pl.col(f"{name}_ts")).abs() <= band * SECOND)
    return found.select(pl.col(f"{name}_id").alias(name) for name in STREAMS)


def _named(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    return rows.select(pl.all().name.prefix(f"{name}_"))


def declared(
    folder: Path, files_per_trigger: int = FILES_PER_TRIGGER, disorder: int = DISORDER
) -> str:
    """The streams, in our SQL."""
    return "".join(
        f"CREATE STREAM {name} ({schema(name)}) FROM parquet '{folder}/{name}' "
        f"OPTIONS (maxFilesPerTrigger '{files_per_trigger}') TIMESTAMP BY ts "
        f"SLACK {disorder} SECONDS;"
        for name in STREAMS
    )


def schema(name: str) -> str:
    keys = "".join(f", {key} BIGINT" for key in STREAMS[name])
    return f"shop BIGINT, id BIGINT{keys}, ts TIMESTAMP"


def query(folder: Path, band: int = BAND) -> str:
    """The join, written from left to right."""
    joins = "".join(
        f" JOIN {right} ON {left}.shop = {right}.shop AND {left}.{link} = {right}.{link} "
        f"AND {right}.ts BETWEEN {left}.ts - INTERVAL {band} SECONDS "
        f"AND {left}.ts + INTERVAL {band} SECONDS"
        for left, right, link in zip("abc", "bcd", LINKS, strict=True)
    )
    ids = ", ".join(f"{name}.id AS {name}" for name in STREAMS)
    return f"CREATE QUERY q INTO parquet '{folder}/out' AS SELECT {ids} FROM a{joins};"


def rival(spark: SparkSession, folder: Path, order: Sequence[str]) -> DataFrame:
    """Spark's chain of stream-stream joins, in this order."""
    band = F.expr(f"INTERVAL {BAND} SECONDS")
    found: DataFrame | None = None
    for before, name in zip((None, *order), order, strict=False):
        rows = read_files(spark, folder / name, schema(name), FILES_PER_TRIGGER)
        marked = rows.withWatermark("ts", f"{DISORDER} seconds")
        side = marked.select(*(F.col(c).alias(f"{name}_{c}") for c in marked.columns))
        if found is None or before is None:
            found = side
            continue
        [link] = set(STREAMS[before]) & set(STREAMS[name])
        condition = (
            (F.col(f"{before}_shop") == F.col(f"{name}_shop"))
            & (F.col(f"{before}_{link}") == F.col(f"{name}_{link}"))
            & F.col(f"{name}_ts").between(
                F.col(f"{before}_ts") - band, F.col(f"{before}_ts") + band
            )
        )
        found = found.join(side, condition, "inner")
    assert found is not None
    return found.select(*(F.col(f"{name}_id").alias(name) for name in STREAMS))
