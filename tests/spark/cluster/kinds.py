"""Queries of every kind, over streams of every kind, and their answers by the local engine.

Packets, replies and acknowledgements are files, one in a micro-batch; clicks come from the program.
No row is late, so hosts agree on every answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from penstock.local.engine import LocalEngine
from penstock.workloads import workload
from tests.spark.packets import write_file

_COLUMNS = "(srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)"
_FILES = (
    "CREATE STREAM {name} {columns} FROM parquet '{folder}/{name}' "
    "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 3 SECONDS;"
)
STREAMS = ("packets", "replies", "acks")
CLICKS = "who STRING, n BIGINT, ts TIMESTAMP"

_PAIRS = (
    "SELECT p.srcIP, p.len AS one, r.len AS other, p.ts AS first, r.ts AS second FROM packets p "
    "{kind} JOIN replies r ON p.srcIP = r.srcIP AND p.destIP = r.destIP WITHIN 1 SECOND"
)
KINDS = {
    "tumbling": "SELECT srcIP, count(*) AS n, sum(len) AS bytes FROM packets [RANGE 4 SECONDS] "
    "GROUP BY srcIP",
    "sliding": "SELECT srcIP, count(*) AS n, avg(len) AS mean "
    "FROM packets [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY srcIP",
    "sessions": "SELECT srcIP, count(*) AS n, window_start, window_end FROM SESSION(TABLE packets "
    "PARTITION BY srcIP, DESCRIPTOR(ts), INTERVAL '1' SECOND) "
    "GROUP BY srcIP, window_start, window_end",
    "everybody": "SELECT count(*) AS n, stddev(len) AS s FROM packets [RANGE 5 SECONDS]",
    "pairs": _PAIRS.format(kind=""),
    "lonely": _PAIRS.format(kind="LEFT"),
    "all_of_them": _PAIRS.format(kind="FULL"),
    "three": "SELECT p.srcIP, p.len AS a, r.len AS b, k.len AS c FROM packets p "
    "JOIN replies r ON p.srcIP = r.srcIP AND p.destIP = r.destIP WITHIN 1 SECOND "
    "JOIN acks k ON p.srcIP = k.srcIP AND p.destIP = k.destIP WITHIN 1 SECOND",
    "large": "SELECT srcIP, len * 2 AS twice, ts FROM acks WHERE len >= 1400",
    "in_order": "SELECT srcIP, len, ts FROM packets WHERE len >= 1400 ORDER BY ts",
    "named": "SELECT k.len, h.site, k.ts FROM acks k JOIN hosts h ON k.srcIP = h.ip",
    "by_site": "SELECT h.site, count(*) AS n FROM packets p [RANGE 5 SECONDS] "
    "JOIN hosts h ON p.srcIP = h.ip GROUP BY h.site",
    "changes": "SELECT srcIP, sum(len) AS bytes FROM packets [RANGE 5 SECONDS] GROUP BY srcIP "
    "EMIT CHANGES",
    "pushed": "SELECT who, sum(n) AS n FROM clicks [RANGE 10 SECONDS] GROUP BY who",
}


def write_streams(folder: Path, files: int, rows: int) -> None:
    for seed, name in enumerate(STREAMS):
        made = workload("packets", {"rate": "100", "disorder": "3 seconds", "keys": "12"}, seed)
        (folder / name).mkdir(parents=True)
        for number in range(files):
            part = made.rows(number * rows, rows)
            part = part.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
            write_file(folder / name / f"{number:03d}.parquet", part, number)
    ips = pl.read_parquet(folder / "packets" / "000.parquet").get_column("srcIP").unique().sort()
    hosts = pl.DataFrame({"ip": ips, "site": range(ips.len())}).with_columns(pl.col("site") % 3)
    hosts.write_csv(folder / "hosts.csv")


def declared(folder: Path) -> str:
    """The statements that both engines get."""
    streams = (_FILES.format(name=n, columns=_COLUMNS, folder=folder) for n in STREAMS)
    return "".join(streams) + (
        f"CREATE TABLE hosts (ip STRING, site INT) FROM csv '{folder}/hosts.csv';"
    )


def clicks(count: int = 400) -> Iterator[dict[str, Any]]:
    for n in range(count):
        yield {"who": "abc"[n % 3], "n": n, "ts": 1_700_000_000_000_000 + n * 100_000}


def statement(folder: Path, name: str) -> str:
    return f"CREATE QUERY {name} INTO parquet '{folder}/out/{name}' AS {KINDS[name]};"


def expected(folder: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    """By query, its results by the local engine."""
    engine = LocalEngine()
    engine.sql(declared(folder) + f"CREATE STREAM clicks ({CLICKS}) TIMESTAMP BY ts ORDERED")
    for name, text in KINDS.items():
        engine.sql(f"CREATE QUERY {name} AS {text}")
    for _ in engine.read_files():
        pass
    engine.push("clicks", list(clicks()))
    engine.finish()
    return {name: counted(name, engine.query(name).results()) for name in KINDS}


def written(folder: Path, name: str) -> pl.DataFrame:
    """What a query has written, batch by batch."""
    files = sorted((folder / "out" / name).glob("part-*.parquet"))
    return pl.concat(map(pl.read_parquet, files)) if files else pl.DataFrame()


def counted(name: str, rows: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    if "is_final" in rows.columns:  # how many revisions come before depends on the batches
        rows = rows.filter("is_final")
    rounded = rows.select(pl.col(sorted(rows.columns))).with_columns(pl.col(pl.Float64).round(6))
    return Counter(rounded.rows())


def wrong(folder: Path) -> dict[str, tuple[int, int]]:
    """Rows that are missing, and rows too many, of each query that is not as it should be."""
    found = {}
    for name, right in expected(folder).items():
        assert right, f"`{name}` has no results to compare"
        given = counted(name, written(folder, name))
        if right != given:
            found[name] = ((right - given).total(), (given - right).total())
    times = written(folder, "in_order").get_column("ts").to_list()
    assert times == sorted(times)
    return found
