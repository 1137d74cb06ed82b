"""`penstock explain FILE.sql`: the plans of a file's queries, as text or as a picture.

Nothing runs, so queries that cannot run in this release are shown too, with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.shared.arguments import ScriptFile, read_script

if TYPE_CHECKING:
    from penstock.catalog.catalog import Catalog
    from penstock.model.host_functions import HostFunctions
    from penstock.optimizer.physical import PhysicalPlan
    from penstock.plan.nodes import Node


def explain(
    file: ScriptFile,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="PATH", help="Draw the plans as SVG to this file."),
    ] = None,
    dot: Annotated[
        Path | None,
        typer.Option("--dot", metavar="PATH", help="Write the plans for Graphviz to this file."),
    ] = None,
) -> None:
    """Show what the queries of a file would do, and why."""
    from penstock.catalog.catalog import Catalog
    from penstock.plan.notices import notices
    from penstock.plan.picture import to_dot, to_svg
    from penstock.sql.parse.parser import parse

    catalog = Catalog(_functions())
    text = read_script(file)
    declared = plans(text, catalog)
    for notice in notices(len(parse(text)), declared):
        print(f"note: {notice}", file=sys.stderr)
    print("\n\n".join(_explained(declared, catalog)))
    for path, draw in ((svg, to_svg), (dot, to_dot)):
        if path is not None:
            path.write_text(draw(declared))


def _functions() -> HostFunctions | None:
    """Spark's functions, where it is installed; it is started only if a query uses one."""
    if not find_spec("pyspark"):
        return None
    from penstock.spark.engine import Engine

    return Engine().catalog.host


def _explained(declared: Mapping[str, Node], catalog: Catalog) -> Iterator[str]:
    """What runs on Spark, or where it is not installed, in one process."""
    from penstock.errors import NotExecutable
    from penstock.optimizer.explain import explain_program
    from penstock.optimizer.optimize import optimize
    from penstock.plan.explain import explain_graph

    options = {entry.name: catalog.options_of(entry) for entry in catalog.queries}
    queries, refused = dict(declared), []
    for name, plan in declared.items():
        try:
            optimize({name: plan}, options[name])
        except NotExecutable as error:
            refused.append(f"{explain_graph({name: plan})}\n  {error.message}")
            del queries[name]
    if find_spec("pyspark"):
        from penstock.spark.explain import explain_planned
        from penstock.spark.placement.pipeline_groups import assign_pipelines

        for group in assign_pipelines(queries, options):
            yield explain_planned(group, catalog.streams)
    else:
        running: dict[str, PhysicalPlan] = {}
        for name, plan in queries.items():
            running |= optimize({name: plan}, options[name], running=running).plans
        yield from [explain_program(running)] if running else []
    yield from refused


def plans(text: str, catalog: Catalog) -> dict[str, Node]:
    """The queries that the statements declare, bound."""
    from penstock.sql.parse.parser import parse
    from penstock.sql.parse.statements import BareSelect, Explain

    for statement in parse(text):
        if isinstance(statement, Explain):
            if isinstance(statement.target, str):
                continue
            statement = statement.target
        if isinstance(statement, BareSelect):
            statement = catalog.named(statement)
        catalog.apply(statement)
    return {entry.name: entry.plan for entry in catalog.queries}
