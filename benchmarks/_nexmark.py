"""The streams of NEXMark for both systems: files of persons, auctions and bids.

Times, sizes and the delay of watermarks are those of the usual NEXMark for SQL: 10 000 events per
second, in order, and a watermark 4 s behind. What is written once serves every query and both
sides: each run gets links to the same files.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import polars as pl
from _streams import START, read_files, write_files
from pyspark.sql import SparkSession

from penstock.model.types import Type
from penstock.workloads import workload
from penstock.workloads.auction_house import ROUND, AuctionHouse
from penstock.workloads.auctions import Auctions
from penstock.workloads.bids import Bids
from penstock.workloads.persons import Persons

RATE, SLACK = 10_000, 4
EVENTS_PER_FILE, FILES_PER_TRIGGER = 500_000, 4
#: Rounds of 50 events in the first file, which starts a query.
FIRST_ROUNDS = 50
SIDE_ROWS = 10_000

KINDS: dict[str, type[AuctionHouse]] = {"persons": Persons, "auctions": Auctions, "bids": Bids}
#: The row that closes all windows has no partner in any join.
NOBODY = {
    "persons": {"id": -1},
    "auctions": {"id": -2, "seller": -3},
    "bids": {"auction": -4, "bidder": -5},
}
#: A static table for the query that looks values up.
SIDE = "side"
SIDE_COLUMNS = "key BIGINT, value STRING"


def write_events(folder: Path, events: int) -> None:
    """All three streams, and the static table."""
    rounds = events // ROUND
    for name, kind in KINDS.items():
        made = workload(name, {"rate": str(RATE), "start": str(START)}, seed=7)
        times = [column.name for column in made.columns if column.type is Type.TIMESTAMP]
        rows = made.rows(0, rounds * kind.per_round)
        write_files(
            folder / name,
            rows.with_columns(pl.col(times).cast(pl.Datetime("us", "UTC"))),
            max(1, events // EVENTS_PER_FILE),
            first=FIRST_ROUNDS * kind.per_round,
            timestamp=kind.timestamp,
            ahead_by="2d",  # some windows are a day long
            keys=NOBODY[name],
        )
    keys = pl.int_range(SIDE_ROWS, eager=True)
    (folder / SIDE).mkdir()
    side = pl.DataFrame({"key": keys, "value": "value " + keys.cast(pl.String)})
    side.write_parquet(folder / SIDE / "00000.parquet")


def link_events(written: Path, folder: Path, streams: Iterable[str]) -> list[Path]:
    """The files of these streams for one run, as if none had arrived but the first."""
    shutil.copytree(written / SIDE, folder / SIDE, copy_function=os.link)
    for name in streams:
        for part in (name, f"{name}-waiting"):
            shutil.copytree(written / part, folder / part, copy_function=os.link)
    return [folder / name for name in streams]


def declare_streams(folder: Path, streams: Iterable[str]) -> str:
    """The streams and the static table in our SQL."""
    declared = [
        f"CREATE STREAM {name} ({KINDS[name].declaration}) FROM parquet '{folder}/{name}' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') "
        f"TIMESTAMP BY {KINDS[name].timestamp} SLACK {SLACK} SECONDS;"
        for name in streams
    ]
    table = f"CREATE TABLE {SIDE} ({SIDE_COLUMNS}) FROM parquet '{folder}/{SIDE}';"
    return "".join([*declared, table])


def show_streams(
    spark: SparkSession, folder: Path, streams: Iterable[str], *, watermarks: bool
) -> None:
    """The same as views of Spark; a query without state is faster without watermarks."""
    for name in streams:
        rows = read_files(spark, folder / name, KINDS[name].declaration, FILES_PER_TRIGGER)
        if watermarks:
            rows = rows.withWatermark(KINDS[name].timestamp, f"{SLACK} seconds")
        rows.createOrReplaceTempView(name)
    spark.read.parquet(str(folder / SIDE)).createOrReplaceTempView(SIDE)
