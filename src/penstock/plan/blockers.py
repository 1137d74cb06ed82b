"""What a query waits for: which input, how far it is, for how long, and what would release it.

What the next row needs is found by the operators that hold it (`model/releases.py`); here it is put
into words, by what the streams declare. A stream *holds a query back* if the next row waits for it
while another input is further on; a stream that is simply not there yet is only waited for.
Spec: timestamps 1, 3; window-queries 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.model.ets import NO_ETS, Ets, EtsKind
from penstock.model.releases import Release, Releases
from penstock.model.schema import ROW_NUM
from penstock.model.slack import lateness_in_words
from penstock.model.streams import FurtherTime, Stream, TimestampKind
from penstock.model.text_table import text_table
from penstock.model.timestamps import BEGINNING, END, format_duration, format_ticks
from penstock.plan import nodes
from penstock.plan.graph import streams_of
from penstock.plan.waiting import waits
from penstock.printable import printable


@dataclass(frozen=True)
class StreamProgress:
    """How far a stream is. `bound`: its bound; `last_arrival`: when its last row came."""

    bound: int = BEGINNING
    last_arrival: int | None = None
    rows: int = 0  # that went in, where somebody counts by them
    late: int = 0  # rows
    lateness: int = 0  # how far the latest lay behind the newest before it


@dataclass(frozen=True)
class InputFacts:
    """One input of a query."""

    stream: str
    declared: str
    bound: str
    behind: str  # how far its bound is behind the foremost input's
    silent: str  # how long ago its last row came
    holds: bool  # whether the next row waits for it
    needed: str  # how far it must come for that; empty if nothing waits for it
    release: str  # what would bring it there
    late: str = ""  # how many rows were late, and the SLACK that would have accepted them


@dataclass(frozen=True)
class Blockers:
    """Why a query has come as far as it has; prints as a table."""

    query: str
    summary: str
    inputs: tuple[InputFacts, ...]

    def as_json(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        header = ("input", "bound", "behind", "last row", "waited for", "needed", "released by")
        rows = [
            (f.stream, f.bound, f.behind, f.silent, _yes(f.holds), f.needed, f.release)
            for f in self.inputs
        ]
        table = text_table([header, *rows], indent="  ")
        late = [f"  {fact.stream}: {fact.late}" for fact in self.inputs if fact.late]
        return printable("\n".join([f"{self.query}: {self.summary}", table, *late]))


def blocked_by(
    query: str,
    plan: nodes.Node,
    progress: Mapping[str, StreamProgress],
    releases: Releases | None,
    *,
    now: int,
    merges: bool = False,
    ets: Ets = NO_ETS,
    dropped: bool = False,
) -> Blockers:
    """The facts about a query whose streams have come so far; `now` is the clock.

    `releases`: what lets its next row out; None: it does not run, or has not said yet. `merges`:
    its unions keep order. `dropped`: it does not run any more, whatever its streams do.
    """
    streams = streams_of(plan)
    known = {name: progress.get(name, StreamProgress()) for name in streams}
    next_one = _next(releases, known)
    high = max((each.bound for each in known.values()), default=END)
    facts = []
    for name, stream in streams.items():
        last = known[name].last_arrival
        need = None if next_one is None else _need(stream, next_one, known[name])
        facts.append(
            InputFacts(
                stream=name,
                declared=stream.disorder(),
                bound=bound_text(stream, known[name].bound),
                behind=_behind(stream, known[name].bound, high),
                silent="never" if last is None else f"{_age(now - last)} ago",
                holds=need is not None,
                needed="" if need is None else need.shown,
                release="" if need is None else _release(stream, need, ets),
                late=_late(stream, known[name]),
            )
        )
    over = all(each.bound >= END for each in known.values())
    if dropped:
        summary = "waits for nothing: it has been dropped"
    elif over:
        summary = "waits for nothing: all inputs have ended"
    elif not waits(plan, merges):
        summary = "waits for nothing: every row passes immediately"
    else:
        summary = _summary(releases, next_one, known)
    return Blockers(query, summary, tuple(facts))


def _next(releases: Releases | None, known: Mapping[str, StreamProgress]) -> Release | None:
    """The release that is nearest."""
    if releases is None:
        return None

    def distance(release: Release) -> tuple[int, int]:
        far = sum(
            bound - max(known[stream].bound, 0)
            for (stream, on), bound in release.bounds.items()
            if on != ROW_NUM
        )
        return len(release.bounds), far

    return min(releases.releases, key=distance, default=None)


def _summary(
    releases: Releases | None, next_one: Release | None, known: Mapping[str, StreamProgress]
) -> str:
    if releases is None:
        return "not known: no batch has completed yet"
    if next_one is None:
        return "nothing waits" if releases.known else "something waits; for what is not known"
    if not next_one.bounds:
        return "the next result waits for more rows"
    waited = list(dict.fromkeys(stream for stream, _ in next_one.bounds))
    named = " and ".join(f"`{stream}`" for stream in waited)
    others = [each.bound for name, each in known.items() if name not in waited]
    if others and all(known[stream].bound < max(others) for stream in waited):
        return f"held back by {named}"
    if next_one.certain:
        return f"the next result waits for {named}"
    return f"the next result waits for {named}, at the least"


@dataclass(frozen=True)
class _Need:
    """How far a stream must come: a time, or a number of rows."""

    bound: int | None = None
    rows: int | None = None
    shown: str = ""
    of: FurtherTime | None = None  # not the timestamp


def _need(stream: Stream, release: Release, known: StreamProgress) -> _Need | None:
    if (stream.name, ROW_NUM) in release.bounds:
        bound = release.bounds[stream.name, ROW_NUM]
        if bound >= END:
            return _Need(bound=END, shown="end")
        rows = bound - 1 - known.rows
        return _Need(rows=rows, shown=f"{rows} more row{'' if rows == 1 else 's'}")
    found = release.bounds.get((stream.name, str(stream.timestamp)))
    if found is not None:
        return _Need(bound=found, shown=bound_text(stream, found))
    for time in stream.further:
        on, found = time.column, release.bounds.get((stream.name, time.column))
        if found is not None:
            return _Need(bound=found, shown=f"{on} {_shown_on(stream, on, found)}", of=time)
    return None


def _release(stream: Stream, need: _Need, ets: Ets) -> str:
    """What would raise the stream's bound far enough."""
    if need.rows is not None:
        return f"{need.shown}, or its end"
    if need.bound is None or need.bound >= END:
        return "more rows, or its end"
    if need.of is not None:
        if need.of.stamped:
            how = (
                "enabling timestamps are on"
                if ets.kind is not EtsKind.NONE
                else "SET ets = on demand"
            )
            return f"the clock at {_shown_on(stream, need.of.column, need.bound)}: {how}"
        on, least = need.of.column, min(need.bound + need.of.slack, END - 1)
        return f"a row with {on} of {_shown_on(stream, on, least)} or later, or its end"
    asked = ets.kind is not EtsKind.NONE or stream.timing.heartbeat is not None
    at = f" of {bound_text(stream, need.bound)} or later"
    if stream.kind is TimestampKind.INTERNAL:
        how = ", by an enabling timestamp" if asked else ", with a row, or SET ets = on demand"
        return f"the clock at {bound_text(stream, need.bound)}{how}"
    if stream.timing.rows_late is not None:
        behind = f"followed by {stream.timing.rows_late} rows"
        return f"a row{at} {behind}, punctuation{at}, or its end"
    if stream.slack is None:
        return f"punctuation{at}, or its end"
    row = f"a row of {bound_text(stream, min(need.bound + stream.slack, END - 1))} or later"
    if stream.timing.skew is not None and asked:
        return f"{row}, or the clock, {format_duration(stream.timing.skew)} later"
    if stream.timing.lull is not None:
        return f"{row}, or a silence of {format_duration(stream.timing.lull)}"
    return f"{row}, punctuation{at}, or its end; with a declared SKEW, the clock would do"


