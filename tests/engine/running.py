"""An engine with streams and queries, driven by random events, and its answers as the oracle's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from penstock.local.engine import LocalEngine
from penstock.local.query import LocalQuery
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.baselines import BASELINES, PROMPT, BaselineEngine
from tests.engine.draw import Draw
from tests.engine.random_streams import Declared, Event, Push, Row
from tests.ticks import push_ticks

STRATEGIES = ("dfs", "bfs", "round_robin", "batched")
STEPS = ("unlimited", "7", "1")
#: Those that can be SET; two levels keep answers back for some windows.
PROMPT_SETTINGS = ("auto", "wid", "paned", "adapt", "adapt_paned")
AGGREGATION_SETTINGS = (*PROMPT_SETTINGS, "two_level")
#: The same, and baselines, which `started` builds.
PROMPT_AGGREGATIONS = (*PROMPT_SETTINGS, *PROMPT)
AGGREGATIONS = (*AGGREGATION_SETTINGS, *BASELINES)
_BASELINE = "baseline = "


def how(draw: Draw, aggregations: Sequence[str] = AGGREGATIONS) -> list[str]:
    """Settings that must not matter for the answer; of baselines the name."""
    found = [f"strategy = {draw.choose(STRATEGIES)}", f"rows_per_step = {draw.choose(STEPS)}"]
    aggregation = draw.choose(aggregations)
    # Drawn in any case: which queries a seed gives must not hang on it.
    table = [
        f"table_size = {draw.choose([1, 3, 100])}",
        f"flush = {draw.choose(['slow', 'lazy'])}",
        f"flush_rows = {draw.choose([1, 5])}",
    ]
    found.append(f"{_BASELINE if aggregation in BASELINES else 'aggregation = '}{aggregation}")
    return [*found, *(table if aggregation in ("two_level", "ordered_flush") else [])]


def started(declared: Sequence[Declared], *settings: str) -> LocalEngine:
    """An engine with these settings and streams."""
    engine = BaselineEngine()
    for setting in settings:
        if setting.startswith(_BASELINE):
            engine.choose(setting.removeprefix(_BASELINE))
        else:
            engine.sql(f"SET {setting}")
    engine.sql("; ".join(each.sql for each in declared))
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
