"""A case through this process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress

from penstock.catalog.settings import SETTINGS
from penstock.errors import QueryError
from penstock.local.engine import LocalEngine
from penstock.optimizer.options import UNLIMITED
from penstock.runtime.clock import VirtualClock
from penstock.verification.case import Batch, Row, VerificationCase, frame_of, rows_of
from penstock.verification.script import Script
from penstock.verification.ways import Way

#: A query that comes and goes in mid-run.
PASSER_BY = "penstock_verify_passer_by"


def run_here(
    script: Script, case: VerificationCase, way: Way, queries: Sequence[str] | None = None
) -> dict[str, list[Row]]:
    """What each query has put out once all streams have ended, in that order."""
    chance = random.Random(f"{way.seed} here")
    clock = VirtualClock(case.batches[0].clock if case.batches else 0)
    engine = LocalEngine(clock=clock)
    script.on(engine, way.settings, queries=queries)
    if way != Way(way.host, way.settings, way.seed):
        rows = way.rows_per_step or UNLIMITED
        engine.sql(f"SET strategy = {way.strategy}; SET rows_per_step = {rows}")
    for batch in case.batches:
        clock.wait_until(batch.clock)
        _push(engine, batch, way, chance)
        if way.changes:
            _change(engine, chance)
    if PASSER_BY in [query.name for query in engine.queries]:
        engine.sql(f"DROP QUERY {PASSER_BY}")
    engine.finish()
    return {query.name: rows_of(query.to_polars()) for query in engine.queries}


def _push(engine: LocalEngine, batch: Batch, way: Way, chance: random.Random) -> None:
    """Blocks of all streams in turn, then the punctuation behind them."""
    blocks = []
    for name, rows in batch.rows.items():
        size = way.rows_per_block or max(1, len(rows))
        blocks.append([(name, rows[i : i + size]) for i in range(0, len(rows), size)])
    while blocks := [each for each in blocks if each]:
        name, rows = chance.choice(blocks).pop(0)
        engine.push(name, frame_of(engine.declared_stream(name).stream.arriving, rows))
    for name, bound in batch.bounds.items():
        engine.punctuate(name, bound)


def _change(engine: LocalEngine, chance: random.Random) -> None:
    """Another strategy, and a query that shares operators with others comes or goes."""
    engine.sql(f"SET strategy = {chance.choice(SETTINGS['strategy'].words)}")
    engine.sql(f"SET rows_per_step = {chance.choice((UNLIMITED, '7', '1'))}")
    names = [query.name for query in engine.queries]
    if PASSER_BY in names:
        engine.sql(f"DROP QUERY {PASSER_BY}")
    else:
        with suppress(QueryError):  # not everything can be read from, and this need not be
            engine.sql(f"CREATE QUERY {PASSER_BY} AS SELECT * FROM `{chance.choice(names)}`")
