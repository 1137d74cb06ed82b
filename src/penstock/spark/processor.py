"""The stateful operator that Spark runs: one kernel graph per partition group.

Each micro-batch, `handleInputRows` gets the exchange's messages of one group, restores the group's
graph, carries the rows through, keeps the new state and hands out what came of it, packed as
(query, kind, Arrow IPC): queries have different columns, and packed they can come and go without a
change of schema (`group_messages`).

A graph stays alive in its worker between batches. It is used again only if the token it was left
with is the one in the committed state; any other attempt's graph is thrown away. So it is when the
program has changed: the graph of the new one is restored from the state, which lies under the
fingerprints of operators.

Before the first batch Spark starts a Python of its own only to learn which state variables there
are. So nothing is imported here that this one does not need, and the program is unpacked when there
are rows for it, once in a worker's life.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.serializers import CPickleSerializer
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from penstock.spark.alive_graphs import AliveGraphs
from penstock.spark.worker import forget_ended, forgetting, leave_out_modules

if TYPE_CHECKING:
    from pyspark.sql import Row

    from penstock.optimizer.physical import Program
    from penstock.spark.catching_up.group_hosts import GroupHosts
    from penstock.spark.control.told import Told
    from penstock.spark.state.segment_cache import SegmentCache
    from penstock.spark.state.spark_state_store import SparkStateStore

#: A local property of a batch's thread, and of its tasks.
QUERY_ID = "sql.streaming.queryId"

OUTPUT_DDL = "g BIGINT, name STRING, kind STRING, rows BIGINT, payload BINARY"

_BINARY = StructType([StructField("v", BinaryType())])
_LONG = StructType([StructField("k", LongType())])

_SERIALIZER: Any = CPickleSerializer()  # Spark's own, with which it sends all code

#: Graphs that are alive in this worker, and decoded segments by query.
_ALIVE = AliveGraphs()
_CACHES: dict[str, SegmentCache] = {}
#: The program that was unpacked last, as it came.
_UNPACKED: dict[bytes, Program] = {}


def _forget_others(running: Collection[str]) -> None:
    from penstock.spark.shared_memory import let_go_of_shared

    _ALIVE.forget_others(running)
    for query in [query for query in _CACHES if query and query not in running]:
        del _CACHES[query]
        let_go_of_shared(query)


forgetting(_forget_others)


class GroupProcessor(StatefulProcessor):
    """Runs a program for each group."""

    def __init__(self, program: Program) -> None:
        self._first = program

    def __getstate__(self) -> dict[str, Any]:
        # Code of more than a megabyte travels as a broadcast, which the Python that only looks at
        # the state variables does not get; a thousand queries are much alike, and so less packed.
        return {"_packed": zlib.compress(_SERIALIZER.dumps(self._first))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._packed: bytes = state["_packed"]

    @cached_property
    def _program(self) -> Program:
        from penstock.spark.shipped_programs import shipped

        later = self._told.program
        return shipped(later).program if later else self._first

    @cached_property
    def _first(self) -> Program:
        """The program that came with the code."""
        if self._packed not in _UNPACKED:
            _UNPACKED.clear()
            _UNPACKED[self._packed] = _SERIALIZER.loads(zlib.decompress(self._packed))
        return _UNPACKED[self._packed]

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._map = handle.getMapState("state", _LONG, _BINARY)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        from penstock.spark.catching_up.read_again import read_again
        from penstock.spark.exchange.messages import in_order
        from penstock.spark.faults import reach
        from penstock.spark.group_messages import arrivals, handed_on, packed

        forget_ended(self._told.running)
        if not _ALIVE:
            leave_out_modules()
        group = int(key[0])
        reach("group.begin")
        before = self._kept.read()
        host = self._host(group, before)
        reach("group.restored")
        messages = in_order(rows)
        live, told = self._program.live, self._told
        again = {
            int(change): read_again(host.behind[int(change)].program, slice, group, told)
            for change, slice in told.again.items()
        }
        answers = host.process(arrivals(live, messages), again)
        reach("group.processed")
        token = uuid.uuid4().hex
        self._kept.write(host, token, before)
        _ALIVE.leave(self._query, group, token, host)
        reach("group.kept")
        yield from handed_on(group, messages)
        yield from packed(group, host, answers, told)
        reach("group.over")

    @cached_property
    def _query(self) -> str:
        context = TaskContext.get()
        name = context.getLocalProperty(QUERY_ID) if context else None
        return name or ""

    @cached_property
    def _told(self) -> Told:
        from penstock.spark.control.told import TOLD, Told

        context = TaskContext.get()
        return Told.of(context.getLocalProperty(TOLD) if context else None)

    @cached_property
    def _kept(self) -> SparkStateStore:
        from penstock.spark.shared_memory import let_go_of_shared, shared_folder
        from penstock.spark.state.segment_cache import SegmentCache
        from penstock.spark.state.spark_state_store import SparkStateStore

        for query, cache in list(_CACHES.items()):
            cache.forget_idle()
            if query != self._query and cache.is_empty:
                del _CACHES[query]
                let_go_of_shared(query)
        if self._query not in _CACHES:
            _CACHES[self._query] = SegmentCache(shared_folder(self._query) if self._query else None)
        return SparkStateStore(self._map, _CACHES[self._query])

    def _host(self, group: int, before: dict[str, Any] | None) -> GroupHosts:
        from penstock.spark.catching_up.group_hosts import GroupHosts

        host = _ALIVE.take(self._query, group, None if before is None else before["token"])
        # A query that was started again may have another program, and find its worker alive.
        if host is not None and _is_same(host.program, self._program):
            return host
        if before is None:
            return GroupHosts(self._program)
        host = self._kept.restored(self._program, before)
        host.hand_over()
        return host


def _is_same(one: Program, other: Program) -> bool:
    """Whether two programs run the same operators in the same way.

    Code of users may have been mended in between, which does not show in plans.
    """
    if one is not other and other.has_user_code:
        return False
    return one is other or _what_runs(one) == _what_runs(other)


def _what_runs(program: Program) -> tuple[object, ...]:
    how = program.options, program.own, program.altered, program.catching_up
    return program.plans, *how, program.streams
