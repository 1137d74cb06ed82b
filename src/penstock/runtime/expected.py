"""Expected: what EXPLAIN says of joins whose shape is a choice, and how that is known.

expected of joins  value              known      rows seen
a                  20 rows/s          measured   2000
a, b               selectivity 0.01   guessed    0
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model.number_text import number_text
from penstock.model.text_table import text_table
from penstock.optimizer.join_figures import Figure, join_figures
from penstock.optimizer.joins.flat_join import FlatJoin, flat_join
from penstock.optimizer.measured_joins import joins_of, title_of
from penstock.optimizer.statistics import Statistics
from penstock.plan.nodes import Join, Node

_Row = Sequence[str | int]


def expected(plan: Node, statistics: Statistics) -> str:
    """The figures by which shapes of joins are chosen; empty: there is nothing to choose."""
    chosen = [join for join in joins_of([plan]) if len(flat_join(join).inputs) > 2]
    if not chosen:
        return ""
    head: _Row = ("expected of joins", "value", "known", "rows seen")
    rows = dict.fromkeys(row for join in chosen for row in _rows(join, statistics))
    return text_table([head, *rows])


def _rows(join: Join, statistics: Statistics) -> list[_Row]:
    flat, figures = flat_join(join), join_figures(join, statistics)
    found = [
        _row(title_of(each.node), f"{number_text(rate.value, 4)} rows/s", rate)
        for each, rate in zip(flat.inputs, figures.rates, strict=True)
    ]
    for (i, j), share in sorted(figures.selectivities.items()):
        names = f"{_name(flat, i)}, {_name(flat, j)}"
        found.append(_row(names, f"selectivity {number_text(share.value)}", share))
    return found


def _row(what: str, value: str, figure: Figure) -> _Row:
    return what, value, figure.source, figure.seen


def _name(flat: FlatJoin, number: int) -> str:
    return flat.inputs[number].name or title_of(flat.inputs[number].node)
