"""Query texts at random: everything that runs, in the spellings of the dialect.

    rows      columns and expressions of a stream, a union or a subquery, with WHERE
    windows   aggregates over sliding or tumbling windows, of time or of rows, in brackets behind
              the input or the aggregates, as `window()`, HOP or TUMBLING, or by grouping on time
    kinds     aggregates over windows of all other kinds
    nested    aggregates of such aggregates, over the ends of their windows

RANGE may be shorter than SLIDE and need not be a multiple of it. `unit` is what measures the
streams' time, as in UNITS. That time may be computed: what never falls when a stream's own time
rises does as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine.draw import Draw, several
from tests.engine.random_streams import MOSTLY_A, NAMES, UNITS

CONDITIONS = (
    "v > 0",
    "v % 2 = 0",
    "k = 'x' OR v < 3",
    "k IS NOT NULL AND d >= -2.5",
    "NOT (k = 'y')",
    "coalesce(v, 1) <> 1",
)
COLUMNS = ("k", "v", "d", "ts", "upper(k)", "v * 2 - 1", "d / 4", "v IS NULL", "row_num")
PLAIN_AGGREGATES = (
    "count(*)",
    "count(v)",
    "sum(v)",
    "sum(d)",
    "min(v)",
    "max(v)",
    "min(d)",
    "max(d)",
    "min(k)",
    "max(k)",
    "avg(v)",
    "avg(d)",
    "variance(v)",
    "var_pop(d)",
    "stddev(d)",
    "stddev_pop(v)",
    "sum(v * 2 + 1)",
    "max(ts)",
    "max(CASE WHEN v > 0 THEN k END)",
)
AGGREGATES = (
    *PLAIN_AGGREGATES,
    "count(DISTINCT v)",
    "count(DISTINCT k)",
    "sum(DISTINCT v)",
    "avg(DISTINCT d)",
    "median(v)",
    "percentile(d, 0.9)",
    "first(v)",
    "last(k)",
    "min_by(v, d)",
    "max_by(k, v)",
    "collect_list(v)",
    "collect_set(k)",
    "top_k(v, 2)",
    "mode(k)",
    "heavy_hitters(v, 0.3)",
    "every(v > 0)",
    "some(d < 0)",
    "count(*) FILTER (WHERE v > 0)",
    "sum(d) FILTER (WHERE k = 'x')",
)
#: Times that are computed of a stream's own, by what measures it.
COMPUTED = {
    " MICROSECONDS": (
        "ts",
        "ts + INTERVAL '7' MICROSECOND",
        "ts - INTERVAL '3' MICROSECOND",
        "date_trunc('millisecond', ts + INTERVAL '90' SECOND)",
        "date_trunc('week', ts)",
        "CAST(CAST(ts AS DATE) AS TIMESTAMP)",
        "timestamp_micros(unix_micros(ts) div 3)",
        "greatest(ts, date_trunc('day', ts) + INTERVAL '5' MICROSECOND)",
        "greatest(ts, TIMESTAMP '1970-01-01 00:00:00.000009')",
        "timestamp_millis(unix_micros(ts) div (2 * 3))",
    ),
    "": (
        "ts",
        "ts + 7",
        "ts - 3",
        "ts div 3",
        "(ts + 1) div 4 - 2",
        "least(ts, ts div 2 + 9)",
        "greatest(ts, 7)",
        "least(ts, 2 * 8)",
        "floor(ts / 3)",
    ),
}
GROUPS = ("", "k", "v % 3", "k, v % 2")
HAVING = ("count(*) > 1", "max(v) >= 0", "count(v) <> 2 AND sum(v) < 9")


def plain_queries(draw: Draw, time: str) -> str:
    """Queries over rows and over sliding windows, with the aggregates that all systems have."""
    if draw.choose(["windows", "rows"]) == "rows":
        return row_queries(draw)
    return window_queries(draw, UNITS[time], PLAIN_AGGREGATES)


def queries(draw: Draw, time: str) -> str:
    """Any query over streams whose time is of that type; mostly windows."""
    match draw.choose(["rows", "windows", "windows", "windows", "kinds", "kinds", "nested"]):
        case "rows":
            return row_queries(draw)
        case "kinds":
            return kind_queries(draw, UNITS[time])
        case "nested":
            return nested_queries(draw, UNITS[time])
    return window_queries(draw, UNITS[time])


def row_queries(draw: Draw) -> str:
    source = inputs(draw, None)
    usable = COLUMNS if source in NAMES else COLUMNS[:-1]
    chosen = several(draw, 1, 4, lambda draw: draw.choose(usable))
    columns = ", ".join(f"{column} AS c{n}" for n, column in enumerate(chosen))
    return f"SELECT {columns} FROM {source}{sometimes(draw, 'WHERE', CONDITIONS)}"


def inputs(draw: Draw, unit: str | None) -> str:
    """What stands in FROM, with columns k, v, d, ts; only a stream itself has row numbers.

    `unit`: what measures the time; None: it is not computed.
    """
    time = "ts" if unit is None else draw.choose(COMPUTED[unit])
    match draw.choose(["stream", "stream", "union", "subquery", "union all"]):
        case "stream":
            return draw.choose(MOSTLY_A)
        case "union":
            return " UNION ".join(several(draw, 2, 3, lambda draw: draw.choose(MOSTLY_A)))
        case "subquery":
            where = sometimes(draw, "WHERE", CONDITIONS)
            name = draw.choose(MOSTLY_A)
            return f"(SELECT ts AS time, k, v + 1 AS v, d, {time} AS ts FROM {name}{where})"
    first = _part(draw, time)
    return f"({' UNION ALL '.join([first, *several(draw, 1, 2, lambda d: _part(d, 'ts'))])})"


def _part(draw: Draw, time: str) -> str:
    d, name = draw.choose(["d", "v"]), draw.choose(MOSTLY_A)
    where = sometimes(draw, "WHERE", CONDITIONS)
    return f"SELECT k, v, {d} AS d, {time} AS ts FROM {name}{where}"


def sometimes(draw: Draw, clause: str, conditions: Sequence[str]) -> str:
    """Mostly nothing: rows that are dropped test nothing else."""
    if draw.choose([False, False, True]):
        return f" {clause} {draw.choose(conditions)}"
    return ""


def lengths(draw: Draw) -> tuple[int, int]:
    """RANGE and SLIDE; equal ones more often than by chance."""
    range_, slide = draw.between(1, 20), draw.between(0, 20)
    return range_, slide or range_


def window_queries(draw: Draw, unit: str, aggregates: Sequence[str] = AGGREGATES) -> str:
    """Aggregates over windows of time or of rows."""
    source, group = inputs(draw, unit), draw.choose(GROUPS)
    where = sometimes(draw, "WHERE", CONDITIONS)
    range_, slide = lengths(draw)
    calls = dict.fromkeys(several(draw, 1, 3, lambda draw: draw.choose(aggregates)))
    results = [f"{call} AS r{n}" for n, call in enumerate(calls)]
    keys = [f"{key} AS g{n}" for n, key in enumerate(group.split(", ")) if key]
    by = [group] if group else []
    forms = ["input", "aggregates", "hop", "tumbling", "key"]
    forms += ["window()"] if unit else []
    forms += ["rows"] if source in NAMES else []
    match draw.choose(forms):
        case "input":
            source += f" [RANGE {range_}{unit}, SLIDE {slide}{unit}, WA ts]"
        case "aggregates":
            window = f" [RANGE {range_}{unit} SLIDE {slide}{unit} WATTR ts]"
            results = [result.replace(" AS r", f"{window} AS r") for result in results]
        case "hop" if source in NAMES:
            sizes = f"{_argument(slide, unit)}, {_argument(range_, unit)}"
            source = f"HOP(TABLE {source}, DESCRIPTOR(ts), {sizes})"
            by.append("window_start, window_end")
        case "tumbling" | "hop":
            on = "" if source in NAMES else ", WA ts"
            source += f" [RANGE TUMBLING {range_}{unit}{on}]"
        case "window()":
            by.append(f"window(ts, '{range_} microseconds', '{slide} microseconds')")
        case "rows":
            source += f" [RANGE {range_} ROWS, SLIDE {slide} ROWS, WA row-num]"
        case "key":
            # What is computed of a time that is computed itself need not progress.
            key = draw.choose(["ts", *COMPUTED[unit]]) if source in NAMES else "ts"
            keys.append(f"{key} AS t")
            by.append(key)
    grouped = f" GROUP BY {', '.join(by)}" if by else ""
    # In HAVING, too, an aggregate would have to repeat the window behind it.
    behind = any("[" in result for result in results)
    having = "" if behind else sometimes(draw, "HAVING", HAVING)
    return f"SELECT {', '.join(keys + results)} FROM {source}{where}{grouped}{having}"


def _argument(ticks: int, unit: str) -> str:
    return f"INTERVAL '{ticks}' MICROSECOND" if unit else str(ticks)


def kind_queries(draw: Draw, unit: str) -> str:
    """Aggregates over landmark, cumulating, partitioned, session and slide-by-tuple windows."""
    group = draw.choose(["", "k", "v % 2"])
    range_, n = draw.between(1, 20), draw.between(1, 5)
    stream, calls = draw.choose(MOSTLY_A), "count(*) AS n, sum(v) AS s, max(d) AS m"
    where = sometimes(draw, "WHERE", CONDITIONS)
    by = [group] if group else []
    match draw.choose(
        ["landmark", "cumulate", "partitioned", "session", "sessions", "by row", "rank"]
    ):
        case "landmark":
            # Each of its steps has a result, and streams may go a long way at once.
            slide = f"{draw.between(5, 9)}000000{unit}"
            source = f"{inputs(draw, None)} [RANGE ALL, SLIDE {slide}, WA ts]"
        case "cumulate":
            sizes = f"{_argument(n, unit)}, {_argument(n * draw.between(1, 6), unit)}"
            source = f"CUMULATE(TABLE {stream}, DESCRIPTOR(ts), {sizes})"
            by.append("window_start, window_end")
        case "partitioned":
            source = f"{stream} [RANGE {range_} ROWS, SLIDE {n} ROWS, PA k]"
        case "session":
            partition = draw.choose(["", " PARTITION BY k", " PARTITION BY (k, v)"])
            source = f"SESSION(TABLE {stream}{partition}, DESCRIPTOR(ts), {_argument(n, unit)})"
            by.append("window_start, window_end")
        case "sessions" if unit:
            source = inputs(draw, unit)
            by.append(f"session_window(ts, '{n} microseconds')")
        case "by row":
            source = f"{stream} [RANGE {range_}{unit}, RATTR ts, SLIDE {n} ROWS, SATTR row-num]"
        case _:
            measures = f"RANGE {range_}{unit}, RATTR ts, SLIDE {n} ROWS, SATTR rank(ts)"
            source = f"{inputs(draw, unit)} [{measures}]"
    keys = f"{group} AS g, " if group else ""
    grouped = f" GROUP BY {', '.join(by)}" if by else ""
    return f"SELECT {keys}{calls} FROM {source}{where}{grouped}"


def nested_queries(draw: Draw, unit: str) -> str:
    """Aggregates of the results of other windows."""
    source = draw.choose(["a", "a UNION b", "b"])
    by_rows = source in NAMES and draw.choose([False, True])
    below, on = (" ROWS", "") if by_rows else (unit, " WA ts")
    above = "" if by_rows else unit
    (r1, s1), (r2, s2) = lengths(draw), lengths(draw)
    end = draw.choose(["window_end", "window_start"])
    return (
        f"SELECT count(*) AS n, max(m) AS m, sum(s) AS s "
        f"FROM (SELECT k, sum(v) AS s, max(d) AS m FROM {source} "
        f"[RANGE {r1}{below}, SLIDE {s1}{below}{on}] GROUP BY k) "
        f"[RANGE {r2}{above}, SLIDE {s2}{above}, WA {end}]"
    )


def lone_window_queries(draw: Draw, unit: str, unions: bool = True) -> str:
    """Aggregates that none of the other queries computes, so that no state is shared with them."""
    source = draw.choose(["a", "b", "a UNION b", "b UNION c"] if unions else NAMES)
    r, s = lengths(draw)
    return (
        f"SELECT k, count(*) AS n, max(v) AS m FROM (SELECT k, v, ts FROM {source} "
        f"WHERE coalesce(v, 0) < 50) [RANGE {r}{unit}, SLIDE {s}{unit}, WA ts] GROUP BY k"
    )
