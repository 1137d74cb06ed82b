"""Answers in order, on a real Spark session: across micro-batches, partition groups and a restart.

All groups release what lies below one bound in the same batch, and the driver sorts what they give;
so files of results, read one after another, are in order.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from tests.spark.packets import by_local_engine, same, script, write_packets

HOSTS = "CREATE TABLE hosts (ip STRING, site INT) FROM csv '{file}';"
QUERIES = {
    "rows": "SELECT srcIP, len, ts FROM packets WHERE len > 200 ORDERED",
    "joined": "SELECT a.srcIP, a.ts, b.ts AS bt FROM packets a JOIN packets b "
    "ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.len < b.len "
    "AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 SECOND ORDER BY a.ts",
    "counted": "SELECT srcIP, count(*) AS n FROM packets [RANGE 4 SECONDS, SLIDE 1 SECOND] "
    "GROUP BY srcIP ORDERED",
    "placed": "SELECT p.len, p.ts, h.site FROM packets p LEFT JOIN hosts h ON p.srcIP = h.ip "
    "ORDERED",
}
BY = {"rows": "ts", "joined": "ts", "counted": "window_end", "placed": "ts"}


def test_answers_stay_in_order_across_batches_groups_and_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_packets(tmp_path / "in", range(0, 2), rows=1000)
    sources = pl.read_parquet(tmp_path / "in" / "*.parquet").get_column("srcIP").unique().sort()
    hosts = pl.DataFrame({"ip": sources[::2], "site": range(len(sources[::2]))})
    hosts.write_csv(tmp_path / "hosts.csv")
    text = script(tmp_path / "in", QUERIES, tmp_path / "out")
    schema = "ip STRING, site INT"
    for files in (range(0, 2), range(2, 4)):
        write_packets(tmp_path / "in", files, rows=1000)
        engine = Engine(spark)
        frame = spark.read.csv(str(tmp_path / "hosts.csv"), schema=schema, header=True)
        engine.table("hosts", frame)
        engine.sql(text)
        engine.start()
        engine.process_available()
        if files.start:
            engine.finish()
        engine.stop()
    table = HOSTS.format(file=tmp_path / "hosts.csv")
    expected = by_local_engine(table + script(tmp_path / "in", QUERIES))
    for name, by in BY.items():
        parts = sorted((tmp_path / "out" / name).glob("*.parquet"))
        answer = pl.concat([pl.read_parquet(part) for part in parts])
        assert len(parts) > 2, "so that there is an order across batches to keep"
        assert answer.get_column(by).is_sorted(), name
        assert same(answer, expected.query(name).results()), name
