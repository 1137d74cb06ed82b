"""Texts of window joins at random: every way to bound them, every kind, with and without keys.

bounds     RANGE on both sides, a tumbling bracket, WITHIN, conditions on the timestamps
inputs     streams, a stream with itself, subqueries, unions, three streams
keys       none, one, two, of different types, with NULLs; and conditions of any other shape
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine.draw import Draw
from tests.engine.random_streams import MOSTLY_A

KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
KEYS = (
    *("l.k = r.k", "l.k = r.k", "l.v = r.v", "l.k = r.k AND r.v = l.v", "l.v = r.d", ""),
    *("pmod(l.v, 3) = r.v", "r.d * 2 = l.v AND l.k = r.k"),
)
RESIDUALS = (
    "",
    "",
    "l.v < r.v",
    "(l.k <> r.k OR l.d > r.d)",
    "coalesce(l.v, 0) + coalesce(r.v, 0) > 0",
    "r.v > 0",
    "l.d IS NOT NULL",
)
COLUMNS = "l.k AS lk, l.v AS lv, l.ts AS lt, r.k AS rk, r.d AS rd, r.ts AS rt"
LEFT_COLUMNS = "l.k AS lk, l.v AS lv, l.d AS ld, l.ts AS lt"


def side(draw: Draw) -> str:
    """One input of a join."""
    name = draw.choose(MOSTLY_A)
    match draw.choose(["stream", "stream", "stream", "subquery", "union"]):
        case "subquery":
            return f"(SELECT k, v + 1 AS v, d, ts FROM {name} WHERE v <> 3)"
        case "union":
            return f"(SELECT k, v, d, ts FROM {name} UNION ALL SELECT k, v, d, ts FROM c)"
    return name


def join_queries(
    draw: Draw, unit: str, kinds: Sequence[str] = KINDS, inputs: Sequence[str] | None = None
) -> str:
    """A join of two inputs: any, or some of those given."""
    kind = draw.choose(kinds)
    left, right = (draw.choose(inputs) if inputs else side(draw) for _ in range(2))
    conditions = [draw.choose(KEYS), draw.choose(RESIDUALS)]
    before, after = draw.between(0, 9), draw.between(0, 9)
    left_window = right_window = within = ""
    match draw.choose(["ranges", "tumbling", "within", "between"]):
        case "ranges":
            left_window = f" [RANGE {after}{unit}, WA ts]"
            right_window = f" [RANGE {before}{unit}, WA ts]"
        case "tumbling":
            right_window = f" [RANGE TUMBLING {after + 1}{unit}, WA ts]"
        case "within":
            within = f" WITHIN {after}{unit}"
        case "between":
            low, high = sorted((after - 4, before - 2))
            conditions.append(
                f"r.ts BETWEEN l.ts + {length(low, unit)} AND l.ts + {length(high, unit)}"
            )
    on = " AND ".join(filter(None, conditions)) or "TRUE"
    columns = LEFT_COLUMNS if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN") else COLUMNS
    return (
        f"SELECT {columns} FROM {left} AS l{left_window} "
        f"{kind} {right} AS r{right_window} ON {on}{within}"
    )


def joins_of_three(draw: Draw, unit: str) -> str:
    """Three inputs: every pair of rows in a result lies within its own window."""
    keys = ["l.k = r.k", draw.choose(["r.k = m.k", "l.v < m.v", "l.k = m.k AND r.v >= m.v"])]
    names = [f"{draw.choose(MOSTLY_A)} AS {name}" for name in ("l", "r", "m")]
    columns = "l.ts AS lt, r.ts AS rt, m.ts AS mt, l.k AS k, m.v AS v, r.d AS d"
    if draw.choose([True, False]):
        ranges = [f" [RANGE {draw.between(0, 9)}{unit}]" for _ in names]
    else:
        ranges = ["", "", f" [RANGE TUMBLING {draw.between(1, 9)}{unit}]"]
    inputs = ", ".join(map("".join, zip(names, ranges, strict=True)))
    return f"SELECT {columns} FROM {inputs} WHERE {' AND '.join(keys)}"


def joins_of_several(draw: Draw, unit: str, *, unions: bool = True) -> str:
    """Three or four inputs, joined along any tree by any keys, bounded in any way."""
    names = ["l", "r", "m", "n"][: draw.choose([3, 3, 4])]
    text, conditions = f"{draw.choose(['a', 'a', 'a', 'b'])} AS l", []
    bounds = draw.choose(["ranges", "tumbling", "within", "between"])
    if bounds == "ranges":
        text += f" [RANGE {draw.between(0, 25)}{unit}]"
    for place, name in enumerate(names[1:], start=1):
        # Of a join's timestamps, that of its last input can always bound the next one.
        other = names[place - 1] if bounds == "between" else draw.choose(names[:place])
        keys = [*["{0}.k = {1}.k"] * 20, "{0}.v = {1}.v", "{0}.v = {1}.d", "{0}.v < {1}.v"]
        condition = draw.choose(keys).format(other, name)
        if draw.choose([*[False] * 7, True]):
            condition += f" AND coalesce({draw.choose(names[:place])}.v, 0) + {name}.d > 0"
        source = draw.choose(
            [
                *["a"] * 8,
                "b",
                "c",
                "(SELECT k, v + 1 AS v, d, ts FROM a WHERE v <> 3)",
                "(a UNION b)" if unions else "c",
            ]
        )
        match bounds:
            case "ranges" | "tumbling":
                last = "TUMBLING " if bounds == "tumbling" else ""
                window = f" [RANGE {last}{draw.between(1, 25)}{unit}]"
                shown = bounds == "ranges" or place == len(names) - 1
                text += f", {source} AS {name}{window if shown else ''}"
                conditions.append(condition)
            case "within":
                text += (
                    f" JOIN {source} AS {name} ON {condition} WITHIN {draw.between(0, 25)}{unit}"
                )
            case "between":
                low, high = (length(draw.between(0, 25), unit) for _ in range(2))
                text += f" JOIN {source} AS {name} ON {condition} AND {name}.ts BETWEEN "
                text += f"{other}.ts - {low} AND {other}.ts + {high}"
    columns = ", ".join(f"{name}.ts AS {name}t, {name}.v AS {name}v" for name in names)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {columns} FROM {text}{where}"


def join_graphs(draw: Draw, unit: str, names: Sequence[str]) -> str:
    """Inputs joined along a chain, a star or a cycle, under one window for all or local ones."""
    count = len(names)
    pairs = {
        "chain": [(i, i + 1) for i in range(count - 1)],
        "star": [(0, i) for i in range(1, count)],
        "cycle": [*((i, i + 1) for i in range(count - 1)), (0, count - 1)],
    }[draw.choose(["chain", "star", "cycle"])]
    keys = [*["{0}.k = {1}.k"] * 8, "{0}.v = {1}.v", "{0}.v = {1}.d", "{0}.v < {1}.v", ""]
    conditions = [draw.choose(keys).format(names[i], names[j]) for i, j in pairs]
    if draw.choose([False, False, True]):
        one, other, third = (draw.choose(names) for _ in range(3))
        conditions.append(f"coalesce({one}.v, 0) + coalesce({other}.d, 1) > 2 - {third}.v")
    sources = ["a", "a", "b", "c", "(SELECT k, v + 1 AS v, d, ts FROM a WHERE v <> 3)"]
    inputs = [f"{draw.choose(sources)} AS {name}" for name in names]
    match draw.choose(["ranges", "tumbling", "within", "local", "local"]):
        case "ranges":
            inputs = [f"{each} [RANGE {draw.between(0, 12)}{unit}]" for each in inputs]
        case "tumbling":
            inputs[-1] += f" [RANGE TUMBLING {draw.between(1, 12)}{unit}]"
        case "within":
            within = [f"{each} ON TRUE WITHIN {draw.between(0, 12)}{unit}" for each in inputs[1:]]
            inputs = [" JOIN ".join([inputs[0], *within])]
        case "local":  # along any tree, so pairs beside it have what adds up; now and then more
            ways = [(draw.between(0, i - 1), i) for i in range(1, count)]
            ways += [draw.choose(pairs)] * draw.choose([0, 0, 1])
            for i, j in ways:
                low, high = (length(draw.between(0, 9), unit) for _ in range(2))
                conditions.append(
                    f"{names[j]}.ts BETWEEN {names[i]}.ts - {low} AND {names[i]}.ts + {high}"
                )
    columns = ", ".join(f"{name}.ts AS {name}t, {name}.v AS {name}v" for name in names)
    where = " AND ".join(filter(None, conditions)) or "TRUE"
    return f"SELECT {columns} FROM {', '.join(inputs)} WHERE {where}"


def aggregated_joins(draw: Draw, unit: str) -> str:
    """An aggregate over a join, by either timestamp."""
    on, group = draw.choose(["l.ts", "r.ts"]), draw.choose(["l.k", "r.v"])
    range_, slide = draw.between(1, 9), draw.between(1, 9)
    return (
        f"SELECT {group} AS g, count(*) [RANGE {range_}{unit}, SLIDE {slide}{unit}, WA {on}] AS n "
        f"FROM {draw.choose(MOSTLY_A)} AS l, {draw.choose(MOSTLY_A)} AS r "
        f"[RANGE TUMBLING {draw.between(1, 9)}{unit}] WHERE l.k = r.k GROUP BY {group}"
    )


def above_a_join(draw: Draw, text: str, unit: str, times: Sequence[str]) -> str:
    """Whatever stands on a time of a join and needs that it progresses, over the join `text`.

    The time is one of these, or the greatest or the least of them all.
    """
    every = ", ".join(times)
    time = draw.choose([*times, f"greatest({every})", f"greatest({every})", f"least({every})"])
    rows = f"(SELECT {times[0]} AS first, {time} AS t FROM ({text}))"
    range_, slide = draw.between(1, 12), draw.between(1, 6)
    return draw.choose(
        [
            f"SELECT count(*) AS n FROM {rows} [RANGE {range_}{unit}, SLIDE {slide}{unit}, WA t]",
            f"SELECT t, count(*) AS n FROM {rows} GROUP BY t",
            f"SELECT first, t FROM {rows} ORDER BY t",
        ]
    )


def pair_counts(draw: Draw, unit: str) -> str:
    """Results of a join, counted per pair of their timestamps (Q7-1)."""
    kind = draw.choose(["JOIN", "JOIN", "LEFT JOIN"])
    within = f"WITHIN {draw.between(0, 9)}{unit}"
    window = draw.choose(["", f" [RANGE {draw.between(1, 4)}{unit}, WA l.ts]"])
    groups = "l.ts, r.ts" if not window else "r.ts, r.k"
    names = "l.ts AS lt, r.ts AS rt" if not window else "r.ts AS rt, r.k AS k"
    return (
        f"SELECT {names}, count(*){window} AS n, sum(r.v){window} AS s "
        f"FROM {draw.choose(MOSTLY_A)} AS l {kind} {draw.choose(MOSTLY_A)} AS r "
        f"ON l.k = r.k {within} GROUP BY {groups}"
    )


def joined_aggregates(draw: Draw, unit: str) -> str:
    """A join of aggregates, by the ends of their windows."""
    size, reach = draw.between(1, 9), draw.between(0, 9)
    parts = [
        f"(SELECT k, count(*) AS n FROM {draw.choose(MOSTLY_A)} "
        f"[RANGE {size}{unit}, SLIDE {size}{unit}, WA ts] GROUP BY k) AS {name} "
        f"[RANGE {reach}{unit}, WA window_end]"
        for name in ("l", "r")
    ]
    return (
        "SELECT l.k AS k, l.n AS n, r.n AS m, l.window_end AS le, r.window_end AS re "
        f"FROM {', '.join(parts)} WHERE l.k = r.k"
    )


def length(ticks: int, unit: str) -> str:
    return f"INTERVAL '{ticks}' MICROSECOND" if unit else f"({ticks})"
