"""DriverEnabling: silent streams on Spark get bounds from the clock, over the control stream.

Which streams something waits for, each group's graph says (`runtime/enabling.py`), and what bounds
the clock gives them is decided as in this process (`kernel/progress/ets.py`). What only the driver
of a pipeline decides is whether a bound is worth a batch, and what may be taken for the present.

After every micro-batch it knows how far each stream has come. If the clock gives a stream that is
waited for a higher bound, that bound goes out on the control stream, and the batch that it causes
releases what has waited: results are at most one batch later than if no stream were silent.

A bound T is sound only if the batch that receives it reads all rows that came before T. Where Spark
reads the control stream before it looks for rows, the present will do for T (`is_read_first`). Else
what the driver takes for the present is the beginning of the last batch that is over. That stands
still while nothing comes; when the clock alone would release something, an empty file makes a
batch, whose beginning is a new present.

    on demand   what releases results; after a batch with rows, also what lets joins purge
    periodic    every so often, if it says anything new; so do streams that declare a HEARTBEAT
    none        never, but for HEARTBEATs and LULLs

Spark logs these files before it uses them, so a replay reads the same ones.
Spec: timestamps 1, 2; execution-model 5.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from penstock.kernel.progress.ets import can_be_enabled, enabling_bounds, period
from penstock.model.ets import Ets, EtsKind
from penstock.model.releases import Releases
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, END
from penstock.plan.blockers import StreamProgress
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.plan.releasing import forgets, lets_out
from penstock.spark.control.control_stream import key_of
from penstock.spark.control.spark_progress import BatchTimes
from penstock.spark.delivery.delivery import BatchReport


@dataclass
class _Known:
    """What is known of one stream."""

    newest: int = BEGINNING
    batch: int = -1  # that brought it
    arrived: int = 0  # when it came, at the latest
    last_arrival: int | None = None  # when any row last came
    due: int = 0  # when it gets a bound unasked, if it does


class DriverEnabling:
    """Decides which bounds to send; knows no clock and no Spark."""

    def __init__(
        self,
        streams: Mapping[str, Stream],
        plans: Mapping[str, Node],
        ets: Ets,
        merges: Collection[str] = (),
    ) -> None:
        self.ets = ets
        self._streams = streams
        self.releases: Mapping[str, Releases] = {}
        self.follow(plans, merges)
        self._known = {name: _Known() for name in streams}
        #: Stream and column of all times, as messages call them: a stream's own is called as it is.
        self._times = {name: (name, stream.timestamp) for name, stream in streams.items()} | {
            key_of(name, on): (name, on)
            for name, stream in streams.items()
            for on in stream.stamped
            if on != stream.timestamp
        }
        self._bounds = dict.fromkeys(self._times, BEGINNING)
        self._awaited: frozenset[str] = frozenset()
        self._brought_rows = False
        self._began = BEGINNING
        self.is_prompt = False  # whether the clock may be taken for the present

    def follow(self, plans: Mapping[str, Node], merges: Collection[str] = ()) -> None:
        """Queries are these from now on; `merges` are those whose unions keep order."""
        self._merges = frozenset(merges)
        self._plans = {name: (plan, sorted(streams_of(plan))) for name, plan in plans.items()}
        self.releases = {name: each for name, each in self.releases.items() if name in plans}

    @property
    def can_help(self) -> bool:
        """Whether any stream can say what time it is, and may be asked."""
        return any(can_be_enabled(stream, self.ets) for stream in self._streams.values())

    def take_report(self, report: BatchReport, now: int) -> None:
        """Take note of what a batch came to, at `now`."""
        self._awaited = frozenset(report.awaited)
        self._brought_rows = any(report.rows.values())
        # A batch that reached no group changes nothing.
        self.releases = {**self.releases, **report.releases}
        for name, known in self._known.items():
            newest = report.newest.get(name, BEGINNING)
            if newest > known.newest:
                known.newest, known.batch, known.arrived = newest, report.batch, now
            self._bounds[name] = max(self._bounds[name], report.bounds.get(name, BEGINNING))
            if report.rows.get(name):
                known.last_arrival = now

    def over(self, times: BatchTimes) -> None:
        """Take note of when a batch was that is over."""
        self._began = max(self._began, times.began)
        for known in self._known.values():
            if known.batch == times.batch:
                known.arrived = min(known.arrived, times.listed)

    def progress(self) -> dict[str, StreamProgress]:
        """How far each stream is."""
        return {n: StreamProgress(self._bounds[n], k.last_arrival) for n, k in self._known.items()}

    def newest(self) -> dict[str, int]:
        """The newest time of each stream that has had rows."""
        return {name: k.newest for name, k in self._known.items() if k.newest > BEGINNING}

    def bounds_at(self, now: int) -> dict[str, int] | None:
        """The bounds to send at `now`; nothing but a batch, if it is empty; None: not even that."""
        read = {name for _, names in self._plans.values() for name in names}
        timed = (n for n in self._streams if n in read and self._period(n) is not None)
        due = [name for name in timed if now >= self._known[name].due]
        awaited = self._awaited if self.ets.kind is EtsKind.ON_DEMAND else frozenset()
        asked = awaited.union(due)
        made = self._enabled(asked, now if self.is_prompt else self._began)
        if made and (due or self._sets_free(made)):
            self._bounds |= made
            for name in {self._times[key][0] for key in made}:
                self._known[name].due = now + (self._period(name) or 0)
            self._brought_rows = False
            return made
        soon = self._enabled(asked, now)
        return {} if soon and (due or self._sets_free(soon)) else None

    def _period(self, name: str) -> int | None:
        """How often a stream gets a bound unasked."""
        return period(self._streams[name], self.ets)

    def _enabled(self, asked: Collection[str], present: int) -> dict[str, int]:
        """The bounds that these streams can get, where they are higher than those they have."""
        if present <= BEGINNING:
            return {}
        found = {}
        for key, (name, on) in self._times.items():
            if name in asked and on is not None:
                bound = self._bounds_by_clock(name, present).get(on, BEGINNING)
                if self._bounds[key] < min(bound, END):
                    found[key] = bound
        return found

    def _bounds_by_clock(self, name: str, present: int) -> dict[str, int]:
        known = self._known[name]
        newest, arrived = known.newest, known.arrived
        return enabling_bounds(self._streams[name], now=present, newest=newest, arrived=arrived)

    def _sets_free(self, made: Mapping[str, int]) -> bool:
        """Whether these bounds would let out results; or rows of joins, if new ones came."""
        raised = {**self._bounds, **made}
        reached = {time: raised[key] for key, time in self._times.items()}
        has_clocks = not made.keys() <= self._streams.keys()
        for query, (plan, names) in self._plans.items():
            if not has_clocks and made.keys().isdisjoint(names):
                continue
            low, high = (min(bounds[name] for name in names) for bounds in (self._bounds, raised))
            if self._brought_rows and forgets(plan) and high > low:
                return True
            said = self.releases.get(query)
            if said is None or not said.known:
                if lets_out(plan, low, high, merges=query in self._merges):
                    return True
            elif any(
                all(reached.get(time, BEGINNING) >= bound for time, bound in each.bounds.items())
                for each in said.releases
            ):
                return True
        return False
