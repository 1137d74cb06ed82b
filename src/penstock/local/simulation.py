"""Simulation: arrivals at given times, on a virtual clock.

What has arrived by now is delivered between steps; a step moves the clock by its declared cost;
when nothing can move, the clock waits for the next arrival. So the run is the same every time, and
a row's latency is exact: the time at which it comes out, less the time at which it arrived (not
that at which the busy system took it in).

A row carries its arrival time along in a column that its stream declares and its query passes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import polars as pl

from penstock.errors import BadSetting
from penstock.kernel.conform import Rows
from penstock.kernel.meter import QueueMeter
from penstock.runtime.clock import VirtualClock
from penstock.runtime.graph_host import GraphHost

ARRIVAL = "arrival"


@dataclass(frozen=True)
class Arrival:
    """Rows that come to a stream at a time; the simulation fills in their arrival column."""

    time: int
    stream: str
    rows: Rows


@dataclass
class Report:
    """What was measured. `latencies` are in the order in which rows came out."""

    latencies: dict[str, list[int]] = field(default_factory=dict)
    peak_queue: int = 0  # rows and punctuation waiting in all buffers
    steps: int = 0
    idle_waiting: int = 0  # how long nothing could move although some operator held something
    ended: int = 0  # the time at which everything was done

    def average_latency(self, query: str) -> Fraction:
        values = self.latencies[query]
        return Fraction(sum(values), len(values))


def simulate(
    host: GraphHost,
    arrivals: Iterable[Arrival],
    *,
    arrival: str = ARRIVAL,
    until: int | None = None,
) -> Report:
    """Run a host that has a virtual clock until all arrivals are dealt with.

    Periodic enabling timestamps go on for ever; they are made up to `until`, or the last arrival.
    """
    clock = host.clock
    if not isinstance(clock, VirtualClock):
        raise BadSetting("a simulation needs a virtual clock", hint="give the host a VirtualClock")
    report = Report()
    for query in host.queries:
        report.latencies[query] = []
        host.subscribe(query, _timed(clock, report.latencies[query], arrival))
    meter = QueueMeter(host.graph)
    coming = sorted(arrivals, key=lambda a: a.time, reverse=True)
    while True:
        while coming and coming[-1].time <= clock.now():
            one = coming.pop()
            host.push(one.stream, _stamped(one, arrival))
            meter.touch(host.source(one.stream))
        due = host.enabling.next_due()
        if due is not None and due <= clock.now():
            host.enabling.make_due()
            for stream in host.inputs:
                meter.touch(host.source(stream))
        step = host.step()
        if step is not None:
            report.steps += 1
            meter.touch(step.node)
            continue
        periodic = host.enabling.next_due()
        events = [coming[-1].time] if coming else []
        if periodic is not None and (coming or (until is not None and periodic <= until)):
            events.append(periodic)
        if not events:
            break
        before = clock.now()
        clock.wait_until(min(events))
        if host.waits():
            report.idle_waiting += clock.now() - before
    report.peak_queue, report.ended = meter.peak, clock.now()
    return report


def _timed(
    clock: VirtualClock, latencies: list[int], arrival: str
) -> Callable[[pl.DataFrame], None]:
    def note(rows: pl.DataFrame) -> None:
        if arrival not in rows.columns:
            raise BadSetting(
                f"latency cannot be measured: the result has no column `{arrival}`",
                hint="declare it in the streams and pass it on in the query",
            )
        latencies.extend((clock.now() - rows.get_column(arrival)).to_list())

    return note


def _stamped(one: Arrival, arrival: str) -> Rows:
    if isinstance(one.rows, pl.DataFrame):
        return one.rows.with_columns(pl.lit(one.time, pl.Int64).alias(arrival))
    return [{**row, arrival: one.time} for row in one.rows]
