"""Static tables and joins with them, at random.

tables     empty, small, with keys that occur twice or are NULL, of another type than the stream's
kinds      inner, left, semi, anti; the table first (inner, right); a comma
around     plain, under an aggregate, between two streams that join, twice
"""

from __future__ import annotations

from typing import Any

from tests.engine.draw import Draw, several
from tests.engine.random_streams import MOSTLY_A

TABLE_COLUMNS = "k STRING, v BIGINT, w DOUBLE"
KEYS = (
    *("l.k = t.k", "l.k = t.k", "l.v = t.v", "l.k = t.k AND t.v = l.v", "l.d = t.v", ""),
    *("pmod(l.v, 3) = t.v", "l.v + 1 = t.v - 1", "t.w * 4 = l.v AND l.k = t.k"),
    "concat(l.k, l.v) = concat(t.k, t.v)",
)
CONDITIONS = ("", "", "l.v < t.v", "(t.w > 0 OR l.v IS NULL)", "t.v > 0", "l.v > 0", "t.k <> 'x'")
KINDS = ("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


def table_rows(draw: Draw) -> list[dict[str, Any]]:
    """The rows of a table."""

    def one(draw: Draw) -> dict[str, Any]:
        return {
            "k": draw.choose(["x", "y", "z", "q", None]),
            "v": draw.choose([None, *range(-3, 4)]),
            "w": draw.choose([None, 0.0, -0.5, 1.25]),
        }

    return several(draw, 0, 6, one)


def table_joins(draw: Draw, unit: str) -> str:
    """A query that joins a stream with the tables `t` and `u`."""
    stream = draw.choose(MOSTLY_A)
    conditions = [c for c in (draw.choose(KEYS), draw.choose(CONDITIONS)) if c]
    on = f" ON {' AND '.join(conditions)}" if conditions else ""
    match draw.choose(["plain", "plain", "first", "comma", "aggregate", "between", "twice"]):
        case "first":
            kind = draw.choose(["JOIN", "RIGHT JOIN"])
            return f"SELECT * FROM t {kind} {stream} AS l{on}"
        case "comma":
            where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            return f"SELECT l.k, l.ts, t.w, t.v FROM {stream} AS l, t{where}"
        case "aggregate":
            return (
                f"SELECT t.k AS k, count(*) AS n, sum(l.v) AS s FROM {stream} AS l "
                f"[RANGE {draw.between(1, 9)}{unit}, SLIDE 2{unit}, WA ts] "
                f"{draw.choose(['JOIN', 'LEFT JOIN'])} t{on} GROUP BY t.k"
            )
        case "between":
            return (
                f"SELECT l.k, l.ts AS lt, t.w, r.ts AS rt, r.v FROM {stream} AS l "
                f"{draw.choose(['JOIN', 'LEFT JOIN'])} t{on} "
                f"JOIN c AS r ON l.k = r.k AND (t.v IS NULL OR t.v < 2) "
                f"WITHIN {draw.between(0, 9)}{unit or ''}"
            )
        case "twice":
            second = draw.choose(["u.k = t.k", "u.v = l.v", "u.k = l.k AND u.w > t.w"])
            return (
                f"SELECT l.k, l.ts, t.v AS tv, u.v AS uv FROM {stream} AS l "
                f"{draw.choose(['JOIN', 'LEFT JOIN'])} t{on} "
                f"{draw.choose(['JOIN', 'LEFT JOIN'])} t AS u ON {second} "
                f"{draw.choose(['', 'WHERE t.w IS NULL OR l.v > 1'])}"
            )
    kind = draw.choose(KINDS)
    columns = "l.k, l.v, l.ts" if "SEMI" in kind or "ANTI" in kind else "l.k, l.ts, t.k AS tk, t.w"
    return f"SELECT {columns} FROM {stream} AS l {kind} t{on}"
