"""The queries of the NEXMark benchmark are understood. None is run here."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from penstock.local.engine import LocalEngine
from penstock.workloads import WORKLOADS

FOLDER = Path(__file__).parents[2] / "benchmarks"
QUERIES: dict[str, Any] = runpy.run_path(str(FOLDER / "_nexmark_queries.py"))["QUERIES"]


@pytest.fixture(scope="module")
def engine() -> LocalEngine:
    engine = LocalEngine()
    for name in ("persons", "auctions", "bids"):
        kind = WORKLOADS[name]
        engine.sql(
            f"CREATE STREAM {name} ({kind.declaration}) "
            f"TIMESTAMP BY {kind.timestamp} SLACK 4 SECONDS"
        )
    engine.table("side", [(1, "one")], columns="key BIGINT, value STRING")
    return engine


@pytest.mark.parametrize("name", QUERIES)
def test_penstock_understands_the_query(engine: LocalEngine, name: str) -> None:
    explained = str(engine.sql(f"EXPLAIN {QUERIES[name].ours}"))
    read = {stream for stream in ("persons", "auctions", "bids") if f"Source {stream}" in explained}
    assert read == set(QUERIES[name].streams)


def test_whatever_is_not_there_is_left_out_for_a_reason() -> None:
    text = (FOLDER / "nexmark.py").read_text()
    left_out = {f"q{n}" for n in range(23)} - set(QUERIES)
    assert all(f"\n    {name:<5} " in text for name in left_out)
