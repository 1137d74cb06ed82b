"""Queries over the elements of arrays and maps, at random, and streams that have such columns.

Views are written in every spelling that there is; one may explode what another has given. They
stand below rows, windows, joins and ORDER BY, and behind joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.engine.draw import Draw, several
from tests.engine.random_streams import UNITS, Declared, Event, Push, arrivals

_COLUMNS = (
    "k STRING, v INT, tags ARRAY<STRING>, m MAP<STRING, INT>, "
    "items ARRAY<STRUCT<p: INT, q: STRING>>, nn ARRAY<ARRAY<INT>>"
)


@dataclass(frozen=True)
class NestedStream(Declared):
    """A stream whose rows have arrays and maps."""

    @property
    def sql(self) -> str:
        return super().sql.replace("k STRING, v INT, d DOUBLE", _COLUMNS)


def nested_streams(draw: Draw) -> list[Declared]:
    time = draw.choose(sorted(UNITS))
    return [NestedStream(name, draw.choose((0, 0, 1, 5, None)), time) for name in ("a", "b")]


def nested_arrivals(draw: Draw, declared: list[Declared]) -> list[Event]:
    """What comes on them: NULL, empty, and with elements that are NULL."""
    events = arrivals(draw, declared, blocks=5, rows=5)
    for event in events:
        for row in event.rows if isinstance(event, Push) else ():
            del row["d"]
            row["tags"] = _maybe(draw, lambda d: several(d, 0, 3, _text))
            row["m"] = _maybe(draw, lambda d: {k: _number(d) for k in several(d, 0, 3, _key)})
            row["items"] = _maybe(draw, lambda d: several(d, 0, 2, _item))
            row["nn"] = _maybe(draw, lambda d: several(d, 0, 2, _numbers))
    return events


def _maybe(draw: Draw, make: Any) -> Any:
    return make(draw) if draw.between(0, 4) else None


def _text(draw: Draw) -> str | None:
    return draw.choose(["x", "y", "z", None])


def _key(draw: Draw) -> str:
    return draw.choose(["x", "y", "w"])


def _number(draw: Draw) -> int | None:
    values: list[int | None] = [None, *range(-3, 4)]
    return draw.choose(values)


def _numbers(draw: Draw) -> list[int | None] | None:
    return _maybe(draw, lambda d: several(d, 0, 3, _number))  # type: ignore[no-any-return]


def _item(draw: Draw) -> dict[str, Any] | None:
    return _maybe(draw, lambda d: {"p": _number(d), "q": _text(d)})  # type: ignore[no-any-return]


@dataclass(frozen=True)
class View:
    """A view, as it stands in FROM, and the texts and numbers among its columns."""

    sql: str
    texts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.texts, *self.numbers)


def views(draw: Draw, of: str = "") -> View:
    """One or two of them, behind each other; `of` stands in front of columns."""
    found = [_view(draw, number, of) for number in range(draw.choose([1, 1, 2]))]
    return View(
        " ".join(view.sql for view in found),
        tuple(c for view in found for c in view.texts),
        tuple(c for view in found for c in view.numbers),
    )


def _view(draw: Draw, n: int, of: str) -> View:
    column = draw.choose(["tags", "m", "items", "fields", "nn"])
    counts = draw.choose([False, False, True])
    outer = draw.choose([False, True])
    spelling = draw.choose(["view", "join", "lateral"])
    if column == "nn":
        inner = _spelled(f"l{n}", [f"x{n}"], f"u{n}", n + 2, outer, counts, "view")
        first = _spelled(f"{of}nn", [f"l{n}"], f"t{n}", n, not outer, False, spelling)
        return View(f"{first} {inner}", (), (f"x{n}", *((f"i{n + 2}",) if counts else ())))
    names, texts, numbers = {
        "tags": ([f"c{n}"], [f"c{n}"], []),
        "m": ([f"c{n}", f"w{n}"], [f"c{n}"], [f"w{n}"]),
        "items": ([f"s{n}"], [f"s{n}.q"], [f"s{n}.p"]),
        "fields": ([f"p{n}", f"q{n}"], [f"q{n}"], [f"p{n}"]),
    }[column]
    if column == "fields":
        spelling = draw.choose(["join", "inline"])
        counts = counts and spelling == "join"
    source = of + ("items" if column == "fields" else column)
    sql = _spelled(source, names, f"t{n}", n, outer, counts, spelling)
    counted = [f"i{n}"] if counts else []
    return View(sql, tuple(texts), tuple(numbers + counted))


def _spelled(
    value: str, names: list[str], alias: str, n: int, outer: bool, counts: bool, spelling: str
) -> str:
    if spelling == "join":
        kind, on = ("LEFT JOIN", " ON TRUE") if outer else ("CROSS JOIN", "")
        ordinality = " WITH ORDINALITY" if counts else ""
        listed = ", ".join([*names, f"i{n}"] if counts else names)
        return f"{kind} UNNEST({value}){ordinality} AS {alias}({listed}){on}"
    listed = ", ".join([f"i{n}", *names] if counts else names)
    function = "inline" if spelling == "inline" else "posexplode" if counts else "explode"
    if spelling == "lateral":
        return f", LATERAL {function}{'_outer' if outer else ''}({value}) AS {alias}({listed})"
    return f"LATERAL VIEW {'OUTER ' if outer else ''}{function}({value}) {alias} AS {listed}"


def _where(draw: Draw, view: View, of: str = "") -> str:
    conditions = [f"{of}k = 'x'", f"{of}v > 0", f"{of}v IS NOT NULL"]
    conditions += [f"{each} <> 'y'" for each in view.texts]
    conditions += [f"{each} > 0" for each in view.numbers]
    conditions += [f"{each} IS NULL OR {of}v < 3" for each in view.columns]
    chosen = several(draw, 0, 2, lambda d: d.choose(conditions))
    return f" WHERE {' AND '.join(f'({each})' for each in chosen)}" if chosen else ""


def row_queries(draw: Draw, unit: str) -> str:
    """Elements as they are, perhaps in order, or from a subquery."""
    view = views(draw)
    shown = ", ".join(f"{each} AS o{n}" for n, each in enumerate(view.columns))
    select = f"SELECT k, tags, {shown}, ts FROM a {view.sql}{_where(draw, view)}"
    form = draw.choose(["rows", "rows", "ordered", "outside"])
    if form == "ordered":
        return f"{select} ORDER BY ts"
    if form == "outside":
        return f"SELECT k, c FROM ({select}) AS s LATERAL VIEW OUTER explode(tags) t AS c"
    return select


def window_queries(draw: Draw, unit: str) -> str:
    """Aggregates of elements, by elements and columns of their rows."""
    view = views(draw)
    keys = list(dict.fromkeys(several(draw, 0, 2, lambda d: d.choose(["k", *view.columns]))))
    shown = [f"{key} AS g{n}" for n, key in enumerate(keys)]
    shown += [f"max({each}) AS most{n}" for n, each in enumerate(view.columns)]
    shown += [f"sum({each}) AS total{n}" for n, each in enumerate(view.numbers)]
    length = draw.between(1, 40)
    slide = draw.choose([length, max(1, length // 2), 7])
    window = f"[RANGE {length}{unit}, SLIDE {slide}{unit}, WA ts]"
    if draw.between(0, 5) == 0:
        window = f"[RANGE {draw.between(1, 5)} ROWS]"
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    columns = ", ".join([*shown, "count(*) AS n"])
    return f"SELECT {columns} FROM a {window} {view.sql}{_where(draw, view)}{group}"


def join_queries(draw: Draw, unit: str) -> str:
    """Elements that find partners, or that partners have."""
    view = views(draw, "a.")
    within = f" WITHIN {draw.between(0, 20)}{unit}"
    shown = ", ".join(["a.k, a.v, b.v AS w", *(f"{e} AS o{n}" for n, e in enumerate(view.columns))])
    where = _where(draw, view, "a.")
    is_comma = view.sql.startswith(",")
    if draw.choose([False, True]) and view.texts:
        kind = draw.choose(["JOIN", "JOIN", "LEFT JOIN"])
        on = f"ON b.k = {view.texts[0]}"
        return f"SELECT {shown} FROM a {view.sql} {kind} b {on}{within}{where}"
    kind = "JOIN" if is_comma else draw.choose(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"])
    return f"SELECT {shown} FROM a {kind} b ON b.k = a.k{within} {view.sql}{where}"
