"""What holds a query back: which input, how far it is, for how long, and what would release it.

A query that only selects and projects waits for nobody. Windows, joins, merges and ordered answers
wait until the time on all their inputs is known, so the query as a whole has come as far as the
input that has promised least. These are facts about a plan and the bounds of its streams; whatever
host knows the bounds can ask.  Spec: timestamps 1, 3; window-queries 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.model.ets import NO_ETS, Ets, EtsKind
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, END, format_duration, format_ticks
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.plan.graph import streams_of, walk
from penstock.windows import Sliding


@dataclass(frozen=True)
class StreamProgress:
    """How far a stream is. `bound`: what it has promised; `heard`: when it last brought a row."""

    bound: int = BEGINNING
    heard: int | None = None


@dataclass(frozen=True)
class InputFacts:
    """One input of a query."""

    stream: str
    declared: str
    bound: str
    behind: str  # how far behind the foremost input its promise is
    silent: str  # how long ago its last row came
    holds: bool
    release: str  # what would let the query go on; empty if it does not hold it back


@dataclass(frozen=True)
class Holding:
    """Why a query has come as far as it has; prints as a table."""

    query: str
    summary: str
    inputs: tuple[InputFacts, ...]

    def as_json(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        header = ("input", "promised", "behind", "last row", "holds back", "released by")
        rows = [
            (f.stream, f.bound, f.behind, f.silent, "yes" if f.holds else "no", f.release)
            for f in self.inputs
        ]
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in [header, *rows]
        ]
        return "\n".join([f"{self.query}: {self.summary}", *(f"  {line}" for line in lines)])


def holding(
    query: str,
    plan: nodes.Node,
    progress: Mapping[str, StreamProgress],
    *,
    now: int,
    union: str = "meld",
    ets: Ets = NO_ETS,
) -> Holding:
    """The facts about a query whose streams have come so far; `now` is the clock."""
    streams = streams_of(plan)
    waited = _waited(plan, union)
    known = {name: progress.get(name, StreamProgress()) for name in streams}
    bounds = {name: known[name].bound for name in waited}
    low, high = min(bounds.values(), default=END), max(bounds.values(), default=END)
    needed = _needed(plan, low, high)
    facts = []
    for name, stream in streams.items():
        holds = name in waited and known[name].bound == low and low < END
        heard = known[name].heard
        facts.append(
            InputFacts(
                stream=name,
                declared=stream.disorder(),
                bound=_shown(stream, known[name].bound),
                behind=_behind(stream, known[name].bound, high) if name in waited else "",
                silent="never" if heard is None else f"{_age(now - heard)} ago",
                holds=holds,
                release=_release(stream, needed, ets) if holds else "",
            )
        )
    return Holding(query, _summary(facts, bool(waited), low), tuple(facts))


def _summary(facts: list[InputFacts], waits: bool, low: int) -> str:
    if not waits:
        return "waits for nobody: every row passes at once"
    if low >= END:
        return "waits for nobody: all inputs are over"
    held = [f"`{fact.stream}`" for fact in facts if fact.holds]
    return f"held back by {' and '.join(held)}"


def _waited(plan: nodes.Node, union: str) -> set[str]:
    """The streams that something in the plan waits for."""
    passes = isinstance(plan, nodes.Source | nodes.Select | nodes.Project | nodes.TableJoin) or (
        isinstance(plan, nodes.Union) and union == "meld"
    )
    if not passes:
        return set(streams_of(plan))
    return {name for node in plan.inputs for name in _waited(node, union)}


def _needed(plan: nodes.Node, low: int, high: int) -> int | None:
    """The least bound that lets something out: the end of the window that is open at `low`."""
    ends = [
        node.window.origin
        + ((low - node.window.origin) // node.window.slide + 1) * node.window.slide
        for node in walk(plan)
        if isinstance(node, nodes.WindowAggregate)
        and isinstance(node.window, Sliding)
        and low > BEGINNING
    ]
    if ends:
        return min(ends)
    return high if low < high < END else None


def _release(stream: Stream, needed: int | None, ets: Ets) -> str:
    """What would raise the stream's promise far enough."""
    asked = ets.kind is not EtsKind.NONE or stream.timing.heartbeat is not None
    if stream.kind is TimestampKind.LATENT or stream.timestamp is None:
        return "more rows, or its end: it has no time"
    if stream.kind is TimestampKind.INTERNAL:
        return f"the clock: it is asked {ets}" if asked else "a row, or SET ets = on demand"
    at = "" if needed is None else f" of {_shown(stream, needed)} or later"
    if stream.timing.skew is not None and asked:
        return f"a row{at}, or the clock, {format_duration(stream.timing.skew)} later"
    if stream.timing.lull is not None:
        return f"a row{at}, or a silence of {format_duration(stream.timing.lull)}"
    if stream.slack is None and stream.timing.rows_late is None:
        return f"a promise{at} (punctuate), or its end"
    if needed is not None and stream.slack:
        at = f" of {_shown(stream, needed + stream.slack)} or later"
    return f"a row{at}, a promise (punctuate), or its end; a declared SKEW would do without"


def _shown(stream: Stream, bound: int) -> str:
    if stream.timestamp is None:
        return ""
    if bound <= BEGINNING:
        return "nothing yet"
    is_time = stream.schema[stream.timestamp].type is Type.TIMESTAMP
    return format_ticks(bound) if is_time or bound >= END else str(bound)


def _behind(stream: Stream, bound: int, high: int) -> str:
    if bound >= high:
        return "-"
    if bound <= BEGINNING or high >= END:
        return "all of it"
    is_time = stream.timestamp is not None and (
        stream.schema[stream.timestamp].type is Type.TIMESTAMP
    )
    return _age(high - bound) if is_time else str(high - bound)


def _age(ticks: int) -> str:
    """A length of time as people say it.

    >>> _age(1_234_567), _age(90_000_000), _age(350)
    ('1.2 s', '90 s', '0 ms')
    """
    seconds = ticks / 1_000_000
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
