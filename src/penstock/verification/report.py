"""What a verification found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from penstock.model.counted import counted
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.timestamps import DAY, format_duration, from_ticks
from penstock.model.types import Type
from penstock.verification.case import Row, VerificationCase
from penstock.verification.script import Planned
from penstock.verification.verify import Found, Verification

#: Rows of an answer that are shown.
SHOWN = 20


def lines(done: Verification) -> Iterator[str]:
    """The outcome in plain words."""
    outcome = done.outcome
    for name, sample in done.samples.items():
        most = outcome.most_rows[name]
        came = (
            f"up to {most:,} of the rows of {sample.origin}"
            if sample.rows is not None
            else f"up to {most:,} rows made of the declared types ({sample.reason})"
        )
        yield f"{name}: {came}"
        if sample.rejected:
            rows = counted(sample.rejected, "row")
            yield f"  left out: {rows} that do not conform to the declared columns"
    runs = outcome.runs
    yield (
        f"{counted(outcome.seeds, 'case')}: {counted(runs['here'], 'run')} in this process, "
        f"{runs['groups']:,} on Spark's host without Spark, {runs['spark']:,} on Spark"
    )
    for reason in outcome.not_tried:
        yield f"not tried: {reason}"
    yield ""
    for each in done.planned:
        yield f"{each.name}: {_verdict(done, each)}"
    if outcome.found is not None:
        yield ""
        yield from _difference(done, outcome.found)


def _verdict(done: Verification, planned: Planned) -> str:
    outcome, name = done.outcome, planned.name
    if name in outcome.not_judged:
        return f"not judged: {outcome.not_judged[name]}"
    if outcome.found is not None and outcome.found.difference.query == name:
        return "DIFFERS from the reference"
    compared, rows = outcome.compared[name], outcome.answers[name]
    verdict = f"equals the reference in {counted(compared, 'run')}, {counted(rows, 'row')} in all"
    if not rows:
        verdict += " (no results: try more --rows)"
    if name in outcome.in_part:
        verdict += f"; in part: {outcome.in_part[name]}"
    return verdict


def _difference(done: Verification, found: Found) -> Iterator[str]:
    wrong = found.difference
    planned = next(each for each in done.planned if each.name == wrong.query)
    yield f"The smallest difference of `{wrong.query}` ({found.way}):"
    yield ""
    yield "  input"
    yield from indented(_arrivals(done.streams, found.case), 4)
    if wrong.problem:
        yield ""
        yield f"  {wrong.problem}"
    else:
        columns = planned.plan.schema.columns
        for title, rows in (("expected", wrong.expected), ("got", wrong.got)):
            yield ""
            yield f"  {title}"
            marked = wrong.missing if title == "expected" else wrong.unexpected
            yield from indented(_answer(columns, rows, marked), 4)
    yield ""
    again = f"--seed {found.seed} --rows {found.wanted}"
    yield f"  to repeat: {again} ({found.rows_at_first:,} rows at first)"


def _arrivals(streams: Mapping[str, Stream], case: VerificationCase) -> Iterator[str]:
    """Every row in the order of arrival, under the batch that brings it."""
    for number, batch in enumerate(case.batches, start=1):
        yield f"batch {number}"
        for name, rows in batch.rows.items():
            columns = streams[name].arriving
            yield from indented([f"{name}:", *indented(table(columns, rows), 2)], 2)
        for name, bound in batch.bounds.items():
            on = streams[name].schema[str(streams[name].timestamp)]
            yield f"  {name}: punctuated from outside: nothing below {show(bound, on.type)} comes"
    yield "then all streams end"


def _answer(columns: Sequence[Column], rows: Sequence[Row], marked: Sequence[Row]) -> Iterator[str]:
    """Rows of an answer; those that the other one does not have are marked, and come first."""
    if not rows:
        yield "nothing"
        return
    rest = list(rows)
    for row in marked:
        rest.remove(row)
    texts = [["*", *cells] for cells in _cells(columns, marked)]
    texts += [["", *cells] for cells in _cells(columns, rest)]
    yield from aligned([["", *(column.name for column in columns)], *texts[:SHOWN]])
    if len(texts) > SHOWN:
        yield f"… {len(texts) - SHOWN:,} more"


def table(columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[str]:
    """Rows under the names of their columns.

    >>> columns = (Column("item", Type.STRING), Column("ts", Type.TIMESTAMP))
    >>> print("\\n".join(table(columns, [{"item": "lamp", "ts": 1_000_000}])))
    item  ts
    lamp  1970-01-01 00:00:01
    """
    yield from aligned([[column.name for column in columns], *_cells(columns, rows)])


def _cells(columns: Sequence[Column], rows: Iterable[Row]) -> list[list[str]]:
    return [[show(row[column.name], column.type) for column in columns] for row in rows]


def aligned(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def indented(texts: Iterable[str], by: int) -> Iterator[str]:
    return (f"{' ' * by}{text}" for text in texts)


def show(value: Any, of: Type) -> str:
    """A value as people read it."""
    if value is None:
        return "NULL"
    try:
        if of.is_time:
            return str(from_ticks(value))
        if of is Type.DATE:
            return str(from_ticks(value * DAY).date())
    except OverflowError:
        return str(value)
    if of is Type.INTERVAL:
        return format_duration(value)
    return repr(value) if of is Type.BINARY else str(value)


def as_json(done: Verification) -> dict[str, Any]:
    """Everything, for `--json`."""
    outcome, found = done.outcome, done.outcome.found
    return {
        "seconds": round(outcome.seconds, 1),
        "seeds": outcome.seeds,
        "runs": dict(outcome.runs),
        "streams": {
            name: {
                "origin": sample.origin,
                "generated": sample.rows is None,
                "rows": outcome.most_rows[name],
                "rejected": sample.rejected,
            }
            for name, sample in done.samples.items()
        },
        "queries": {
            each.name: {
                "runs": outcome.compared[each.name],
                "rows": outcome.answers[each.name],
                "not_judged": outcome.not_judged.get(each.name),
                "in_part": outcome.in_part.get(each.name),
            }
            for each in done.planned
        },
        "not_tried": outcome.not_tried,
        "difference": None if found is None else _found_as_json(found),
    }


def _found_as_json(found: Found) -> dict[str, Any]:
    wrong = found.difference
    return {
        **asdict(wrong),
        "problem": wrong.problem or None,
        "seed": found.seed,
        "rows": found.wanted,
        "way": str(found.way),
        "batches": [{"rows": batch.rows, "bounds": batch.bounds} for batch in found.case.batches],
    }
