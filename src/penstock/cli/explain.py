"""`penstock explain FILE.sql`: the plans of a file's queries, as text or as a picture.

Nothing runs, so queries that cannot run in this release are shown too, with the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.shared.arguments import ScriptFile, read_script
from penstock.printable import printable

if TYPE_CHECKING:
    from penstock.catalog.catalog import Catalog
    from penstock.model.host_functions import HostFunctions
    from penstock.optimizer.joins.choose_tree import TreeChoice
    from penstock.optimizer.physical import PhysicalPlan
    from penstock.optimizer.statistics import Statistics
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
    alternatives: Annotated[
        bool,
        typer.Option("--alternatives", help="Show the other shapes that joins could have."),
    ] = False,
    analyze: Annotated[
        bool,
        typer.Option(
            "--analyze",
            help="Run the queries over their files in this process, without writing results, and "
            "show what was measured; alternatives are compared by it.",
        ),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="PATH",
            help="Draw the shapes of every join of three inputs and more, by memory and "
            "processor time, as SVG to this file.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="The checkpoint that the queries would continue: joins are planned by the rates "
            "and selectivities that it remembers. Without it, those beside the files that queries "
            "write are used.",
            exists=True,
            file_okay=False,
        ),
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
        print(f"note: {printable(notice)}", file=sys.stderr)
    if analyze:
        shown, choices = _measured(text, alternatives)
    else:
        known = _known(catalog, checkpoint)
        shown = [*_explained(declared, catalog, known)]
        choices = []
        if alternatives or picture is not None:
            told, choices = _alternatives(declared, catalog, known)
            shown += told if alternatives else []
    print(printable("\n\n".join(shown)))
    if picture is not None:
        _draw(choices, picture)
    for path, draw in ((svg, to_svg), (dot, to_dot)):
        if path is not None:
            path.write_text(draw(declared))


def _measured(text: str, alternatives: bool) -> tuple[list[str], list[tuple[str, TreeChoice]]]:
    """The queries of a script with what was measured of them, run here and without their sinks."""
    from penstock.local.engine import LocalEngine
    from penstock.sql.parse.parser import parse
    from penstock.sql.parse.statements import (
        CreateQuery,
        CreateStream,
        DescribeStatement,
        Explain,
        ShowStatement,
    )

    engine = LocalEngine()
    for statement in parse(text):
        if isinstance(statement, CreateQuery):
            statement = replace(statement, sink=None)
        elif isinstance(statement, CreateStream):
            statement = replace(statement, late=None)
        if not isinstance(statement, Explain | ShowStatement | DescribeStatement):
            engine.execute(statement)
    for entry in engine.catalog.queries:
        engine.query(entry.name).subscribe(lambda rows: None)
    if not sum(count for _, count in engine.read_files(in_step=True)):
        print(
            "note: no rows were read, so nothing was measured; a stream without FROM gets its rows "
            "from a program",
            file=sys.stderr,
        )
    also = "ANALYZE, ALTERNATIVES" if alternatives else "ANALYZE"
    names = [entry.name for entry in engine.catalog.queries]
    shown = [f"Query {name}\n{engine.sql(f'EXPLAIN ({also}) {name}')}" for name in names]
    return shown, [(name, choice) for name in names for choice in engine.alternatives(name)]


def _known(catalog: Catalog, checkpoint: Path | None) -> Statistics:
    """What there is to go by: what checkpoints remember, and, without Spark, this machine."""
    from penstock.optimizer.cost.costs import costs
    from penstock.optimizer.cost.machine import machine
    from penstock.optimizer.statistics import Statistics

    if not find_spec("pyspark"):
        return Statistics(costs(), join_costs=costs(), machine=machine())
    from penstock.spark.planning import known_of_machine
    from penstock.spark.state.checkpoint import beside
    from penstock.spark.state.remembered import remembered

    if checkpoint is None:
        places = [p for p in beside(e.sink for e in catalog.queries) if isinstance(p, Path)]
    else:
        places = [checkpoint, *sorted(checkpoint.glob("*"))]
    return replace(known_of_machine(None), remembered=remembered(places))


def _alternatives(
    declared: Mapping[str, Node], catalog: Catalog, known: Statistics
) -> tuple[list[str], list[tuple[str, TreeChoice]]]:
    """What the joins of queries have to choose from, as text and as it is."""
    from penstock.optimizer.joins.alternatives import (
        choices_of,
        left_joins_of,
        shown_alternatives,
    )

    options = {entry.name: catalog.options_of(entry) for entry in catalog.queries}
    shown, choices = [], []
    for name, plan in declared.items():
        found = choices_of(plan, options[name], known)
        lefts = left_joins_of(plan, options[name], known)
        choices += [(name, choice) for choice in found]
        if found or lefts:
            shown.append(f"Alternatives of {name}\n\n{shown_alternatives(found, lefts)}")
    return shown or [shown_alternatives([])], choices


def _draw(choices: Sequence[tuple[str, TreeChoice]], picture: Path) -> None:
    """The plans of all joins as a picture, each with the name of its query."""
    from penstock.errors import NotExecutable
    from penstock.optimizer.joins.scatter import scatters_svg

    if not choices:
        raise NotExecutable(
            "there is nothing to draw: no query has an inner join of three inputs and more",
            hint="--svg PATH draws the plans of all queries",
        )
    picture.write_text(scatters_svg(choices))


def _functions() -> HostFunctions | None:
    """Spark's functions, where it is installed; it is started only if a query uses one."""
    if not find_spec("pyspark"):
        return None
    from penstock.spark.engine import Engine

    return Engine().catalog.host


def _explained(declared: Mapping[str, Node], catalog: Catalog, known: Statistics) -> Iterator[str]:
    """What runs on Spark, or where it is not installed, in one process."""
    from penstock.errors import NotExecutable
    from penstock.optimizer.explain import explain_program
    from penstock.optimizer.optimize import optimize
    from penstock.plan.explain import explain_graph
    from penstock.runtime.expected import expected

    options = {entry.name: catalog.options_of(entry) for entry in catalog.queries}
    queries, refused = dict(declared), []
    for name, plan in declared.items():
        try:
            optimize({name: plan}, options[name], known)
        except NotExecutable as error:
            refused.append(f"{explain_graph({name: plan})}\n  {error.message}")
            del queries[name]
    if find_spec("pyspark"):
        from penstock.spark.explain import explain_planned
        from penstock.spark.placement.pipeline_groups import assign_pipelines

        for group in assign_pipelines(queries, options):
            yield explain_planned(replace(group, statistics=known), catalog.streams)
    else:
        running: dict[str, PhysicalPlan] = {}
        for name, plan in queries.items():
            running |= optimize({name: plan}, options[name], known, running=running).plans
        yield from [explain_program(running)] if running else []
    yield from refused
    yield from filter(None, dict.fromkeys(expected(plan, known) for plan in queries.values()))


def plans(text: str, catalog: Catalog) -> dict[str, Node]:
    """The queries that the statements declare, bound."""
    from penstock.runtime.declarations import apply, named
    from penstock.sql.parse.parser import parse
    from penstock.sql.parse.statements import BareSelect, Explain

    for statement in parse(text):
        if isinstance(statement, Explain):
            if isinstance(statement.target, str):
                continue
            statement = statement.target
        if isinstance(statement, BareSelect):
            statement = named(statement, catalog)
        apply(statement, catalog)
    return {entry.name: entry.plan for entry in catalog.queries}
