"""Rows as they might come: in disorder, late, repeated, without values, in batches of any size.

Rows keep above their stream's bound but for a few, which are late. A row with slack d comes at most
d after its time: then no row before it can have raised the bound above its time.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from penstock.model.streams import Stream
from penstock.model.timestamps import SECOND
from penstock.verification.case import Batch, Row, VerificationCase, cut, own_time, times_of
from penstock.verification.generated import FIRST, largest
from penstock.verification.lengths import WindowGrid, common, for_stream


@dataclass(frozen=True)
class Trouble:
    """How much of what may happen to rows; as shares of them."""

    late: float = 0.04
    repeated: float = 0.03
    without_value: float = 0.03
    on_an_edge: float = 0.08
    timeless: float = 0.01
    on_the_grid: bool = False  # all times are moved to where the edges of all windows meet


def spoil(
    chance: random.Random,
    stream: Stream,
    rows: Sequence[Row],
    grids: Sequence[WindowGrid],
    trouble: Trouble,
) -> list[Row]:
    """The rows, some of them changed: repeated, with NULLs, moved to the edge of a window."""
    on = own_time(stream)
    free = [c for c in stream.arriving if c.name not in (on, stream.timing.marker)]
    grids = for_stream(stream, grids)
    shared = common(grids)
    most = largest(stream.schema[on].type) if on is not None else 0
    found: list[Row] = []
    for row in rows:
        if free and chance.random() < trouble.without_value:
            row = {**row, chance.choice(free).name: None}
        if on is not None and grids and row[on] is not None:
            if trouble.on_the_grid and shared is not None:
                row = {**row, on: shared.nearest(row[on])}
            elif chance.random() < trouble.on_an_edge:
                edge = chance.choice(grids).nearest(row[on]) + chance.choice((-1, 0, 0, 1))
                row = {**row, on: min(edge, max(most, row[on]))}
            if chance.random() < trouble.timeless:
                row = {**row, on: None}
        found.append(dict(row))
        if chance.random() < trouble.repeated:
            found.append(dict(row))
    return found


def arrange(
    chance: random.Random,
    streams: Mapping[str, Stream],
    rows: Mapping[str, Sequence[Row]],
    *,
    late: float = Trouble.late,
    step: int = SECOND,
) -> VerificationCase:
    """A case: these rows in some order of arrival, cut into batches."""
    count = chance.choice((1, 2, 3, 4, 6, 8))
    clocks = _clocks(chance, streams, rows, count, step)
    pieces: dict[str, list[tuple[Row, ...]]] = {}
    bounds: dict[str, dict[int, int]] = {}
    for name, stream in streams.items():
        ordered = _in_disorder(chance, stream, rows.get(name, ()), late)
        pieces[name] = _cut(chance, ordered, count)
        bounds[name] = _bounds(chance, stream, pieces[name], late)
    batches = []
    for number, clock in enumerate(clocks):
        come = {name: mine[number] for name, mine in pieces.items() if mine[number]}
        behind = {name: mine[number] for name, mine in bounds.items() if number in mine}
        batches.append(Batch(come, behind, clock))
    return VerificationCase(tuple(batches))


def _in_disorder(
    chance: random.Random, stream: Stream, rows: Sequence[Row], late: float
) -> list[Row]:
    on = own_time(stream)
    times = times_of({stream.name: stream}, {stream.name: rows})
    if on is None or not times:
        return list(rows)
    span = max(times) - min(times) + 1
    reach = chance.choice((0.0, 0.3, 1.0))  # of what may be, for the whole case
    # Where all times are multiples of a length, delays are as well: they meet the bounds.
    step = gcd(*times, stream.slack or 0) or 1
    by_time = sorted(rows, key=lambda row: chance.choice(times) if row[on] is None else row[on])

    def arrival(place: int, row: Row) -> tuple[float, float]:
        if stream.timing.rows_late is not None:
            # Half of it: those that overtake a row are themselves overtaken by others.
            delay = stream.timing.rows_late / 2 * chance.random() * reach
            if chance.random() < late:
                delay += 1 + chance.random() * len(rows) / 3
            return place + delay, chance.random()
        slack = stream.slack if stream.slack is not None else span // 5
        marked = stream.timing.marker is not None and row[stream.timing.marker] is True
        if marked:
            wait = slack
        elif chance.random() < late:
            wait = slack + 1 + int(chance.random() * span / 3)
        else:
            wait = step * chance.randint(0, int(slack * reach) // step)
        return (chance.choice(times) if row[on] is None else row[on]) + wait, chance.random()

    keyed = [(arrival(place, row), row) for place, row in enumerate(by_time)]
    return [row for _, row in sorted(keyed, key=lambda each: each[0])]


def _cut(chance: random.Random, rows: Sequence[Row], count: int) -> list[tuple[Row, ...]]:
    """The rows in order, in so many pieces; a stream may be silent for long."""
    first, last = sorted((chance.randint(0, count - 1), chance.randint(0, count - 1)))
    if chance.random() < 0.7:
        first, last = 0, count - 1
    inner = cut(rows, [chance.randint(0, len(rows)) for _ in range(last - first)])
    return [*[()] * first, *inner, *[()] * (count - 1 - last)]


def _bounds(
    chance: random.Random, stream: Stream, pieces: Sequence[Sequence[Row]], late: float
) -> dict[int, int]:
    """Bounds from outside, behind some batches; a few are too high."""
    on, timing = own_time(stream), stream.timing
    if on is None or timing.marker is not None:
        return {}
    has_own = stream.slack is not None or timing.rows_late is not None
    found: dict[int, int] = {}
    newest: int | None = None
    for number, piece in enumerate(pieces):
        came = [row[on] for row in piece if row[on] is not None]
        newest = max(came if newest is None else [newest, *came], default=None)
        rest = [row[on] for after in pieces[number + 1 :] for row in after if row[on] is not None]
        if newest is None or chance.random() >= (0.1 if has_own else 0.6):
            continue
        bound = min(rest, default=newest + 1)
        if late and chance.random() < 0.1:
            bound = max(bound, newest)
        # A bound may only rise, above the stream's own as well.
        own = [newest - (stream.slack or 0)] if has_own else []
        if bound >= max([*found.values(), *own], default=bound):
            found[number] = bound
    return found


def _clocks(
    chance: random.Random,
    streams: Mapping[str, Stream],
    rows: Mapping[str, Sequence[Row]],
    count: int,
    step: int,
) -> list[int]:
    """What the clock says in each batch: later than all rows, and going on."""
    clock = max([FIRST, *times_of(streams, rows)])
    found = []
    for _ in range(count):
        clock += chance.choice((0, 1, step // 3, step, 2 * step))
        found.append(clock)
    return found