def _late(stream: Stream, known: StreamProgress) -> str:
    if not known.late:
        return ""
    count = f"{known.late} {'row' if known.late == 1 else 'rows'} late"
    words = lateness_in_words(stream, known.lateness)
    return f"{count}, {words}" if words else count


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def bound_text(stream: Stream, bound: int) -> str:
    """How far a stream has come, as people read it; empty: it has no time.

    >>> from penstock.model.schema import Column
    >>> from penstock.model.types import Type
    >>> steps = Stream("s", (Column("n", Type.BIGINT),), TimestampKind.EXTERNAL, "n")
    >>> bound_text(steps, 5), bound_text(steps, BEGINNING)
    ('5', 'nothing yet')
    """
    if stream.timestamp is None:
        return ""
    return _shown_on(stream, stream.timestamp, bound)


def _shown_on(stream: Stream, column: str, bound: int) -> str:
    if bound <= BEGINNING:
        return "nothing yet"
    is_time = stream.schema[column].type.is_time
    return format_ticks(bound) if is_time or bound >= END else str(bound)


def _behind(stream: Stream, bound: int, high: int) -> str:
    if bound >= high:
        return "-"
    if bound <= BEGINNING or high >= END:
        return "infinitely"
    is_time = stream.timestamp is not None and (stream.schema[stream.timestamp].type.is_time)
    return _age(high - bound) if is_time else str(high - bound)


def _age(ticks: int) -> str:
    """A duration as people say it.

    >>> _age(1_234_567), _age(90_000_000), _age(350)
    ('1.2 s', '90 s', '0 ms')
    """
    seconds = ticks / 1_000_000
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
