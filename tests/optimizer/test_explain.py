"""EXPLAIN prints what runs: the plan that a live engine reports, operator for operator."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import yaml

from penstock.kernel.graph import Graph
from penstock.kernel.graph import GraphNode as KernelNode
from penstock.local.engine import LocalEngine
from penstock.optimizer.explain import explain, explain_program
from penstock.optimizer.physical import PhysicalPlan, walk
from penstock.optimizer.specs import SourceSpec
from penstock.spark.engine import Engine
from penstock.spark.group_host import GroupHost
from tests.engine.query_files import FILES
from tests.sql.declared import LINKS, PACKETS
from tests.sql.specification import QUERIES

STREAMS = "DECLARE n = 3 SECONDS; DECLARE m = 5;" + "".join(
    f"CREATE STREAM {name} ({PACKETS}) TIMESTAMP BY ts;" for name in (*LINKS, "S0", "S1")
)
SPECIFICATION = STREAMS + "".join(
    f"CREATE QUERY {name.replace('-', '_')} AS {case.sql};" for name, case in QUERIES.items()
)
SCRIPTS = {
    "specification": SPECIFICATION,
    **{file.stem: yaml.safe_load(file.read_text())["sql"] for file in FILES},
}
scripts = pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS.keys())


def ids_of(plans: Iterable[PhysicalPlan]) -> set[str]:
    return {plan.id for plan in walk(plans) if not isinstance(plan.spec, SourceSpec)}


def running(nodes: Iterable[KernelNode]) -> set[str]:
    return {node.name for node in nodes if not node.is_source and not node.is_fork}


def feeding(graph: Graph, query: str) -> set[str]:
    """The operators that work for a query."""
    found: set[str] = set()
    waiting = [node for node in graph.nodes.values() if query in node.sinks]
    while waiting:
        node = waiting.pop()
        found.add(node.name)
        waiting += node.producers
    return running(graph.nodes[name] for name in found)


@scripts
def test_a_local_engine_runs_what_explain_prints(script: str) -> None:
    engine = LocalEngine()
    engine.sql(script)
    graph = engine._host.graph
    for name, plan in engine._plans.items():
        assert engine.sql(f"EXPLAIN {name}") == explain(plan)
        assert feeding(graph, name) == ids_of([plan])
    assert running(graph.nodes.values()) == ids_of(engine._plans.values())


@scripts
def test_groups_on_spark_run_what_explain_prints(script: str) -> None:
    engine = Engine()
    engine.sql(script)
    for share in engine._planning.planned():
        first, *_ = share.queries
        shown = str(engine.sql(f"EXPLAIN {first}"))
        program = share.program()
        graph = GroupHost(program).graph
        assert shown.startswith(explain_program(program.plans))
        assert running(graph.nodes.values()) == ids_of(program.plans.values())
        for name, plan in program.plans.items():
            assert feeding(graph, name) == ids_of([plan])


def test_what_explain_says_of_a_query_before_it_is_declared_is_what_it_gets() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    for case in QUERIES.values():
        before = engine.sql(f"EXPLAIN {case.sql}")
        query = engine.sql(case.sql)
        assert query.explain() == before
