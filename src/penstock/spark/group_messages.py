"""Between messages of the exchange and a group's graph: what a batch brings, and what it gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl
from pyspark.sql import Row

from penstock.errors import PenstockBug
from penstock.kernel.aggregation.preaggregating import WHOSE
from penstock.kernel.state import from_ipc, to_ipc
from penstock.model.punctuation import Where, from_json
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING
from penstock.optimizer.physical import Program, head_of
from penstock.runtime.arrivals import Arrivals, Folded
from penstock.spark.catching_up.group_hosts import GroupHosts
from penstock.spark.control.control_stream import ABOUT, END_OF_RUN, key_of
from penstock.spark.control.told import Told
from penstock.spark.delivery.delivery import PROGRESS, RESULT, SEVERAL, STAGED, in_stacks
from penstock.spark.delivery.staging import stage, told_of
from penstock.spark.exchange.alike_aggregates import apart
from penstock.spark.exchange.exchange import ROWS_PER_MESSAGE
from penstock.spark.exchange.hand_over import taken
from penstock.spark.exchange.messages import (
    ControlLine,
    FurtherProgress,
    MalformedRows,
    Message,
    PartialAggregates,
    PunctuationRows,
    QueryResults,
    RowBlock,
    RowFigures,
    SharedRows,
    StagedResults,
    TaskProgress,
)
from penstock.spark.exchange.reached import FOREMOST
from penstock.spark.group_host import Answers
from penstock.spark.sources.narrow_reading import whole

_OUTPUT = Row("g", "name", "kind", "rows", "payload")


def arrivals(program: Program, messages: Iterable[Message]) -> list[Arrivals]:
    """The messages of one group and batch, which are in order, by stream."""
    found = [Arrivals() for _ in program.streams]
    #: By stream and number, partial aggregates of aggregates that are alike.
    folded: dict[tuple[int, int], list[tuple[int, pl.DataFrame]]] = {}
    for message in messages:
        if isinstance(message, ControlLine):
            _take_punctuation(program, found, json.loads(message.payload))
        elif isinstance(message, PartialAggregates):
            table = (message.rows, taken(message.payload))
            folded.setdefault((message.stream, message.aggregate), []).append(table)
        else:
            _take(message, found[message.stream], program.streams[message.stream])
    for (number, operator), tables in folded.items():
        found[number].folded += _folded(program, operator, tables)
    return found


def _take(message: Message, arrived: Arrivals, stream: Stream) -> None:
    """Take a message about one stream."""
    match message:
        case RowBlock():
            arrived.blocks.append(whole(taken(message.payload), stream))
        case SharedRows():
            arrived.for_others.append(whole(taken(message.payload), stream))
        case MalformedRows():
            arrived.malformed.append(from_ipc(message.payload))
        case PunctuationRows():
            arrived.punctuation.append(from_ipc(message.payload))
            arrived.answers_for_punctuation |= message.reports
        case TaskProgress():
            arrived.newest = max(arrived.newest, message.newest)
            arrived.rows += message.rows
            if message.payload:
                arrived.foremost += from_ipc(message.payload).get_column(FOREMOST).to_list()
        case FurtherProgress():
            newest = arrived.highest.get(message.column, BEGINNING)
            arrived.highest[message.column] = max(newest, message.newest)
        case RowFigures():
            if message.late:
                arrived.passed.append((message.late, message.oldest))
        case StagedResults() | QueryResults():
            pass  # these only pass through (`handed_on`, `rows/host.py`)
        case _:
            raise PenstockBug(f"no group takes {message}")


def _folded(
    program: Program, number: int, tables: Sequence[tuple[int, pl.DataFrame]]
) -> Iterator[Folded]:
    """What aggregates keep of rows that the exchange has folded, of one or of several."""
    operators = program.operators
    if WHOSE not in tables[0][1].columns:
        target = operators[number]
        yield from (Folded(target.id, head_of(target).id, table, rows) for rows, table in tables)
        return
    rows = sum(rows for rows, _ in tables)
    for which, part in apart([table for _, table in tables], operators[number].spec):
        target = operators[which]
        yield Folded(target.id, head_of(target).id, part, rows)


def _take_punctuation(program: Program, found: list[Arrivals], message: dict[str, Any]) -> None:
    """Take a message of the control stream, which is about all streams."""
    for declared, arrived in zip(program.streams, found, strict=True):
        arrived.bound = max(arrived.bound, message.get(declared.name, BEGINNING))
        arrived.ends |= message.get(END_OF_RUN) == 1
        arrived.about += _about(message, declared)
        arrived.clocks |= _clocks(message, declared)


def _clocks(message: dict[str, Any], stream: Stream) -> dict[str, int]:
    """The bounds on columns that are stamped beside a stream's own time."""
    keys = {on: key_of(stream.name, on) for on in stream.stamped if on != stream.timestamp}
    return {on: message[key] for on, key in keys.items() if key in message}


def _about(message: dict[str, Any], stream: Stream) -> list[tuple[int, Where]]:
    """The bounds on some rows of a stream, out of a message of the control stream."""
    about = message.get(ABOUT, [])
    return [(bound, from_json(where)) for name, bound, where in about if name == stream.name]


def handed_on(group: int, messages: Iterable[Message]) -> Iterator[Row]:
    """The results of tasks of the exchange, as the operator's output columns.

    They have written them, or sent them on, where the directory is another one than the driver's.
    """
    for message in messages:
        if isinstance(message, QueryResults):
            yield _OUTPUT(group, message.query, RESULT, message.rows, message.payload)
        if isinstance(message, StagedResults):
            name = told_of(message.payload).item(0, "query")
            yield _OUTPUT(group, name, STAGED, message.rows, message.payload)


def packed(group: int, host: GroupHosts, answers: Answers, told: Told) -> Iterator[Row]:
    """Answers as the operator's output columns, with one message of progress.

    Many results that go to files are written here, beside those of other groups.
    """
    results = dict(answers.results)
    for name, sink in told.sinks.items():
        if name in results and results[name].height >= told.staged_from:
            staged = stage(name, results[name], host.program.queries[name].schema, sink)
            if staged is not None:
                yield _OUTPUT(group, name, STAGED, results.pop(name).height, staged)
    rejected = ((n, reason.value, rows) for (n, reason), rows in answers.rejected.items())
    for name, kind, rows in (*in_stacks(results), *rejected):
        for part in [rows] if kind == SEVERAL else rows.iter_slices(ROWS_PER_MESSAGE):
            yield _OUTPUT(group, name, kind, part.height, to_ipc(part))
    yield _OUTPUT(group, "", PROGRESS, 0, host.report(answers).as_bytes())
