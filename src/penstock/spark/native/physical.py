"""The physical plan of a query that runs as Spark SQL alone.

    WindowAggregate count(*) AS n by src [RANGE 1 minute]
        -- Fold > SparkAggregate: as set by SET lowering
      Select len > 100
          -- Fold: computed as files are read
        Source packets (by ts, ordered)
            -- parquet: where rows come in

What is below the aggregate is folded into lines as files are read (`folding`), or is left to Spark
with the rows (`lowering`); sliding windows are a second aggregate over panes (`sliding`).
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import PenstockBug
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import (
    BucketSpec,
    MeldSpec,
    NativeSpec,
    ProjectSpec,
    SelectSpec,
    SourceSpec,
    Spec,
    WindowSpec,
)
from penstock.plan import nodes
from penstock.runtime.status import OperatorStatus
from penstock.spark.native.folding import source_of
from penstock.spark.native.lowering import aggregate_of, slides
from penstock.windows import Tagged

FOLD = "Fold"
#: The operators that keep windows.
AGGREGATES = ("SparkAggregate", "SparkWindows")


def native_plan(query: nodes.Node, reason: str) -> PhysicalPlan:
    """The operators of a query to which Spark SQL has no objection; `reason`: why it runs there."""
    return _plan(query, reason, folds=source_of(aggregate_of(query)) is not None)


def is_native(plan: PhysicalPlan) -> bool:
    return isinstance(plan.spec, NativeSpec)


def figures(query: str, plan: PhysicalPlan, rows: int, size: int) -> tuple[OperatorStatus, ...]:
    """What the operators of a query keep: so many rows and bytes of Spark's state in all."""
    native = (each for each in plan.walk() if is_native(each))
    kept = {each.id: (rows, size) if each.spec.name in AGGREGATES else (0, 0) for each in native}
    return tuple(OperatorStatus(name, (query,), 0, 0, *state) for name, state in kept.items())


def _plan(node: nodes.Node, reason: str, *, folds: bool) -> PhysicalPlan:
    inputs = tuple(_plan(below, reason, folds=folds) for below in node.children)
    if isinstance(node, nodes.Source):
        return PhysicalPlan(SourceSpec.of(node.stream), (), node.label, "where rows come in")
    if isinstance(node, nodes.WindowAggregate):
        for spec in _aggregate(node, folds=folds):
            inputs = (PhysicalPlan(spec, inputs),)
        [last] = inputs
        return PhysicalPlan(last.spec, last.inputs, node.label, reason)
    folded = folds and not any(_aggregates(below) for below in inputs)
    operator, spec = _by_row(node)
    why = "computed as files are read" if folded else "a row at a time, no state"
    return PhysicalPlan(NativeSpec(FOLD if folded else operator, spec), inputs, node.label, why)


def _aggregates(plan: PhysicalPlan) -> bool:
    return any(each.spec.name in AGGREGATES for each in plan.walk())


def _aggregate(node: nodes.WindowAggregate, *, folds: bool) -> Iterator[Spec]:
    assert isinstance(node.window, Tagged)
    if folds:
        yield NativeSpec(FOLD, BucketSpec(node.window))
    results = tuple((result.name, result.aggregate) for result in node.results)
    spec = WindowSpec("Spark", node.groups, results, node.window)
    if slides(node):
        yield NativeSpec("SparkPanes", spec)
        yield NativeSpec("SparkWindows", spec)
    else:
        yield NativeSpec("SparkAggregate", spec)


def _by_row(node: nodes.Node) -> tuple[str, Spec]:
    match node:
        case nodes.Select():
            return "SparkFilter", SelectSpec(node.predicate)
        case nodes.Project():
            return "SparkProject", ProjectSpec(node.columns)
        case nodes.Union():
            return "SparkUnion", MeldSpec(len(node.parts))
    raise PenstockBug(f"{type(node).__name__} was let through")
