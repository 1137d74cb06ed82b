"""The stateful operator that Spark runs: one kernel graph per partition group.

Each micro-batch, `handleInputRows` gets the exchange's lines of one group, restores the group's
graph, carries the rows through, keeps the new state and hands out what came of it, packed as
(query, kind, Arrow IPC): queries have different columns, and packed they can come and go without a
change of schema.

A graph stays alive in its worker between batches. It is used again only if the token it was left
with is the one in the committed state; any other attempt's graph is thrown away.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.kernel.state import from_ipc, to_ipc
from penstock.model.punctuation import Where, from_json
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING
from penstock.optimizer.physical import Program
from penstock.runtime.arrivals import Arrivals
from penstock.spark.control.control_stream import ABOUT, END_OF_RUN, PULSE, key_of
from penstock.spark.delivery.delivery import PROGRESS, RESULT
from penstock.spark.exchange.exchange import FOREMOST, MALFORMED_ROWS, NEWEST_OF, PROMISES
from penstock.spark.faults import reach
from penstock.spark.group_host import Answers, GroupHost
from penstock.spark.state.segment_cache import SegmentCache, shared_folder
from penstock.spark.state.spark_state_store import SparkStateStore

OUTPUT_DDL = "g BIGINT, name STRING, kind STRING, rows BIGINT, payload BINARY"

#: Spark handles many lines of a few megabytes better than one of hundreds.
ROWS_PER_LINE = 1 << 18

#: Graphs that are alive in this worker: (query, group) -> (token, graph).
_ALIVE: dict[tuple[str, int], tuple[str, GroupHost]] = {}
_CACHES: dict[str, SegmentCache] = {}


class GroupProcessor(StatefulProcessor):
    """Runs a program for each group."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def init(self, handle: StatefulProcessorHandle) -> None:
        context = TaskContext.get()
        # Spark also runs this once on the driver's side, to learn the state variables.
        name = context.getLocalProperty("sql.streaming.queryId") if context else None
        self._query = name or "planning"
        if self._query not in _CACHES:
            _CACHES[self._query] = SegmentCache(shared_folder(self._query) if name else None)
        self._kept = SparkStateStore(handle, _CACHES[self._query])

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        group = int(key[0])
        reach("group.begin")
        before = self._kept.read()
        host = self._host(group, before)
        reach("group.restored")
        answers = host.process(arrivals(self._program, rows))
        reach("group.processed")
        token = uuid.uuid4().hex
        self._kept.write(host, token, before)
        _ALIVE[self._query, group] = (token, host)
        reach("group.kept")
        yield pd.DataFrame(packed(group, host, answers))
        reach("group.over")

    def close(self) -> None:
        pass

    def _host(self, group: int, before: dict[str, Any] | None) -> GroupHost:
        token, host = _ALIVE.pop((self._query, group), ("", None))
        # A query that was started again may have another program, and find its worker alive.
        if (
            host is not None
            and before is not None
            and before["token"] == token
            and _is_same(host.program, self._program)
        ):
            return host
        host = GroupHost(self._program, before and before["changed"])
        if before is not None:
            self._kept.restore(host, before)
        return host


def _is_same(one: Program, other: Program) -> bool:
    """Whether two programs run the same operators in the same way."""
    return (one.plans, one.options, one.streams) == (other.plans, other.options, other.streams)


def arrivals(program: Program, lines: Iterator[pd.DataFrame]) -> list[Arrivals]:
    """The exchange's lines of one group and batch, by stream."""
    found = [Arrivals() for _ in program.streams]
    blocks: list[tuple[int, int, int, bytes]] = []
    malformed: list[tuple[int, int, bytes]] = []
    promises: list[tuple[int, int, bytes, bool]] = []
    for frame in lines:
        for line in frame.itertuples(index=False):
            if line.stream == PULSE:
                promised = json.loads(line.payload)
                for declared, arrived in zip(program.streams, found, strict=True):
                    bound = promised.get(declared.name, BEGINNING)
                    arrived.bound = max(arrived.bound, bound)
                    arrived.ends |= promised.get(END_OF_RUN) == 1
                    arrived.about += _about(promised, declared)
                    arrived.clocks |= _clocks(promised, declared)
            elif line.seq == MALFORMED_ROWS:
                malformed.append((line.stream, line.task, line.payload))
            elif line.seq == PROMISES:
                promises.append((line.stream, line.task, line.payload, bool(line.rows)))
            elif line.seq == NEWEST_OF:
                column = program.streams[line.stream].further[line.rows].column
                highest = found[line.stream].highest
                highest[column] = max(highest.get(column, BEGINNING), int(line.newest))
            elif line.seq < 0:
                arrived = found[line.stream]
                arrived.newest = max(arrived.newest, int(line.newest))
                arrived.rows += int(line.rows)
                if line.payload is not None:
                    arrived.foremost += from_ipc(line.payload).get_column(FOREMOST).to_list()
            else:
                blocks.append((line.stream, line.task, line.seq, line.payload))
    for stream, _, _, payload in sorted(blocks, key=lambda block: block[:3]):
        found[stream].blocks.append(from_ipc(payload))
    for stream, _, payload in sorted(malformed):
        found[stream].malformed.append(from_ipc(payload))
    for stream, _, payload, answers in sorted(promises):
        found[stream].punctuation.append(from_ipc(payload))
        found[stream].answers_for_punctuation |= answers
    return found


def _clocks(promised: dict[str, Any], stream: Stream) -> dict[str, int]:
    """What is promised about columns that are stamped beside a stream's own time."""
    keys = {on: key_of(stream.name, on) for on in stream.stamped if on != stream.timestamp}
    return {on: promised[key] for on, key in keys.items() if key in promised}


def _about(promised: dict[str, Any], stream: Stream) -> list[tuple[int, Where]]:
    """The promises about some rows of a stream, out of a line of the pulse."""
    about = promised.get(ABOUT, [])
    return [(bound, from_json(where)) for name, bound, where in about if name == stream.name]


def packed(group: int, host: GroupHost, answers: Answers) -> dict[str, list[Any]]:
    """Answers as the operator's output columns, with one line of progress."""
    lines = [
        (name, kind, part.height, to_ipc(part))
        for (name, kind), rows in {
            **{(name, RESULT): rows for name, rows in answers.results.items()},
            **{(name, reason.value): rows for (name, reason), rows in answers.rejected.items()},
        }.items()
        for part in rows.iter_slices(ROWS_PER_LINE)
    ]
    progress = {
        "rows": answers.rows,
        "tallies": {name: tally.facts() for name, tally in answers.tallies.items()},
        **host.progress(),
    }
    lines.append(("", PROGRESS, 0, json.dumps(progress).encode()))
    names, kinds, counts, payloads = (list(column) for column in zip(*lines, strict=True))
    return {
        "g": [group] * len(lines),
        "name": names,
        "kind": kinds,
        "rows": counts,
        "payload": payloads,
    }
