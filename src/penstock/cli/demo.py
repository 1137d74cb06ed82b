"""`penstock demo`: packets through three queries on Spark, and a check of every result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.checkout import checkout

if TYPE_CHECKING:
    import polars as pl

    from penstock.spark.engine import Engine

#: What the demo declares; a file, so that it can be read and changed.
SCRIPT = Path("examples") / "demo.sql"


def demo(
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the results to this directory."),
    ] = None,
) -> None:
    """Run three queries over generated packets on Spark, watch them, and check every result."""
    from penstock.cli.run import show_query
    from penstock.cli.watch import watch

    script = checkout() / SCRIPT
    print(f"{script.relative_to(checkout())}: two links, packets up to 4 s out of order, 3 queries")
    engine = start(script.read_text())
    try:
        watch(engine)
        engine.finish()
    finally:
        engine.stop()
    for query in engine.queries:
        show_query(query)
    wrong = [query.name for query in engine.queries if not check(engine, query.name)]
    for query in engine.queries:
        verdict = "DIFFERS from" if query.name in wrong else "equals"
        print(f"{query.name}: {query.rows:,} rows, {verdict} the reference result")
    if out is not None:
        for query in engine.queries:
            from penstock.io.results import write_part

            print(f"results: {write_part(out, query.name, 'parquet', query.results())}")
    if wrong:
        raise typer.Exit(1)


def start(text: str) -> Engine:
    from penstock.spark.engine import Engine

    engine = Engine()
    engine.sql(text)
    print("starting Spark …", flush=True)
    engine.start()
    return engine


def check(engine: Engine, name: str) -> bool:
    """Whether a query's results are what its definition gives over all rows of its streams."""
    from penstock.cli.reference import answer
    from penstock.io.results import presented

    plan = engine.query(name).plan
    streams = {entry.name: all_rows(engine, entry.name) for entry in engine.catalog.streams}
    expected = presented(answer(plan, streams), plan.schema)
    return equal_rows(engine.query(name).results(), expected)


def all_rows(engine: Engine, name: str) -> pl.DataFrame:
    """Every row of a stream that is a workload."""
    import polars as pl

    from penstock.model.schema import ROW_NUM
    from penstock.spark.sources.workload_source import made_of

    origin = engine.declared_stream(name).stream.origin
    made = made_of({"workload": str(origin.path), **dict(origin.options)})
    rows = made.rows(0, made.total or 0)
    return rows.with_columns(pl.int_range(1, rows.height + 1, dtype=pl.Int64).alias(ROW_NUM))


def equal_rows(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two tables hold the same rows, in any order; means may differ in the last digits."""
    from polars.testing import assert_frame_equal

    try:
        assert_frame_equal(one.sort(one.columns), other.sort(other.columns), rel_tol=1e-9)
    except AssertionError:
        return False
    return True
