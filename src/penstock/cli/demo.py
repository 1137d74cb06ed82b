"""`penstock demo`: packets through three queries on Spark, and a check of every result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.shared.arguments import ROOT, archive_classes_in_background, is_checkout

if TYPE_CHECKING:
    import polars as pl

    from penstock.model.streams import Origin
    from penstock.spark.engine import Engine

#: What the demo declares; a file, so that it can be read and changed. The installed package has a
#: copy of it (pyproject.toml).
SCRIPT = ROOT / "examples" / "demo.sql" if is_checkout() else Path(__file__).with_name("demo.sql")


def demo(
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the results to this directory."),
    ] = None,
) -> None:
    """Run three queries over generated packets on Spark, watch them, and check every result."""
    from penstock.cli.shared.display import show_query
    from penstock.cli.shared.watch import watch
    from penstock.io.results import write_part
    from penstock.spark.engine import Engine

    name = SCRIPT.relative_to(ROOT) if is_checkout() else SCRIPT
    print(f"{name}: two links, packets up to 4 s out of order, 3 queries")
    engine = Engine()
    engine.sql(SCRIPT.read_text())
    print("starting Spark …", flush=True)
    engine.start()
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
            print(f"results: {write_part(out, query.name, 'parquet', query.to_polars())}")
    archive_classes_in_background()
    if wrong:
        raise typer.Exit(1)


def check(engine: Engine, name: str) -> bool:
    """Whether a query's results are what its definition gives over all rows of its streams."""
    from penstock.cli.shared.reference import answer
    from penstock.io.results import presented
    from penstock.lab.benchmarking.answers import difference

    plan = engine.query(name).plan
    streams = {entry.name: all_rows(entry.stream.origin) for entry in engine.catalog.streams}
    expected = presented(answer(plan, streams), plan.schema)
    return difference(engine.query(name).results(), expected) is None


def all_rows(origin: Origin) -> pl.DataFrame:
    """Every row of a stream that is a workload."""
    from penstock.io.sources.workload_source import workload_of

    made = workload_of(origin)
    return made.rows(0, made.total or 0)
