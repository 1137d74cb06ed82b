"""Packets in files, queries over them, and their answers by the local engine."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from penstock.local.engine import LocalEngine
from penstock.oracle.evaluate import same_rows
from penstock.workloads import workload

PACKETS = """
CREATE STREAM packets
  (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  FROM parquet '{data}' OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 3 SECONDS;
"""

QUERIES = {
    "sliding": "SELECT srcIP, count(*) AS n, sum(len) AS bytes, avg(len) AS mean "
    "FROM packets [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY srcIP",
    "subset": "SELECT srcIP, destIP, max(len) AS m FROM packets [RANGE 4 SECONDS] "
    "GROUP BY srcIP, destIP",
    "all": "SELECT count(*) AS n, stddev(len) AS s FROM packets [RANGE 5 SECONDS]",
    "large": "SELECT srcIP, len * 2 AS twice, ts FROM packets WHERE len >= 1400 AND srcPort <> 80",
    "busy": "SELECT max(n) [RANGE 8 SECONDS, SLIDE 8 SECONDS, WA window_start] AS most FROM "
    "(SELECT srcIP, count(*) AS n FROM packets [RANGE 2 SECONDS] GROUP BY srcIP)",
    "rows": "SELECT count(*) AS n, min(len) AS m FROM packets [RANGE 1000 ROWS, SLIDE 500 ROWS]",
    "twice": "SELECT count(*) AS n FROM packets UNION packets [RANGE 10 SECONDS]",
}


def write_packets(folder: Path, files: range, rows: int = 2000) -> None:
    """Files of packets, in order of arrival: file n always holds the same rows."""
    folder.mkdir(parents=True, exist_ok=True)
    made = workload("packets", {"rate": "500", "disorder": "3 seconds", "keys": "20"})
    for number in files:
        part = made.rows(number * rows, rows)
        part = part.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
        write_file(folder / f"{number:03d}.parquet", part, number)


def write_file(file: Path, rows: pl.DataFrame, number: int) -> None:
    """A file that comes after those of smaller number: Spark reads files in the order of age."""
    rows.write_parquet(file)
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def script(data: Path, queries: dict[str, str], into: Path | None = None) -> str:
    sink = f"INTO parquet '{into}/{{name}}'" if into else ""
    return PACKETS.format(data=data) + "".join(
        f"CREATE QUERY `{name}` {sink.format(name=name)} AS {sql};" for name, sql in queries.items()
    )


def by_local_engine(text: str) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(text)
    for _ in engine.read_files():
        pass
    engine.finish()
    return engine


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    return one.columns == other.columns and same_rows(one.to_dicts(), other.to_dicts())
