"""Figures of operators: those of now, with all rows since the pipeline was started."""

from __future__ import annotations

from penstock.runtime.status import OperatorStatus
from penstock.spark.delivery.operator_figures import OperatorFigures


def figures(*operators: tuple[str, int]) -> tuple[OperatorStatus, ...]:
    return tuple(OperatorStatus(name, ("q",), rows, rows, 0, 0) for name, rows in operators)


def test_rows_of_a_batch_that_is_repeated_count_once() -> None:
    found = OperatorFigures()
    for batch, rows in ((0, 5), (1, 7), (1, 7), (2, 0)):
        found.note(batch, figures(("select", rows)))
    [select] = found.statuses()
    assert (select.rows_in, select.rows_out) == (12, 12)


def test_operators_of_queries_that_have_gone_are_forgotten() -> None:
    found = OperatorFigures()
    for change in range(50):
        found.note(change, figures(("source", 1), (f"window {change}", 1)))
    assert [each.name for each in found.statuses()] == ["source", "window 49"]
    assert found.statuses()[0].rows_in == 50
    assert len(found._rows) == 2
    found.note(50, ())  # a batch that has reached no group
    assert len(found.statuses()) == 2
