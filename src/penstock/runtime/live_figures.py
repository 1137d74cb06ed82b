"""Live figures: what EXPLAIN LIVE says of a query besides what it waits for.

input of a join   rows/s       bytes a row  rows seen
bids              1,200        48           96,000

predicate         selectivity  error      rows seen
a.k = b.k         0.001        ± 0.00003  240,000

operator          rows in  rows out  state rows  bytes  processor  lately a row
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.model.number_text import number_text
from penstock.model.sizes import size_text
from penstock.model.text_table import text_table
from penstock.optimizer.joins.join_estimates import JoinEstimate
from penstock.runtime.status import InputStatus, OperatorStatus, PredicateStatus, QueryStatus

#: Instead of what is not known yet.
UNKNOWN = "not known yet"


def live_figures(
    query: QueryStatus,
    operators: Iterable[OperatorStatus],
    estimates: Mapping[str, JoinEstimate] | None = None,
) -> str:
    """The figures of a query and of its operators, as tables; with what was estimated of joins."""
    tables: list[list[Sequence[str | int]]] = []
    if query.inputs:
        head: Sequence[str | int] = ("input of a join", "rows/s", "bytes a row", "rows seen")
        tables.append([head, *map(_input, query.inputs)])
    if query.predicates:
        head = ("predicate", "selectivity", "error", "rows seen")
        tables.append([head, *map(_predicate, query.predicates)])
    mine = [each for each in operators if query.name in each.queries]
    if mine:
        head = (
            "operator",
            "rows in",
            "rows out",
            "state rows",
            "bytes",
            "processor",
            "lately a row",
        )
        tables.append([head, *map(_operator, mine)])
    if estimates:
        head = (
            *("join", "operator", "state rows", "estimated", "state", "estimated"),
            *("processor a row", "estimated"),
        )
        tables.append([head, *_compared(mine, estimates)])
    return "\n\n".join(map(text_table, tables))


def _input(of: InputStatus) -> Sequence[str | int]:
    rate = UNKNOWN if of.rate is None else number_text(of.rate, 4)
    return of.name, rate, "-" if of.row_bytes is None else f"{of.row_bytes:.0f}", of.seen


def _predicate(of: PredicateStatus) -> Sequence[str | int]:
    if of.selectivity is None or of.error is None:
        return of.predicate, UNKNOWN, "-", of.seen
    return of.predicate, number_text(of.selectivity), f"± {number_text(of.error, 1)}", of.seen


def _compared(
    operators: Iterable[OperatorStatus], estimates: Mapping[str, JoinEstimate]
) -> Iterator[Sequence[str | int]]:
    """What joins keep and take, beside what was estimated."""
    for each in operators:
        if each.name in estimates:
            known = estimates[each.name]
            stored = each.state_rows, f"{known.rows:,.0f}"
            sizes = size_text(each.state_bytes), size_text(known.bytes)
            took = "-"
            if each.rows_in:
                took = _micros(each.processor_seconds / each.rows_in)
            estimate = _micros(known.seconds_per_row)
            yield known.title, each.name, *stored, *sizes, took, estimate


def _micros(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs"


def _operator(of: OperatorStatus) -> Sequence[str | int]:
    lately = of.seconds_per_row
    return (
        *(of.name, of.rows_in, of.rows_out, of.state_rows, of.state_bytes),
        f"{of.processor_seconds:.3f} s",
        "-" if lately is None else _micros(lately),
    )
