"""Events of random streams, cut into micro-batches, tasks and blocks by Hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from penstock.model.streams import Stream
from penstock.oracle.lateness import StreamStep, Verdict, judge, taken_in
from penstock.spark.in_memory.micro_batches import MicroBatch
from tests.engine.random_streams import Declared, Event, Push, Row


@st.composite
def micro_batches(draw: st.DrawFn, events: Sequence[Event]) -> list[MicroBatch]:
    """The events in order, several of them in one batch; some batches bring nothing."""
    batches = []
    for chunk in draw(cuts(events)):
        rows: dict[str, list[Row]] = {}
        bounds: dict[str, int] = {}
        for event in chunk:
            if isinstance(event, Push):
                rows.setdefault(event.stream, []).extend(event.rows)
            else:
                bounds[event.stream] = event.bound
        tasks = {name: [draw(cuts(task)) for task in draw(cuts(r))] for name, r in rows.items()}
        for each in tasks.values():
            if draw(st.booleans()):
                each.reverse()  # tasks run side by side: a later one may hold the earlier rows
        batches.append(MicroBatch(tasks, bounds))
    return batches


@st.composite
def cuts(draw: st.DrawFn, items: Sequence[Any]) -> list[list[Any]]:
    """The items in order, in pieces; there may be empty ones."""
    places = sorted(draw(st.lists(st.integers(0, len(items)), max_size=3)))
    return [
        list(items[start:end])
        for start, end in zip([0, *places], [*places, len(items)], strict=True)
    ]


def as_numbered(
    streams: Sequence[Stream], rows: Mapping[str, list[list[Row]]]
) -> dict[str, list[Row]]:
    """Rows per batch as their stream numbers them: an ordered one in the order of time."""
    found = {}
    for stream in streams:
        taken = []
        for batch in rows[stream.name]:
            on = stream.timestamp if stream.is_ordered else None
            taken += sorted(batch, key=lambda row: row[on]) if on is not None else batch
        found[stream.name] = [{**row, "row_num": n} for n, row in enumerate(taken, start=1)]
    return found


class ByBatch(NamedTuple):
    """Rows on time by batch, late ones, those without a time, and by batch all that have one."""

    on_time: list[list[Row]]
    late: list[Row]
    timeless: list[Row]
    every: list[list[Row]]


def judged_by_batch(
    declared: Sequence[Declared], batches: Sequence[MicroBatch]
) -> dict[str, ByBatch]:
    """What must become of each stream's rows.

    Late is what lies below the bound of the batches BEFORE its own.
    """
    found = {}
    for each in declared:
        steps = [StreamStep(b.arrived(each.name), b.bounds.get(each.name)) for b in batches]
        judged = judge(each.stream, steps, by_batch=True)
        on_time = [[dict(r) for v, r in step if v is Verdict.ON_TIME] for step in judged]
        pairs = [pair for step in judged for pair in step]
        found[each.name] = ByBatch(
            on_time,
            [dict(row) for verdict, row in pairs if verdict is Verdict.LATE],
            [dict(row) for verdict, row in pairs if verdict is Verdict.TIMELESS],
            [[dict(row) for row in taken_in([step], late=True)] for step in judged],
        )
    return found
