"""An engine with streams and queries, driven by random events, and its answers as the oracle's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from penstock.local.engine import LocalEngine
from penstock.local.query import LocalQuery
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw
from tests.engine.random_streams import Declared, Event, Push, Row
from tests.ticks import push_ticks

STRATEGIES = ("dfs", "bfs", "round_robin", "batched")
STEPS = ("unlimited", "7", "1")
PROMPT_AGGREGATIONS = (
    "auto",
    "wid",
    "paned",
    "adapt",
    "adapt_paned",
    "buffering",
    "buffering_incremental",
)
#: Two levels keep answers back for some windows.
AGGREGATIONS = (*PROMPT_AGGREGATIONS, "two_level")


def how(draw: Draw, aggregations: Sequence[str] = AGGREGATIONS) -> list[str]:
    """Settings that must not matter for the answer."""
    found = [f"strategy = {draw.choose(STRATEGIES)}", f"rows_per_step = {draw.choose(STEPS)}"]
    aggregation = draw.choose(aggregations)
    # Drawn in any case: which queries a seed gives must not hang on it.
    table = [
        f"table_size = {draw.choose([1, 3, 100])}",
        f"flush = {draw.choose(['slow', 'lazy', 'in_order'])}",
        f"flush_rows = {draw.choose([1, 5])}",
    ]
    return [*found, f"aggregation = {aggregation}", *(table if aggregation == "two_level" else [])]


def started(declared: Sequence[Declared], *settings: str) -> LocalEngine:
    """An engine with these settings and streams."""
    engine = LocalEngine()
    engine.sql("; ".join([*(f"SET {setting}" for setting in settings), *(s.sql for s in declared)]))
    return engine


def feed(engine: LocalEngine, events: Iterable[Event]) -> None:
    """Let events happen."""
    for event in events:
        if isinstance(event, Push):
            push_ticks(engine, event.stream, event.rows)
        else:
            engine.punctuate(event.stream, event.bound)


def rows_of(results: pl.DataFrame) -> list[dict[str, Any]]:
    """Results as the oracle writes them: times as ticks."""
    times = [name for name, of in results.schema.items() if isinstance(of, pl.Datetime)]
    return results.with_columns(pl.col(times).cast(pl.Int64())).to_dicts()


def assert_right(query: LocalQuery, inputs: Mapping[str, Sequence[Row]], text: str = "") -> None:
    """The query has put out the oracle's answer, every row of it once, and nothing else."""
    ours, expected = rows_of(query.to_polars()), evaluate(query.plan, inputs)
    assert same_rows(ours, expected), "\n".join(
        [text, query.explain(), f"ours: {ours}", f"oracle: {expected}"]
    )
