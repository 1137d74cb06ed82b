"""The enabling timestamp of a silent stream: its bound by the clock.

    timestamps   the bound
    internal     the clock: whatever comes later is stamped later
    external     t + tau - delta, where t is the newest row's timestamp, tau the time since it came
                 and delta the SKEW that was declared; before the first row, the clock less delta
                 the clock less the LULL, once the stream has been silent in its own time for longer
    latent       none, and none is needed

Columns that are stamped beside an external timestamp follow the clock as internal ones do.

An external stream that declares neither has no such bound: its rows might be a replay,
whose time has nothing to do with the clock.  Spec: timestamps 2; window-queries 1.4.
"""

from __future__ import annotations

from penstock.model.ets import Ets, EtsKind
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, SECOND

#: How often a lull is looked for where streams are not asked on demand.
LULL_TIMER = SECOND


def enabling_timestamp(stream: Stream, *, now: int, newest: int, arrived: int) -> int | None:
    """The bound that the stream can give at `now`; None if it can give none.

    `newest` is the largest timestamp so far (BEGINNING: no row has come), `arrived` when it came.
    """
    if stream.timestamp is None or stream.kind is TimestampKind.LATENT:
        return None
    if stream.kind is TimestampKind.INTERNAL:
        return now
    skew, lull = stream.timing.skew, stream.timing.lull
    spoken = newest > BEGINNING
    bounds = []
    if skew is not None:
        bounds.append(newest + (now - arrived) - skew if spoken else now - skew)
    if lull is not None and (not spoken or now - newest > lull):
        bounds.append(now - lull)
    return max(bounds, default=None)


def enabling_bounds(stream: Stream, *, now: int, newest: int, arrived: int) -> dict[str, int]:
    """By column, all bounds that the stream can give at `now`, stamps included."""
    own = enabling_timestamp(stream, now=now, newest=newest, arrived=arrived)
    found = dict.fromkeys(stream.stamped, now)
    return found if own is None or stream.timestamp is None else {**found, stream.timestamp: own}


def can_be_enabled(stream: Stream, ets: Ets) -> bool:
    """Whether it can give any bound by the clock, and is ever asked or due to."""
    is_asked = ets.kind is EtsKind.ON_DEMAND or period(stream, ets) is not None
    return is_asked and bool(enabling_bounds(stream, now=0, newest=BEGINNING, arrived=0))


def period(stream: Stream, ets: Ets) -> int | None:
    """How often the stream makes one unasked; None: never.

    A HEARTBEAT says so itself. A LULL goes on with the clock whatever `ets` is, so it is looked for
    where nobody asks on demand.
    """
    if stream.timing.heartbeat is not None:
        return stream.timing.heartbeat
    timers = [] if ets.every is None else [ets.every]
    if stream.timing.lull is not None and ets.kind is not EtsKind.ON_DEMAND:
        timers.append(LULL_TIMER)
    return min(timers, default=None)
