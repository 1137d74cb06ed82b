"""Processor time: shared out among operators by how long their steps took."""

from penstock.kernel.graph import Graph
from penstock.kernel.operators.fork import Fork
from penstock.kernel.statistics.spent import HALF_LIFE, Spent, StepTimes


def test_what_a_run_took_is_shared_out() -> None:
    graph = Graph()
    source = graph.add_source("s")
    one, other = (graph.add(Fork(), [source], name=name) for name in ("one", "other"))
    wall, processor = iter([0, 100]), iter([0, 50])
    times = StepTimes(lambda: next(wall), lambda: next(processor))
    times.begin()
    for node, took in ((one, 60), (other, 10), (one, 20)):
        times.note(node, took, rows=1)
    times.end()
    assert (one.spent.total, other.spent.total) == (40, 5)
    assert (one.spent.rows, other.spent.rows) == (2, 1)


def test_what_was_spent_before_loses_weight() -> None:
    spent = Spent()
    spent.add(1000, HALF_LIFE)
    spent.add(100, HALF_LIFE)
    assert (spent.total, spent.lately, spent.rows) == (1100, 600, 1.5 * HALF_LIFE)
