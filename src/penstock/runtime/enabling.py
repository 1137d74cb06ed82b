"""Enabling: streams that have nothing to say are asked for the time.

On demand, a source is asked when control has come back to it and it is empty, and gives an enabling
timestamp only if some operator behind it waits. Each source gives one between two consumed rows:
the cycle goes on while each round consumes rows, and ends otherwise, however fast the clock runs.

Periodic ones are due at fixed distances, whether or not anybody waits: those of the host, and those
of streams that declare a HEARTBEAT or a LULL (`kernel/progress/ets.py`).

They travel as punctuation, or by the arcs of the enhanced query graph.
Spec: timestamps 1, 2; execution-model 5; window-queries 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.progress.arcs import ArcOutput
from penstock.kernel.progress.describe import describe
from penstock.kernel.progress.eqg import draw_arcs, erase_arcs
from penstock.kernel.progress.ets import period
from penstock.kernel.progress.useful import is_awaited, useful, waiting_prone
from penstock.model.ets import Ets, EtsKind
from penstock.model.schema import ROW_NUM
from penstock.runtime.clock import Clock
from penstock.runtime.stream_input import StreamInput


class Enabling:
    """Asks the streams of one host; `inputs` is the host's own table, which changes.

    `ets` is None where somebody else asks them, who knows more: no clock says anything then.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, StreamInput],
        clock: Clock,
        ets: Ets | None,
        *,
        by_arcs: bool,
    ) -> None:
        self._graph = graph
        self._inputs = inputs
        self._clock = clock
        self._ets = ets
        self._by_arcs = by_arcs
        self._given: set[str] = set()  # streams that gave one since the last consumed row
        self._due: dict[str, int] = {}
        self._behind: dict[str, list[GraphNode]] = {}  # operators that may wait for a stream
        self._streams: dict[GraphNode, StreamInput] = {}

    # -- following the host -------------------------------------------------------------------

    def change(self, ets: Ets, *, by_arcs: bool) -> None:
        """Make them in another way from now on."""
        self._ets = ets
        self._by_arcs = by_arcs
        self._due.clear()
        self.rebuild()

    def rebuild(self) -> None:
        """Follow a graph that has changed."""
        (draw_arcs if self._by_arcs else erase_arcs)(self._graph)
        describe(self._graph)
        self._streams = {stream.node: stream for stream in self._inputs.values()}
        self._behind = {}
        for name, stream in self._inputs.items():
            stream.useful = useful(stream.node, (*stream.stream.times, ROW_NUM))
            self._behind[name] = waiting_prone(stream.node)
        now = self._clock.now()
        due = {name: now + every for name, every in self._periods().items()}
        self._due = {name: self._due.get(name, first) for name, first in due.items()}

    def begin(self) -> None:
        """A new round: rows were consumed, or the host runs again."""
        self._given.clear()

    # -- on demand ----------------------------------------------------------------------------

    def ask(self, source: GraphNode) -> bool:
        """Have an empty source make an enabling timestamp; whether it did."""
        stream = self._streams.get(source)
        if stream is None or self._ets is None or self._ets.kind is not EtsKind.ON_DEMAND:
            return False
        name = stream.stream.name
        if name in self._given or not source.output.empty:
            return False
        if not is_awaited(self._behind[name]):
            return False
        self._given.add(name)
        return self._enable(stream)

    def ask_all(self) -> bool:
        """Ask every source; for when nothing can move."""
        made = [self.ask(source) for source in list(self._streams)]
        return any(made)

    def awaited(self) -> list[str]:
        """The streams that some operator waits for."""
        return [name for name, behind in self._behind.items() if is_awaited(behind)]

    # -- periodic -----------------------------------------------------------------------------

    def make_due(self) -> None:
        """Make what is due."""
        if not self._due:
            return
        now = self._clock.now()
        for name, due in self._due.items():
            if due <= now:
                every = self._periods()[name]
                self._due[name] = due + ((now - due) // every + 1) * every
                self._enable(self._inputs[name])

    def next_due(self) -> int | None:
        return min(self._due.values(), default=None)

    def _periods(self) -> dict[str, int]:
        """How often each stream makes one by itself."""
        if self._ets is None:
            return {}
        found = {name: period(input.stream, self._ets) for name, input in self._inputs.items()}
        return {name: every for name, every in found.items() if every is not None}

    # -----------------------------------------------------------------------------------------

    def _enable(self, stream: StreamInput) -> bool:
        messages = stream.generator.enable(self._clock.now())
        out = ArcOutput(stream.node.output, stream.node.arcs)
        for message in messages:
            out.punctuation(message)
        return bool(messages)
