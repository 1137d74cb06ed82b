"""Which queries catch up in a running pipeline, and how a checkpoint knows that they still do."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.catalog.catalog import Catalog
from penstock.optimizer.optimize import beside, optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.spark.catching_up.can_read_again import why_not_again
from penstock.spark.state.checkpoint import Checkpoint
from tests.sql.declared import execute, plan_of

COUNTS = "SELECT k, count(*) AS n FROM {} [RANGE 2 SECONDS] GROUP BY k"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    catalog = Catalog()
    for name, options in {
        "a": "",
        "b": "",
        "cleaned": "OPTIONS (cleanSource 'delete')",
        "aged": "OPTIONS (maxFileAge '1d')",
    }.items():
        columns = "k STRING, v BIGINT, ts TIMESTAMP"
        origin = f"FROM parquet '{tmp_path}' {options}"
        execute(catalog, f"CREATE STREAM {name} ({columns}) {origin} TIMESTAMP BY ts")
    execute(catalog, "CREATE STREAM rate (ts TIMESTAMP, v BIGINT) FROM rate TIMESTAMP BY ts")
    return catalog


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        (COUNTS.format("a"), Options(), ""),
        (COUNTS.format("a UNION b"), Options(), ""),
        (COUNTS.format("a UNION b"), Options(union="merge"), "rows wait in front of its operators"),
        ("SELECT max(v) [RANGE 3 ROWS] FROM a", Options(), "it counts rows of `a`"),
        (COUNTS.format("cleaned"), Options(), "with `cleanSource`, what was read of `cleaned`"),
        (COUNTS.format("aged"), Options(), "with `maxFileAge`"),
        ("SELECT v FROM rate", Options(), "`rate` is not read from files"),
    ],
)
def test_it_is_said_why_a_query_cannot(
    text: str, options: Options, why: str, catalog: Catalog
) -> None:
    found = why_not_again(plan_of(text, catalog), options)
    assert found.startswith(why)
    assert bool(found) == bool(why)


def test_queries_catch_up_until_the_batch_is_over_that_they_do_it_with(
    catalog: Catalog, tmp_path: Path
) -> None:
    plan = plan_of(COUNTS.format("a"), catalog)
    program: Program = beside(optimize({"p": plan}), {"q": plan}, {"q": -1})
    behind = program.with_catching_up({-1, -7})
    assert behind.catching_up == (-1,), "nobody has come with the other"
    assert (list(behind.live.queries), list(behind.since(-1).queries)) == (["p"], ["q"])
    checkpoint = Checkpoint(tmp_path / "checkpoint", program)
    try:
        for batch, each in ((0, optimize({"p": plan})), (3, behind), (5, program)):
            checkpoint.change(each, batch, {})
        found = {}
        for checkpoint.finished in (1, 2, 3, 4, 5):
            found[checkpoint.finished] = checkpoint.going_on(program).catching_up
    finally:
        checkpoint.release()
    assert found == {1: (-1,), 2: (-1,), 3: (-1,), 4: (), 5: ()}
