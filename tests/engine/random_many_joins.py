"""Joins of three to five streams at random, and rows for them: chains, stars, cycles.

Streams come in disorder, one may be far ahead of another, some speak of their bounds only now and
then. Every row has a number of its own, in `d`, so that a result tells of which rows it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.engine.draw import Draw, several
from tests.engine.random_streams import Declared, Event, Progress, Punctuate, Push, Row

#: A shape of the join graph, and for each input but the first the one that it is joined with.
GRAPHS = ("chain", "star", "cycle")
KEYS = (*["k"] * 6, "v")
#: An input that is an aggregate.
GROUPED = (
    "(SELECT k, min(v) AS v, max(d) AS d, window_end AS ts FROM {0} "
    "[RANGE 4 MICROSECONDS, SLIDE 2 MICROSECONDS] GROUP BY k) AS {0}"
)
AGGREGATES = ("count(*) AS n, sum(ad) AS s", "max(ad) AS m, min(ad) AS l", "avg(ad) AS m")


@dataclass(frozen=True)
class ManyJoins:
    """Streams, a query over them, and whether its results name the numbers of all their rows."""

    declared: list[Declared]
    text: str
    names: list[str]
    is_plain: bool
    times: list[str]
    order: str | None = None  # the column by which its results are asked for in order

    @property
    def inputs(self) -> list[str]:
        """What its inner join reads: an outer join goes by the name of its left input."""
        return [time.removesuffix("t") for time in self.times]


def many_joins(
    draw: Draw,
    counts: Sequence[int] = (3, 3, 4, 5),
    *,
    ordered: bool = False,
    plain: bool = False,
    declared: list[Declared] | None = None,
) -> ManyJoins:
    """Random streams, and a join of all of them with whatever stands above and below it.

    `counts`: how many streams there may be. Of those that are `declared`, the first are joined.
    """
    declared = declared or any_streams(draw, ordered=ordered)
    declared = declared[: draw.choose(counts)]
    names = [each.name for each in declared]
    graph, text, where = draw.choose(GRAPHS), "a", []
    # Where there is one, of the first two inputs or of the last one.
    outer = 0
    if not plain and len(names) > 3 and draw.choose([False, False, True]):
        outer = draw.choose([1, len(names) - 1])
    grouped = draw.choose([0] * 5 + [2]) if not plain and not ordered else 0
    for place, name in enumerate(names[1:], start=1):
        other = "a" if graph == "star" else names[place - 1]
        if outer == 1 and place == 2:
            other = "a"  # b may be NULL
        key = "k" if place == grouped else draw.choose(KEYS)
        kind = "LEFT JOIN" if place == outer else "JOIN"
        on = f"{other}.{key} = {name}.{key}"
        if draw.choose([*[False] * 5, True]):
            on += f" AND {other}.v <= {name}.v + 1"
        within = draw.choose([4, 8, 15])
        source = GROUPED.format(name) if place == grouped else name
        # WITHIN cannot tell which of an aggregate's times is meant.
        if draw.choose([True, False]) and not 0 < grouped <= place:
            text += f" {kind} {source} ON {on} WITHIN {within} MICROSECONDS"
        else:
            low, high = draw.between(0, within), draw.between(0, within)
            text += (
                f" {kind} {source} ON {on} AND {name}.ts BETWEEN {other}.ts - INTERVAL '{low}' "
                f"MICROSECOND AND {other}.ts + INTERVAL '{high}' MICROSECOND"
            )
    shown = [name for place, name in enumerate(names) if not (outer and place == outer)]
    if graph == "cycle" and not outer:
        where.append(f"a.v = {names[-1]}.v")
    where += several(draw, 0, 2, lambda draw: _condition(draw, shown))
    is_plain = not (outer or grouped)
    columns = [f"{name}.d AS {name}d, {name}.ts AS {name}t" for name in shown]
    if not plain and draw.choose([*[False] * 3, True]):
        # Most columns are read by nobody above, or in an expression only.
        is_plain, [one, other] = False, [draw.choose(shown) for _ in range(2)]
        columns = [f"{one}.d + {other}.d AS ad", *(f"{name}.ts AS {name}t" for name in shown)]
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    text = f"SELECT {', '.join(columns)} FROM {text}{condition}"
    times = [f"{name}t" for name in shown]
    time = draw.choose(times)
    above = "" if plain else draw.choose(["", "", "", "windows", "groups", "outer", "order"])
    match above:
        case "windows" | "groups":
            groups = f"{draw.choose(times)}, " if above == "groups" else ""
            text = (
                f"SELECT {groups}{draw.choose(AGGREGATES)} FROM ({text}) "
                f"[RANGE {draw.choose([3, 10])} MICROSECONDS, SLIDE {draw.choose([1, 5])} "
                f"MICROSECONDS, WA {time}]{groups and f' GROUP BY {groups[:-2]}'}"
            )
        case "outer":
            text = (
                f"SELECT j.ad AS ad, j.{time} AS t, z.d AS zd FROM ({text}) AS j LEFT JOIN a AS z "
                f"ON j.ad = z.d AND z.ts BETWEEN j.{time} - INTERVAL '4' MICROSECOND "
                f"AND j.{time} + INTERVAL '2' MICROSECOND"
            )
        case "order":
            text = f"SELECT * FROM ({text}) ORDER BY {time}"
    order = time if above == "order" else None
    return ManyJoins(declared, text, names, is_plain and not above, times, order)


def other_queries(draw: Draw, asked: ManyJoins, count: int) -> list[str]:
    """Queries over the same plain joins, each of columns of its own, some with more above them."""
    _, _, joins = asked.text.partition(" FROM ")
    found: list[str] = []
    while len(found) < count:
        found.append(draw.choose([*found, None]) or _other_query(draw, asked.names, joins))
    return found


def _other_query(draw: Draw, names: list[str], joins: str) -> str:
    every = [f"{name}.{column}" for name in names for column in ("k", "v", "d", "ts")]
    shown = [each for each in every if draw.choose([False, False, True])]
    one, other = (draw.choose(names) for _ in range(2))
    columns = [f"{each} AS {each.replace('.', '_')}" for each in shown]
    columns += [f"{one}.d + {other}.d AS ad", f"{one}.ts AS t"]
    text = f"SELECT {', '.join(columns)} FROM {joins}"
    match draw.choose(["", "", "", "condition", "windows", "counted", "order"]):
        case "condition":
            return f"SELECT * FROM ({text}) WHERE ad > {draw.between(0, 12)}"
        case "windows":
            window = f"RANGE {draw.choose([3, 10])} MICROSECONDS, SLIDE 2 MICROSECONDS, WA t"
            return f"SELECT {draw.choose(AGGREGATES)} FROM ({text}) [{window}]"
        case "counted":  # nothing stands between the joins and their windows
            window = f"RANGE 10 MICROSECONDS, SLIDE 5 MICROSECONDS, WA {one}.ts"
            return f"SELECT max({other}.d) [{window}] AS m FROM {joins}"
        case "order":
            return f"SELECT * FROM ({text}) ORDER BY t"
    return text


def any_streams(draw: Draw, *, ordered: bool = False) -> list[Declared]:
    """Five streams in any order."""
    return [Declared(name, 0 if ordered else draw.choose([0, 3, 8, None])) for name in "abcde"]


def _condition(draw: Draw, names: list[str]) -> str:
    """A condition about one input, or about two."""
    one, other = draw.choose(names), draw.choose(names)
    conditions = [f"{one}.v < 1", f"{one}.d > 3", f"{one}.k <> 'y'", f"{one}.v + {other}.v < 2"]
    return draw.choose(conditions)


def skewed_arrivals(draw: Draw, declared: list[Declared], blocks: int = 20) -> list[Event]:
    """What comes, in order; streams are ahead of each other, by turns."""
    progress = {each.name: Progress(each.slack, 0, -30) for each in declared}
    names = [each.name for each in declared]
    lagging = draw.choose([None, *names])
    events: list[Event] = []
    number = 0
    for turn in range(draw.between(blocks // 2, blocks)):
        if draw.choose([*[False] * 6, True]):
            lagging = draw.choose([None, *names])
        name = draw.choose([each for each in names if each != lagging])
        stream = progress[name]
        block: list[Row] = []
        for _ in range(draw.between(1, 3)):
            time = max(stream.bound, stream.newest + draw.between(0, 4) - draw.choose([0, 0, 3]))
            if lagging is None and draw.choose([False, True]):
                time = max(stream.bound, 2 * turn - draw.between(0, 3))
            stream.saw(time)
            number += 1
            key = draw.choose(["x", "x", "x", "x", "x", "y", None])
            block.append(
                {"k": key, "v": draw.choose([0, 0, 0, 0, 1, None]), "d": float(number), "ts": time}
            )
        events.append(Push(name, block))
        if stream.slack is None or draw.choose([*[False] * 4, True]):
            stream.bound = max(stream.bound, min(stream.newest, stream.bound + draw.between(0, 9)))
            events.append(Punctuate(name, stream.bound))
    return events
