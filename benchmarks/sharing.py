"""Many continuous queries over one stream on Spark: what 10, 100 and 1000 cost beside a single one.

Orders of 100 shops, 100,000 a second, up to 5 s out of order, in parquet files; of one order in a
hundred there is a refund within 30 s, in a second stream. A micro-batch takes 2 M orders. Every
query has a filter of its own, aggregates by shop over windows of 10 or of 60 s or, one in twenty,
joins orders with refunds, and writes parquet files to a directory of its own; how they are drawn
says `_sharing_queries.py`. What counts is the time from the end of a first small batch, which
starts the queries, to the last result. Every answer of every query is compared with what Polars
computes over all rows at once.

    case           ours                          rival                         ratio
    queries-N      N queries                     the first of them alone       one's time / N's
    declare-1000   CREATE QUERY for a thousand   20 s, which it may take       20 s / ours
                   and the start of the pipeline
    spark-N        N queries                     the same as Spark's own       Spark's time / ours
                                                 streaming queries, one each

Spark runs its queries side by side in one session, each with a checkpoint and a directory of its
own. Its first run tries both of its state stores, and the faster one counts; the column `store`
says which that was. Before anything counts, each side runs ten queries over a tenth of a million
orders.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from _sharing_queries import (
    PRICES,
    PRODUCTS,
    QUANTITIES,
    REGIONS,
    SECOND,
    SHOPS,
    Query,
    draw_queries,
)
from _streams import (
    OURS_IO,
    RIVAL_IO,
    STORES,
    FastestStore,
    arrivals,
    read_files,
    release,
    run_to_end,
    write_files,
)
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed, difference
from penstock.spark.engine import Engine
from penstock.spark.session import changed, local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

RATE, DISORDER = 100_000, 5
PER_FILE, FILES_PER_TRIGGER = 500_000, 4
FULL, QUICK, WARM_UP = 10_000_000, 1_000_000, 100_000
#: One order in so many has a refund, so many seconds later at most.
REFUND_OF, REFUND_LATER = 100, 30
#: Rows that close all windows: Spark tests filters before it looks at times, so each of the queries
#: that it runs needs one that passes its own.
AHEAD = 10_000
#: Seconds that declaring a thousand queries may take.
DECLARED_WITHIN = 20.0

SCHEMAS = {
    "orders": "shop BIGINT, number BIGINT, region BIGINT, product BIGINT, price BIGINT, "
    "quantity BIGINT, ts TIMESTAMP",
    "refunds": "refund_shop BIGINT, refund_number BIGINT, reason BIGINT, refunded TIMESTAMP",
}
TIMES = {"orders": "ts", "refunds": "refunded"}
#: The rows that close all windows join nothing.
NOBODY = {"orders": {"shop": 0, "number": -1}, "refunds": {"refund_shop": 0, "refund_number": -2}}

#: By query, all rows that it put out.
Answers = dict[str, pl.DataFrame]


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    with tempfile.TemporaryDirectory() as name:
        warm_up = Streams(Path(name) / "warm-up", WARM_UP)
        for store in STORES:
            timed_ours(spark, 10, warm_up)
            timed_rival(spark, 10, warm_up, store)
        streams = Streams(Path(name) / "streams", QUICK if quick else FULL)
        for number in (10, 100, 1000):
            yield case_of_many(spark, number, streams)
        yield case_of_declaring(spark, warm_up)
        for number in (1, 10):
            yield case_of_spark(spark, number, streams)


def case_of_many(spark: SparkSession, number: int, streams: Streams) -> Case:
    extra: dict[str, object] = {"rows": streams.rows, "queries": number}
    return Case(
        name=f"queries-{number}",
        ours=partial(timed_ours, spark, number, streams, extra),
        rival=partial(timed_ours, spark, 1, streams),
        rival_name="one query",
        repeats=3,
        warm_up=0,
        ours_io=OURS_IO["parquet"],
        rival_io=OURS_IO["parquet"],
        difference=streams.difference,
        extra=extra,
    )


def case_of_declaring(spark: SparkSession, streams: Streams) -> Case:
    extra: dict[str, object] = {"queries": 1000}

    def ours() -> Timed:
        timed_ours(spark, 1000, streams, extra)
        return Timed(None, float(str(extra["declared_s"])) + float(str(extra["started_s"])))

    return Case(
        name="declare-1000",
        ours=ours,
        rival=lambda: Timed(None, DECLARED_WITHIN),
        rival_name="a limit of 20 s",
        repeats=1,
        warm_up=0,
        extra=extra,
    )


def case_of_spark(spark: SparkSession, number: int, streams: Streams) -> Case:
    extra: dict[str, object] = {"rows": streams.rows, "queries": number}
    return Case(
        name=f"spark-{number}",
        ours=partial(timed_ours, spark, number, streams),
        rival=FastestStore(partial(timed_rival, spark, number, streams), STORES, extra),
        rival_name="Spark's own, a streaming query each",
        repeats=3,
        warm_up=0,
        once_above=30.0,
        ours_io=OURS_IO["parquet"],
        rival_io=RIVAL_IO["parquet"],
        difference=streams.difference,
        extra=extra,
    )


class Streams:
    """Orders and refunds: their files, and what queries come to over all of them."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.rows = rows
        self._folder = folder
        self._expected: Answers = {}

    def link(self, folder: Path) -> list[Path]:
        """The files for one run, as if none had arrived but the first of each stream."""
        if not self._folder.exists():
            self._write()
        for name in SCHEMAS:
            for part in (name, f"{name}-waiting"):
                shutil.copytree(self._folder / part, folder / part, copy_function=os.link)
        return [folder / name for name in SCHEMAS]

    def _write(self) -> None:
        files = max(1, self.rows // PER_FILE)
        for name, rows in self._made().items():
            write_files(
                self._folder / name,
                rows,
                files,
                timestamp=TIMES[name],
                ahead_rows=min(AHEAD, rows.height),
                keys=NOBODY[name],
            )

    def _made(self) -> dict[str, pl.DataFrame]:
        rng = np.random.default_rng(7)
        orders = pl.DataFrame(
            {
                "shop": rng.integers(0, SHOPS, self.rows),
                "number": np.arange(self.rows),
                "region": rng.integers(0, REGIONS, self.rows),
                "product": rng.integers(0, PRODUCTS, self.rows),
                "price": rng.integers(0, PRICES, self.rows),
                "quantity": rng.integers(1, QUANTITIES + 1, self.rows),
                "ts": arrivals(self.rows, RATE, DISORDER, rng),
            }
        )
        of = orders[::REFUND_OF]
        later = (rng.random(of.height) * REFUND_LATER * SECOND).astype(np.int64)
        refunds = of.select(
            refund_shop="shop",
            refund_number="number",
            reason=rng.integers(0, 5, of.height),
            refunded=pl.col("ts") + pl.Series(later),
        )
        # In the order of their times, which the times of orders are up to DISORDER behind.
        return {"orders": orders, "refunds": refunds.sort("refunded")}

    def difference(self, ours: Answers, rival: Answers) -> str | None:
        """The first difference of any query from what it comes to over all rows at once."""
        queries = {query.name: query for query in draw_queries(max(len(ours), len(rival)))}
        missing = [query for name, query in queries.items() if name not in self._expected]
        if missing:
            made = self._made()
            self._expected |= {query.name: query.answer(**made) for query in missing}
        for whose, answers in (("", ours), ("the rival's ", rival)):
            for name, answer in answers.items():
                found = difference(answer, self._expected[name])
                if found is not None:
                    return f"{whose}{name}: {found} (in a batch)"
        return None


def timed_ours(
    spark: SparkSession,
    number: int,
    streams: Streams,
    extra: dict[str, object] | None = None,
) -> Timed:
    """A run of the first queries; `extra` learns what declaring and starting them took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folders = streams.link(folder)
        queries = draw_queries(number)
        engine = Engine(spark)
        engine.sql(declared_streams(folder))
        begun = time.perf_counter()
        engine.sql("".join(declared(query, folder) for query in queries))
        declared_s = time.perf_counter() - begun
        engine.start()
        started_s = time.perf_counter() - begun - declared_s
        seconds = run_to_end(engine, *folders)
        if extra is not None:
            extra |= {"declared_s": round(declared_s, 2), "started_s": round(started_s, 2)}
        return Timed(answers(folder, queries), seconds)


def declared_streams(folder: Path) -> str:
    return "".join(
        f"CREATE STREAM {name} ({schema}) FROM parquet '{folder}/{name}' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY {TIMES[name]} "
        f"SLACK {DISORDER} SECONDS;"
        for name, schema in SCHEMAS.items()
    )


def declared(query: Query, folder: Path) -> str:
    return f"CREATE QUERY {query.name} INTO parquet '{folder}/{query.name}' AS {query.ours};"


def timed_rival(spark: SparkSession, number: int, streams: Streams, store: str) -> Timed:
    """Spark's own run of the first queries, each a streaming query."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folders = streams.link(folder)
        queries = draw_queries(number)
        # Batches for the sake of the watermark, without which the last windows would not close.
        settings = {"spark.sql.streaming.noDataMicroBatches.enabled": "true", **STORES[store]}
        with changed(spark, settings):
            for stream, schema in SCHEMAS.items():
                rows = read_files(spark, folder / stream, schema, FILES_PER_TRIGGER)
                marked = rows.withWatermark(TIMES[stream], f"{DISORDER} seconds")
                marked.createOrReplaceTempView(stream)
            running = [
                spark.sql(query.rival)
                .writeStream.format("parquet")
                .option("path", str(folder / query.name))
                .option("checkpointLocation", str(folder / f"checkpoint-{query.name}"))
                .start()
                for query in queries
            ]
            try:
                for each in running:
                    each.processAllAvailable()
                begun = time.perf_counter()
                release(*folders)
                for each in running:
                    each.processAllAvailable()
                seconds = time.perf_counter() - begun
            finally:
                for each in running:
                    each.stop()
        return Timed(answers(folder, queries), seconds)


def answers(folder: Path, queries: Sequence[Query]) -> Answers:
    return {query.name: answer(folder / query.name, query) for query in queries}


def answer(folder: Path, query: Query) -> pl.DataFrame:
    """All rows; times as numbers, because the two sides write them with and without a zone."""
    rows = pl.concat(pl.read_parquet(file) for file in sorted(folder.glob("*.parquet")))
    on = "refunded" if query.is_join else "window_end"
    return rows.with_columns(pl.col(on).dt.epoch("us")).drop("window_start", strict=False)
