"""Joins of three to five streams at random, and rows for them: chains, stars, cycles.

Streams come in disorder, one may be far ahead of another, some speak of their bounds only now and
then. Every row has a number of its own, in `d`, so that a result tells of which rows it is made.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.engine.draw import Draw
from tests.engine.random_streams import Declared, Event, Progress, Punctuate, Push, Row

#: A shape of the join graph, and for each input but the first the one that it is joined with.
GRAPHS = ("chain", "star", "cycle")
KEYS = (*["k"] * 6, "v")


@dataclass(frozen=True)
class ManyJoins:
    """Streams, a query over them, and whether its results name the numbers of all their rows."""

    declared: list[Declared]
    text: str
    names: list[str]
    is_plain: bool
    times: list[str]

    @property
    def inputs(self) -> list[str]:
        """What its inner join reads: an outer join goes by the name of its left input."""
        return [time.removesuffix("t") for time in self.times]


def many_joins(
    draw: Draw, most: int = 5, *, ordered: bool = False, plain: bool = False
) -> ManyJoins:
    """Random streams, and a join of all of them with whatever stands above and below it."""
    names = list("abcde"[: draw.choose([3, 3, 4, most])])
    declared = [Declared(name, 0 if ordered else draw.choose([0, 3, 8, None])) for name in names]
    graph, text, where = draw.choose(GRAPHS), "a", []
    is_outer = not plain and len(names) > 3 and draw.choose([*[False] * 4, True])
    for place, name in enumerate(names[1:], start=1):
        other = "a" if graph == "star" else names[place - 1]
        if is_outer and place == 2:
            other = "a"  # b may be NULL
        key = draw.choose(KEYS)
        kind = "LEFT JOIN" if is_outer and place == 1 else "JOIN"
        on = f"{other}.{key} = {name}.{key}"
        if draw.choose([*[False] * 5, True]):
            on += f" AND {other}.v <= {name}.v + 1"
        within = draw.choose([4, 8, 15])
        if draw.choose([True, False]):
            text += f" {kind} {name} ON {on} WITHIN {within} MICROSECONDS"
        else:
            low, high = draw.between(0, within), draw.between(0, within)
            text += (
                f" {kind} {name} ON {on} AND {name}.ts BETWEEN {other}.ts - INTERVAL '{low}' "
                f"MICROSECOND AND {other}.ts + INTERVAL '{high}' MICROSECOND"
            )
    if graph == "cycle" and not is_outer:
        where.append(f"a.v = {names[-1]}.v")
    if draw.choose([False, False, True]):
        where.append(f"{draw.choose(names)}.v < 2")
    shown = [name for name in names if not (is_outer and name == "b")]
    columns = ", ".join(f"{name}.d AS {name}d, {name}.ts AS {name}t" for name in shown)
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    text = f"SELECT {columns} FROM {text}{condition}"
    times = [f"{name}t" for name in shown]
    above = "" if plain else draw.choose(["", "", "", "count", "outer", "order"])
    time = draw.choose(times)
    match above:
        case "count":
            text = (
                f"SELECT count(*) AS n, sum(ad) AS s FROM ({text}) "
                f"[RANGE {draw.choose([3, 10])} MICROSECONDS, SLIDE {draw.choose([1, 5])} "
                f"MICROSECONDS, WA {time}]"
            )
        case "outer":
            text = (
                f"SELECT j.ad AS ad, j.{time} AS t, z.d AS zd FROM ({text}) AS j LEFT JOIN a AS z "
                f"ON j.ad = z.d AND z.ts BETWEEN j.{time} - INTERVAL '4' MICROSECOND "
                f"AND j.{time} + INTERVAL '2' MICROSECOND"
            )
        case "order":
            text = f"SELECT * FROM ({text}) ORDER BY {time}"
    is_plain = not above and not is_outer
    return ManyJoins(declared, text, names, is_plain, times)


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
