"""The kernel, block by block, against Polars doing the same work as one batch.

Rows come in blocks of 100 000, 10 000 rows to a second of event time, up to five seconds out of
order; after each block comes a bound, five seconds below the newest time. The kernel runs Select,
Bucket and WidAggregate under the executor, as a query would, and holds nothing but open windows.
Polars has all rows at once. Both use one thread. Times are medians of five, after a run of each
that does not count.

    case            window                 keys              results
    sliding-sum     RANGE 60 s SLIDE 1 s   100               sum
    all-functions   RANGE 60 s SLIDE 1 s   100               count, sum, min, max, avg, stddev
    string-keys     RANGE 60 s SLIDE 1 s   100, as strings   sum
    tumbling-count  RANGE 1 s SLIDE 1 s    100               count
    many-keys       RANGE 60 s SLIDE 30 s  100 000           sum

Polars does it in the fastest of the ways we know. To copy every row into each of its windows
(`int_ranges` and `explode`), or to use `group_by_dynamic`, takes it twenty times as long and more.
So it aggregates by key and slide first and composes windows from these *panes*. It groups in the
streaming engine, and by one packed integer rather than by two columns where the keys are integers.
Windows are composed by a rolling function over a grid of keys and panes, or, where keys are many
and panes per window few, by adding up shifted copies of the panes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.operators.select import Select
from penstock.kernel.scheduling.executor import Executor
from penstock.lab.benchmarking import Case
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Call, Literal, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END, MICROSECOND, SECOND
from penstock.model.types import Type
from penstock.windows import Sliding, tumbling

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

BLOCK = 100_000
BETWEEN_ROWS = 100 * MICROSECOND
DISORDER = 5 * SECOND

V = Ref("v", Type.BIGINT)
#: Three rows out of four pass.
PREDICATE = Call(">=", (V, Literal(250, Type.BIGINT)))
PASSES = pl.col("v") >= 250

COUNT = {"n": Aggregate("count")}
SUM = {"total": Aggregate("sum", V)}
ALL = {
    **COUNT,
    **SUM,
    "least": Aggregate("min", V),
    "greatest": Aggregate("max", V),
    "mean": Aggregate("avg", V),
    "spread": Aggregate("stddev_pop", V),
}

SLIDING = Sliding("ts", 60 * SECOND, SECOND)
TUMBLING = tumbling("ts", SECOND)
COARSE = Sliding("ts", 60 * SECOND, 30 * SECOND)


def cases(quick: bool) -> Iterator[Case]:
    count = 1_000_000 if quick else 10_000_000
    stream = make_stream(count, keys=100)
    yield case("sliding-sum", stream, SLIDING, SUM, rolling_sum)
    yield case("all-functions", stream, SLIDING, ALL, rolling_everything)
    yield case("tumbling-count", stream, TUMBLING, COUNT, count_panes)
    named = replace(stream, rows=stream.rows.with_columns(key=pl.format("customer_{}", "key")))
    yield case("string-keys", named, SLIDING, SUM, rolling_sum)
    del stream, named
    yield case("many-keys", make_stream(count, keys=100_000), COARSE, SUM, shifted_sum)


def case(
    name: str,
    stream: Stream,
    window: Sliding,
    results: dict[str, Aggregate],
    rival: Callable[[Stream, Sliding], pl.DataFrame],
) -> Case:
    return Case(
        name,
        ours=lambda: run_kernel(stream, window, results),
        rival=lambda: rival(stream, window),
        rival_name=f"polars, {rival.__name__.replace('_', ' ')}",
        ours_io="a table in memory, in blocks → tables in memory",
        rival_io="a table in memory, as a whole → a table in memory",
        extra={"rows": stream.rows.height, "rows_per_block": BLOCK},
    )


# --- data ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """Rows in order of arrival, the bound after each block, and how many keys there can be."""

    rows: pl.DataFrame
    bounds: list[int]
    keys: int

    def blocks(self) -> Iterator[tuple[Block, int]]:
        for number, bound in enumerate(self.bounds):
            yield Block(self.rows.slice(number * BLOCK, BLOCK)), bound


def make_stream(count: int, keys: int) -> Stream:
    random = np.random.default_rng(1)
    times = np.arange(count) * BETWEEN_ROWS - random.integers(0, DISORDER, count)
    newest = np.maximum.accumulate(times)[BLOCK - 1 :: BLOCK]
    rows = pl.DataFrame(
        {
            "key": random.integers(0, keys, count),
            "ts": times,
            "v": random.integers(0, 1000, count),
        }
    )
    return Stream(rows, [*(newest[:-1] - DISORDER).tolist(), END], keys)


# --- ours ---------------------------------------------------------------------------------------


def run_kernel(stream: Stream, window: Sliding, results: dict[str, Aggregate]) -> pl.DataFrame:
    graph = Graph()
    source = graph.add_source("source")
    selected = graph.add(Select(PREDICATE), [source])
    tagged = graph.add(Bucket(window), [selected])
    aggregated = graph.add(WidAggregate(("key",), tuple(results.items()), window), [tagged])
    sink = graph.add_sink("sink", aggregated)
    executor = Executor(graph)
    answer = []
    for block, bound in stream.blocks():
        source.output.batch(block)
        source.output.punctuation(Punctuation("ts", bound))
        executor.run_until_idle()
        while not sink.empty:
            item = sink.take()
            if isinstance(item, Block):
                answer.append(item.rows)
    return pl.concat(answer)


# --- Polars -------------------------------------------------------------------------------------


def panes(stream: Stream, window: Sliding, *results: pl.Expr) -> pl.LazyFrame:
    """Rows aggregated by key and slide; `pane` numbers the slides."""
    rows = stream.rows.lazy().filter(PASSES)
    pane = pl.col("ts") // window.slide
    if stream.rows.schema["key"] == pl.String:
        return rows.group_by("key", pane.alias("pane")).agg(*results)
    packed = rows.group_by((pane * stream.keys + pl.col("key")).alias("packed")).agg(*results)
    return unpacked(packed, stream)


def unpacked(packed: pl.LazyFrame, stream: Stream) -> pl.LazyFrame:
    key, pane = pl.col("packed") % stream.keys, pl.col("packed") // stream.keys
    return packed.select(key.alias("key"), pane.alias("pane"), pl.exclude("packed"))


def grid(found: pl.LazyFrame, window: Sliding) -> pl.LazyFrame:
    """Every key with every pane that windows reach, in order; NULL where nothing came."""
    panes = found.collect(engine="streaming")
    pane = panes.get_column("pane").to_numpy()
    numbers = np.arange(pane.min(), pane.max() + window.range // window.slide)
    keys = panes.lazy().select("key").unique()
    every = keys.join(pl.LazyFrame({"pane": numbers}), how="cross")
    return every.join(panes.lazy(), on=["key", "pane"], how="left", maintain_order="left")


def presented(windows: pl.LazyFrame, window: Sliding) -> pl.DataFrame:
    end = (pl.col("pane") + 1) * window.slide
    bounds = {"window_start": end - window.range, "window_end": end}
    return windows.with_columns(**bounds).drop("pane").collect(engine="streaming")


def rolling_sum(stream: Stream, window: Sliding) -> pl.DataFrame:
    every = grid(panes(stream, window, pl.sum("v").alias("total")), window)
    total = pl.col("total").rolling_sum(window.range // window.slide, min_samples=1)
    return presented(every.with_columns(total.over("key")).drop_nulls(), window)


def rolling_everything(stream: Stream, window: Sliding) -> pl.DataFrame:
    v = pl.col("v")
    parts = (pl.len().alias("n"), v.sum().alias("total"), (v * v).sum().alias("squares"))
    extremes = (v.min().alias("least"), v.max().alias("greatest"))
    count = window.range // window.slide
    rolled = [pl.col("n", "total", "squares").rolling_sum(count, min_samples=1).over("key")]
    rolled.append(pl.col("least").rolling_min(count, min_samples=1).over("key"))
    rolled.append(pl.col("greatest").rolling_max(count, min_samples=1).over("key"))
    every = grid(panes(stream, window, *parts, *extremes), window)
    mean = pl.col("total") / pl.col("n")
    # Sums of squares are exact here, because the values are small integers.
    spread = ((pl.col("squares") - pl.col("total") * mean) / pl.col("n")).sqrt()
    windows = every.with_columns(rolled).drop_nulls().with_columns(mean=mean, spread=spread)
    return presented(windows.drop("squares"), window).cast({"n": pl.Int64})


def count_panes(stream: Stream, window: Sliding) -> pl.DataFrame:
    return presented(panes(stream, window, pl.len().cast(pl.Int64).alias("n")), window)


def shifted_sum(stream: Stream, window: Sliding) -> pl.DataFrame:
    packed = (pl.col("ts") // window.slide * stream.keys + pl.col("key")).alias("packed")
    rows = stream.rows.lazy().filter(PASSES)
    panes = rows.group_by(packed).agg(pl.sum("v")).collect(engine="streaming").lazy()
    shifts = range(window.range // window.slide)
    copies = [panes.with_columns(pl.col("packed") + n * stream.keys) for n in shifts]
    windows = pl.concat(copies).group_by("packed").agg(pl.sum("v").alias("total"))
    return presented(unpacked(windows, stream), window)
