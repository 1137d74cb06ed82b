"""Texts of sequences at random: every mode, two to four steps, any keys and conditions.

steps      streams, a stream behind itself, subqueries, unions
keys       none, one, two, of different types, with NULLs; the same for all steps or not
within     none, as short as one moment, longer than everything
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine.draw import Draw
from tests.engine.random_joins import side

#: Longer than most streams last.
FAR = 50_000_000
MODES = ("RECENT", "CHRONICLE", "UNRESTRICTED")
_KEYS = (
    *["{0}.k = {1}.k"] * 4,
    "{0}.v = {1}.v",
    "{0}.v = {1}.d",
    "{0}.k = {1}.k AND {0}.v = {1}.v",
    "pmod({0}.v, 3) = {1}.v",
    "",
    "",
)
_CONDITIONS = (
    *[""] * 14,
    "{0}.v < {1}.v",
    "({0}.k <> {1}.k OR {0}.d > {1}.d)",
    "{1}.v > 0",
    "{0}.d IS NOT NULL",
    "{0}.ts < {1}.ts",
)


def sequence_queries(draw: Draw, unit: str, modes: Sequence[str] = MODES) -> str:
    """A sequence and what is asked of it."""
    text, names = sequences(draw, unit, modes)
    columns = ", ".join(f"{n}.k AS {n}k, {n}.v AS {n}v, {n}.ts AS {n}t" for n in names)
    return f"SELECT {columns} {text}"


def sequences(
    draw: Draw, unit: str, modes: Sequence[str] = MODES, *, bounded: bool = False
) -> tuple[str, list[str]]:
    """FROM and WHERE of a sequence, and the names of its steps; `bounded`: it has WITHIN."""
    names = ["l", "r", "m", "n"][: draw.choose([2, 2, 2, 2, 3, 3, 4])]
    steps = ", ".join(f"{_step(draw)} AS {name}" for name in names)
    parts = [f"MODE {draw.choose(modes)}"] if draw.choose([True, True, True, False]) else []
    partition = draw.choose(["k", "k", "k", "", "", "k, v"])
    conditions = []
    if partition:
        parts.append(f"PARTITION BY {partition}")
    if bounded or draw.choose([True, True, False]):
        parts.append(f"WITHIN {draw.choose([0, 3, 20, 50, 100, FAR])}{unit}")
    for place, name in enumerate(names[1:], start=1):
        other = names[draw.choose([place - 1, place - 1, 0])]
        if not partition:
            conditions.append(draw.choose(_KEYS).format(other, name))
        conditions.append(draw.choose(_CONDITIONS).format(other, name))
    where = " AND ".join(filter(None, conditions))
    return f"FROM SEQ({steps}) {' '.join(parts)}{' WHERE ' if where else ''}{where}", names


def _step(draw: Draw) -> str:
    plain = draw.choose([*["a", "a", "a", "b"] * 3, ""])
    return plain or side(draw)


def aggregated_sequences(draw: Draw, unit: str) -> str:
    """An aggregate over the results of a sequence, by the time of any step that progresses."""
    bounded = draw.choose([True, False])
    text, names = sequences(draw, unit, bounded=bounded)
    on = draw.choose(names if bounded else names[-1:])
    size, slide = draw.between(1, 9), draw.between(1, 9)
    return (
        f"SELECT {names[0]}.k AS g, count(*) [RANGE {size}{unit}, SLIDE {slide}{unit}, WA {on}.ts] "
        f"AS n {text} GROUP BY {names[0]}.k"
    )
