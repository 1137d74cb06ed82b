"""Runs the query tests: a file holds streams and queries in SQL, the rows that come, the answers.

    name      what the file shows
    sql       the declarations
    rows      a table per stream, in the order of arrival (see `tables` for how values are written)
    answer    a table per query: everything it has put out once all streams have ended

The answers in the files were read through by a person where that is feasible. Each is compared with
the oracle's and with DuckDB's. Rows are pushed stream by stream, then row by row in turn.

`PENSTOCK_REWRITE=1` writes what the engine gives into the files instead of failing, provided that
the oracle and DuckDB agree; `answer` must be a file's last key. Read the diff before you keep it.
"""

from __future__ import annotations

import os
from itertools import zip_longest
from pathlib import Path

import pytest
import yaml

from penstock.local.engine import LocalEngine
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.duckdb_plans import duckdb_answer
from tests.engine.query_files import FILES, Rows, in_ticks, load
from tests.engine.random_streams import numbered
from tests.engine.running import rows_of
from tests.engine.tables import write_table

REWRITE = os.environ.get("PENSTOCK_REWRITE") == "1"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_answers_are_those_of_the_file(file: Path) -> None:
    script = yaml.safe_load(file.read_text())
    engine, rows = load(script)
    for name, block in rows.items():
        engine.push(name, block)
    engine.finish()
    assert engine.rejected_rows == []
    for query in engine.queries:
        check_by_others(engine, query.name, rows)
    answers = written(engine)
    if REWRITE:
        rewrite(file, answers)
    else:
        assert answers == script["answer"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_answers_are_the_same_row_by_row(file: Path) -> None:
    script = yaml.safe_load(file.read_text())
    engine, rows = load(script)
    engine.sql("SET strategy = bfs; SET rows_per_step = 1")
    for turn in zip_longest(*rows.values()):
        for name, row in zip(rows, turn, strict=True):
            if row is not None:
                engine.push(name, [row])
    engine.finish()
    assert written(engine) == script["answer"]


def check_by_others(engine: LocalEngine, name: str, rows: Rows) -> None:
    """The oracle and DuckDB give the same answer as the engine."""
    query = engine.query(name)
    ticks = {
        stream: numbered([{key: in_ticks(value) for key, value in row.items()} for row in block])
        for stream, block in rows.items()
    }
    ours = rows_of(query.to_polars())
    assert same_rows(ours, evaluate(query.plan, ticks)), f"{name}: not the oracle's answer"
    assert same_rows(ours, duckdb_answer(query.plan, ticks)), f"{name}: not DuckDB's answer"


def written(engine: LocalEngine) -> dict[str, str]:
    """What every query has put out, as text."""
    return {
        query.name: write_table(query.results().to_dicts(), query.plan.schema.names)
        for query in engine.queries
    }


def rewrite(file: Path, answers: dict[str, str]) -> None:
    text = file.read_text()
    kept = text[: text.index("\nanswer:") + 1]
    tables = []
    for name, table in answers.items():
        lines = "".join(f"    {line}\n" for line in table.splitlines())
        tables.append(f"  {name}: |\n{lines}")
    file.write_text(f"{kept}answer:\n{''.join(tables)}")
