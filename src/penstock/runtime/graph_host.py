"""GraphHost: a kernel graph that is fed, run and drained; under every engine.

The kernel knows neither clocks nor callers; the host brings both. Rows go into streams
(`stream_input`), `run` carries them through the graph until nothing can move, and results are
handed out after the very step that produced them, so what the clock says then is their true time.

    host = GraphHost()
    bids = host.add_stream(stream)
    host.add_query("all", bids)
    host.push("bids", rows)
    host.run()
    host.results("all")

Streams and queries may come and go between steps. A query sees what its node puts out from then on:
rows that were pushed before but are still on their way to that node are seen as well, so `run`
before adding one where the difference matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from copy import deepcopy
from typing import TypeVar

import polars as pl

from penstock.errors import DuplicateName, UnknownName, UserCodeError
from penstock.kernel.aggregation.wid.closing_together import close_together
from penstock.kernel.conform import Rows
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.migration.retention import retain_together
from penstock.kernel.progress.late import LatePolicy
from penstock.kernel.progress.release import releases
from penstock.kernel.progress.useful import is_awaited, upstream
from penstock.kernel.scheduling.executor import Executor, Step
from penstock.kernel.segments import Segment
from penstock.kernel.state import State
from penstock.model.ets import ON_DEMAND, Ets
from penstock.model.punctuation import Where
from penstock.model.releases import Releases
from penstock.model.schema import suggest
from penstock.model.streams import Stream
from penstock.optimizer.build import build
from penstock.optimizer.physical import Plans
from penstock.optimizer.rechoose import Change
from penstock.optimizer.specs import SourceSpec
from penstock.runtime.clock import Clock, RealClock
from penstock.runtime.counts import RejectedRows, StreamCounts, counts_of
from penstock.runtime.enabling import Enabling
from penstock.runtime.measuring import Measuring
from penstock.runtime.migrations import Migrations
from penstock.runtime.query_output import QueryOutput
from penstock.runtime.snapshot import Directory, States, describe, renamed, restore
from penstock.runtime.status import OperatorStatus
from penstock.runtime.stream_input import StreamInput

T = TypeVar("T")


class GraphHost:
    """Feeds, runs and drains one graph.

    `rejected` collects rows that could not go in; without one of your own all of them are kept in
    `rejected_rows`, as results are that nobody subscribes to. Engines do both, and keep only so
    many; a bare host is for what ends. On a virtual clock a step costs its operator's `cost` for
    each row it consumes, and `punctuation_cost` for a punctuation. `ets` says when streams make
    enabling timestamps (None: never, whatever they declare), `ets_by_arcs` whether these skip the
    operators that only pass them on. `by_batch` and `reopens` are those of its streams
    (`StreamInput`).
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        rows_per_step: int | None = None,
        late: LatePolicy = LatePolicy.KEEP,
        rejected: Callable[[RejectedRows], None] | None = None,
        punctuation_cost: int = 0,
        ets: Ets | None = ON_DEMAND,
        ets_by_arcs: bool = False,
        by_batch: bool = False,
        reopens: bool = False,
        adapting: Callable[[], Set[str]] | None = None,
    ) -> None:
        self.graph = Graph()
        self.clock: Clock = clock or RealClock()
        self.inputs: dict[str, StreamInput] = {}  # the ways in, by stream
        self.measuring = Measuring(self.graph, self.inputs)
        self.executor = Executor(
            self.graph,
            times=self.measuring.times,
            rows_per_step=rows_per_step,
            after_step=self._after_step,
            at_empty_source=lambda source: self.enabling.ask(source),
        )
        self.rejected_rows: list[RejectedRows] = []
        self._late = late
        self._max_jump: int | None = None
        self._rejected = rejected or self.rejected_rows.append
        self._limited: list[GraphNode] = []  # nodes whose operators can end attempts
        self._punctuation_cost = punctuation_cost
        self._how = {"by_batch": by_batch, "reopens": reopens}
        self._holds_back = False  # results
        self._fed: list[GraphNode] = []  # sources that got rows since the last step
        self._outputs: dict[str, QueryOutput] = {}
        self._is_new = False  # whether the graph has changed since it ran
        #: The queries whose joins keep what they need to give way to others.
        self._adapting: Callable[[], Set[str]] = adapting or self._outputs.keys
        self.migrations = Migrations()
        self.enabling = Enabling(self.graph, self.inputs, self.clock, ets, by_arcs=ets_by_arcs)

    # -- streams and queries ------------------------------------------------------------------

    def add_stream(self, stream: Stream) -> GraphNode:
        """The source that the stream's rows will come out of."""
        if stream.name in self.inputs:
            raise DuplicateName(f"stream `{stream.name}` exists already")
        node = self.graph.add_source(stream.name)
        self.inputs[stream.name] = self._input(stream, node)
        self._rebuild()
        return node

    def source_of_all(self, stream: str) -> GraphNode:
        """A source of the stream's rows with the late ones among them; it has no bounds."""
        found = self._stream(stream)
        if found.node_of_all is None:
            found.node_of_all = self.graph.add_source(_with_late(stream))
            self._rebuild()
        return found.node_of_all

    def remove_stream(self, name: str) -> None:
        """Forget a stream that no query reads."""
        stream = self._stream(name)
        for node in (stream.node, stream.node_of_all):
            if node is not None:
                self.graph.remove_source(node.name)
        del self.inputs[name]
        self._rebuild()

    def add_query(self, name: str, node: GraphNode) -> None:
        """Hand out what `node` puts out from now on."""
        self._add_queries({name: node})

    def add_plans(self, plans: Plans) -> None:
        """Build the operators of queries, where they are not there already, and run them."""
        self._add_queries({n: build(plan, self.graph, self._source) for n, plan in plans.items()})

    def _source(self, spec: SourceSpec) -> GraphNode:
        name = spec.stream.name
        return self.source_of_all(name) if spec.with_late else self.source(name)

    def _add_queries(self, nodes: Mapping[str, GraphNode]) -> None:
        for name, node in nodes.items():
            if name in self._outputs:
                raise DuplicateName(f"query `{name}` exists already")
            self._outputs[name] = QueryOutput(self.graph.add_sink(name, node))
        self._rebuild()
        # New operators know no bound yet and would wait for one that was made long ago.
        behind = upstream(*nodes.values())
        for stream in self.inputs.values():
            if stream.node in behind:
                stream.repeat_punctuation()

    def remove_query(self, name: str) -> None:
        """Stop a query, and every operator that works for it alone."""
        self._query(name)
        self.graph.remove_sink(name)
        del self._outputs[name]
        self._rebuild()

    def change(
        self, change: Change, fill: Callable[[Mapping[str, GraphNode]], None] | None = None
    ) -> None:
        """Run all queries by other plans from now on; the new operators take over what is kept.

        Nothing may be on its way to an operator that changes its place: `run` first. `fill` gets
        the nodes of before, and puts into new operators what others have kept.
        """
        before = dict(self.graph.nodes)
        directory, segments = describe(self.graph.states(), self.graph)
        directory = renamed(directory, change.renamed, change.moved)
        for name in change.anew:
            directory["states"].pop(f"operator {name}", None)
        self._build_anew(change.plans)
        _restore(self.graph.states(), self.graph, directory, segments)
        if fill is not None:
            self.retain()
            fill(before)
        self._rebuild()
        for stream in self.inputs.values():
            stream.repeat_punctuation()
        self.run()

    @contextmanager
    def undone_if_failing(self, plans: Callable[[], Plans]) -> Iterator[None]:
        """Have code of users that fails leave everything as it was; `plans` are all that run.

        Streams and queries that the code itself has declared or dropped stay so.

        Results are handed on when all is done. Rows that were rejected are set aside once more if
        they come again.
        """
        directory, segments = describe(self.states(), self.graph)
        directory["states"] = deepcopy(directory["states"])
        tallies = {name: deepcopy(stream.tally) for name, stream in self.inputs.items()}
        self._holds_back = True
        try:
            yield
        except UserCodeError:
            self._fed = []
            self._build_anew(plans())
            _restore(self.states(), self.graph, directory, segments)
            for name in tallies.keys() & self.inputs.keys():
                self.inputs[name].tally = tallies[name]
            self._rebuild()
            raise
        finally:
            self._holds_back = False
        for output in list(self._outputs.values()):
            output.drain()

    def _build_anew(self, plans: Plans) -> None:
        """Operators for all queries, which keep nothing yet."""
        self.graph.clear()
        for name, stream in self.inputs.items():
            stream.node = self.graph.add_source(name)
            if stream.node_of_all is not None:
                stream.node_of_all = self.graph.add_source(_with_late(name))
        for name, plan in plans.items():
            node = build(plan, self.graph, self._source)
            self._outputs[name].read(self.graph.add_sink(name, node))

    def subscribe(self, query: str, callback: Callable[[pl.DataFrame], None]) -> None:
        """Have results handed to `callback` instead of waiting for `results`."""
        self._query(query).subscribe(callback)

    # -- rows and punctuation -----------------------------------------------------------------

    def push(self, stream: str, rows: Rows) -> None:
        """Put rows into a stream; nothing runs yet."""
        fed = self._stream(stream)
        fed.push(rows, self.clock.now())
        self._fed += [node for node in (fed.node, fed.node_of_all) if node is not None]

    def reject(self, stream: str, texts: list[str]) -> None:
        """Reject what was meant for a stream and is not a row."""
        self._stream(stream).reject(texts)

    def punctuate(self, stream: str, bound: int, where: Where = ()) -> None:
        """Say that nothing below `bound` comes any more; of rows that match `where` only."""
        self._stream(stream).punctuate(bound, where)

    def set_max_jump(self, jump: int | None) -> None:
        """Change how far ahead of the newest row and of the clock rows may lie."""
        self._max_jump = jump
        for stream in self.inputs.values():
            stream.max_jump = jump

    def set_late(self, late: LatePolicy) -> None:
        """Deal with late rows in another way from now on."""
        self._late = late
        for stream in self.inputs.values():
            stream.policy = late

    def waits(self) -> bool:
        """Whether some operator holds what only punctuation would set free."""
        return is_awaited(self.graph.nodes.values())

    # -- running ------------------------------------------------------------------------------

    def step(self) -> Step | None:
        """Execute one operator once; None if nothing can move."""
        self._drain_fed()
        self.enabling.make_due()
        return self.executor.step()

    def run(self) -> None:
        """Until nothing can move, and no stream that is asked has anything new to say."""
        if self._is_new:
            self._is_new = False
            close_together(self.graph)
            self.retain()
        self.enabling.begin()
        self.measuring.times.begin()
        while self.step() is not None or self.enabling.ask_all():
            pass
        self.measuring.times.end()

    def retain(self) -> None:
        """Have joins of queries that adapt keep what other shapes of them need."""
        retain_together(self.graph, self._adapting())

    def finish(self) -> None:
        """End all streams and carry everything out."""
        for stream in self.inputs.values():
            stream.end()
        self.run()

    def rest(self) -> None:
        """A run ends, not its streams: operators let out what was only waiting for its turn."""
        self.run()
        for node in list(self.graph.nodes.values()):
            if node.operator is not None:
                node.operator.rest(node.output)
                self.run()

    def reopen(self) -> None:
        """A run has ended: let rows in again where no answer has used them yet."""
        for node in self.graph.nodes.values():
            if node.operator is not None:
                node.operator.reopen()

    # -- looking ------------------------------------------------------------------------------

    def results(self, query: str) -> pl.DataFrame:
        """Rows that came out since the last time this was asked."""
        return self._query(query).fetch()

    @property
    def queries(self) -> list[str]:
        return list(self._outputs)

    def source(self, stream: str) -> GraphNode:
        return self._stream(stream).node

    def counts(self, stream: str) -> StreamCounts:
        return counts_of({"": self._stream(stream).tally})

    def releases(self, query: str) -> Releases:
        """What lets the next row of a query out."""
        node = next(node for node in self.graph.nodes.values() if query in node.sinks)
        return self._releases(node)

    def releases_by_query(self) -> dict[str, Releases]:
        """The same for all queries."""
        found = {
            query: self._releases(node)
            for node in self.graph.nodes.values()
            for query in node.sinks
        }
        return {query: found[query] for query in self._outputs}

    def _releases(self, node: GraphNode) -> Releases:
        streams = {stream.node: name for name, stream in self.inputs.items()}
        return releases(node, streams, lambda name, on: self._stream(name).generator.bound_on(on))

    def operators(self) -> tuple[OperatorStatus, ...]:
        """What all operators have come to since they were built or restored."""
        working: dict[GraphNode, list[str]] = {}  # operator -> queries
        for node in self.graph.nodes.values():
            for name in node.sinks:
                for each in upstream(node):
                    working.setdefault(each, []).append(name)
        return tuple(
            OperatorStatus(node.name, tuple(working.get(node, ())), *node.figures())
            for node in self.graph.nodes.values()
            if node.operator is not None and not node.is_fork
        )

    def ended_attempts(self) -> Iterator[tuple[list[str], int]]:
        """How many attempts operators have ended, where they have, and the queries."""
        for node in self._limited:
            if node.operator is not None and (count := node.operator.ended_attempts):
                readers = [each for each in self.graph.nodes.values() if node in upstream(each)]
                yield [name for each in readers for name in each.sinks], count

    def find_limited(self) -> None:
        """Note which operators can end attempts, of those that run now."""
        self._limited = [
            node
            for node in self.graph.nodes.values()
            if node.operator is not None and node.operator.ended_attempts is not None
        ]

    def states(self) -> Iterator[tuple[str, State]]:
        """What streams and operators keep, under names that are the same in every run."""
        for name, stream in self.inputs.items():
            yield f"stream {name}", stream.generator.state
        yield from self.graph.states()

    # -----------------------------------------------------------------------------------------

    def _after_step(self, step: Step) -> None:
        cost = step.node.cost * step.rows if step.rows else self._punctuation_cost
        self.clock.spend(cost)
        if step.rows:
            self.enabling.begin()
        self._drain(step.node)

    def _rebuild(self) -> None:
        self._is_new = True
        self.executor.rebuild()
        self.enabling.rebuild()
        self.measuring.rebuild()

    def _drain_fed(self) -> None:
        """A query that is nothing but a stream has no step after which it could be drained."""
        fed, self._fed = self._fed, []
        for node in fed:
            self._drain(node)

    def _drain(self, node: GraphNode) -> None:
        if self._holds_back:
            return
        for name in list(node.sinks):  # a subscriber may stop a query
            if name in self._outputs:
                self._outputs[name].drain()

    def _input(self, stream: Stream, node: GraphNode) -> StreamInput:
        found = StreamInput(stream, node, self._late, self._rejected, **self._how)
        found.max_jump = self._max_jump
        return found

    def _stream(self, name: str) -> StreamInput:
        return _find(self.inputs, name, "stream")

    def _query(self, name: str) -> QueryOutput:
        return _find(self._outputs, name, "query")


def _restore(
    states: States, graph: Graph, directory: Directory, segments: Mapping[int, Segment]
) -> None:
    def segment(number: int, purged: int) -> Segment:
        return Segment(segments[number].whole, number, purged)

    restore(states, graph, directory, segment)


def _with_late(stream: str) -> str:
    """The name of the source that has a stream's late rows as well."""
    return f"{stream} and late rows"


def _find(known: dict[str, T], name: str, what: str) -> T:
    if name not in known:
        raise UnknownName(f"no {what} `{name}`", hint=suggest(name, known))
    return known[name]
