"""Time from the arrival of a row to its result: ours against Spark's own, at 1 k to 100 k rows/s.

Rows arrive by the clock, a small parquet file every 100 ms, up to 100 ms out of order, which both
sides know as their slack. Both read the same kind of folder as fast as they can (trigger interval
0), and results are stamped with the clock as soon as the driver has them: ours in `subscribe`,
Spark's after `toArrow` in `foreachBatch`, which is how ours gets them, too.

    tumbling    count and sum by key in windows of 1 s, 100 keys
    sliding     the same, RANGE 60 s SLIDE 1 s; a minute of rows comes first
    join        two streams, half of the rows each, by key within 5 s; a row has about one partner

The latency of a result is the time from when it could first be known until it is in the driver. A
window can be known when a row has arrived that is a slack beyond its end, or more; a pair when
the later of its rows has arrived. A row has arrived when its file has its name. `ours` and `rival`
are the 99th percentiles over all results of 6 s, after 5 s that do not count; the first runs of a
query do not count at all. All queries are measured at one rate before the next, 1 k comes last.

Spark runs once with its defaults and once with the settings that ours uses, on as many partitions
as there are cores; the one with the better 99th percentile counts, and `settings` says which. Every
answer is held against what the rows give that arrived in its run. A side that cannot keep up gets
ten seconds more at the end; results that are not there then (`missing`) count as if they came
at that moment. Spark's real-time mode has neither these sources nor these operators.
"""

from __future__ import annotations

from collections.abc import Iterator

from _latencies import Latency
from _latency_queries import JOIN, WINDOWS, Setting
from _latency_runs import SETTINGS, judged, ours, rival
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

SECONDS = 6  # that count
RATES = {"10k": 10_000, "100k": 100_000, "1k": 1_000}


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    rates = {"10k": RATES["10k"]} if quick else RATES
    for name, rate in rates.items():
        # What is compiled and imported in a query's first runs would count for whoever is first.
        warm_up = int(rate == RATES["10k"])
        for query in (*WINDOWS, JOIN):
            yield case(spark, f"{query}-{name}", Setting(query, rate, SECONDS), warm_up)


def case(spark: SparkSession, name: str, setting: Setting, warm_up: int) -> Case:
    extra: dict[str, object] = {
        "rate": setting.rate,
        "ours_io": "parquet files; subscribe",
        "rival_io": "parquet files; foreachBatch, toArrow",
    }

    def told(side: str, found: Latency) -> None:
        extra[f"{side}_p50_ms"] = round(found.p50 * 1000)
        extra[f"{side}_missing"] = found.missing

    def our_time() -> Timed:
        found = judged(setting, ours(spark, setting))
        told("ours", found)
        return Timed(found.wrong, found.p99)

    def rival_time() -> Timed:
        found = {each: judged(setting, rival(spark, setting, each)) for each in SETTINGS}
        best = min(found, key=lambda each: found[each].p99)
        told("rival", found[best])
        extra["settings"] = best
        wrong = next((each.wrong for each in found.values() if each.wrong), None)
        return Timed(wrong, found[best].p99)

    return Case(
        name=name,
        ours=our_time,
        rival=rival_time,
        rival_name="Structured Streaming",
        repeats=1,
        warm_up=warm_up,
        difference=difference,
        extra=extra,
    )


def difference(ours: str | None, rival: str | None) -> str | None:
    """The clock runs on between the two, so each is held against the rows of its own run."""
    return ours or (f"right; the rival's {rival}" if rival else None)
