"""Rows made of the declared types: few values, so that rows meet, and those the queries name.

Doubles are multiples of 1/4, so that sums are the same in any order. Arrays, maps and structs are
made of few values of their parts, with empty ones and NULL among them. Times go on by steps around
the lengths of windows, often right onto where one begins or ends; or all of them lie on the grid
that the lengths have in common, where rows, windows and bounds meet to the microsecond.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from itertools import accumulate, cycle, islice
from typing import Any

from penstock.model.expressions import Expression, Literal
from penstock.model.streams import Stream
from penstock.model.timestamps import DAY, MINUTE, SECOND
from penstock.model.types import ArrayType, DecimalType, MapType, StructType, Type
from penstock.plan.graph import walk
from penstock.plan.nodes import Node
from penstock.verification.case import Row, own_time
from penstock.verification.lengths import WindowGrid, common, for_stream

#: Monday, 2024-01-01.
FIRST = 19_723 * DAY
#: Values that columns have whatever queries say; of numbers also how far around a constant others
#: lie, of fractions and of whole ones.
_NUMBERS: tuple[tuple[Sequence[Any], Sequence[Any]], ...] = (
    ((0.0, 0.25, 1.0, 2.5, -1.75, 10.0), (-0.25, 0.0, 0.25)),
    ((0, 1, 2, 3, 5, 7, 10, -1), (-1, 0, 1)),
)
_USUAL: dict[Type, Sequence[Any]] = {
    Type.BOOLEAN: (True, False),
    Type.STRING: ("x", "y", "z"),
    Type.BINARY: (b"x", b"yz"),
    Type.DATE: (FIRST // DAY, FIRST // DAY + 1),
    Type.TIMESTAMP: (FIRST, FIRST + SECOND, FIRST + MINUTE),
    Type.TIMESTAMP_NTZ: (FIRST, FIRST + SECOND, FIRST + MINUTE),
    Type.INTERVAL: (0, SECOND, MINUTE),
}
_BITS = {Type.TINYINT: 7, Type.SMALLINT: 15, Type.INT: 31, Type.BIGINT: 62}


def generate(
    chance: random.Random,
    stream: Stream,
    count: int,
    plans: Sequence[Node],
    grids: Sequence[WindowGrid],
    begin: int | None = None,
) -> list[Row]:
    """Rows of a stream, in order of time."""
    constants = constants_of(plans)
    domains = {c.name: domain(c.type, constants) for c in stream.columns}
    on = own_time(stream)
    times = _times(chance, stream, count, for_stream(stream, grids), begin) if on else []
    found = []
    for number in range(count):
        row = {name: chance.choice(values) for name, values in domains.items()}
        if on is not None:
            row[on] = times[number]
        if stream.timing.marker is not None:
            row[stream.timing.marker] = chance.random() < 0.1
            if row[stream.timing.marker]:  # NULL: about any value
                row |= {n: None for n in row if n not in (on, stream.timing.marker)}
        found.append(row)
    return found


def largest(of: Type) -> int:
    """The largest time that a column can have."""
    return (1 << _BITS[of]) - 1 if of in _BITS else FIRST + 4000 * DAY


def domain(of: Type, constants: Mapping[Type, Sequence[Any]]) -> list[Any]:
    """Values that a column may have; those that queries compare it with are among them."""
    match of:
        case ArrayType():
            first, *others = _parts(domain(of.element, constants))
            return [[], [first], [first, *others[:1]], [*others, None], [*others[:2], first], None]
        case MapType():
            keys = _parts(domain(of.key, constants))
            values = cycle(domain(of.of, constants))
            singles = [{key: next(values)} for key in keys]
            return [{}, *singles, dict(zip(keys, values, strict=False)), None]
        case StructType():
            choices = [cycle(domain(part, constants)) for part in of.parts]
            names = [name for name, _ in of.fields]
            # Of different lengths, so that other values meet each time.
            made = [dict(zip(names, map(next, choices), strict=True)) for _ in range(7)]
            return [*made, *made[:2], None]
        case DecimalType():
            found = _decimals(of, constants.get(Type.DOUBLE, ()))
        case _ if of.is_numeric:
            usual, steps = _NUMBERS[of.is_integer]
            found = [*usual, *(v + step for v in constants.get(of, ()) for step in steps)]
        case _:
            found = [*_USUAL[of], *constants.get(of, ())]
    fitting = [value for value in dict.fromkeys(found) if _fits(value, of)]
    return [*fitting, *fitting[:3], None]


def _parts(values: Sequence[Any]) -> list[Any]:
    """Some that are not NULL, those that queries name first: they stand behind the others."""
    different = {repr(value): value for value in values if value is not None}
    return list(islice(reversed(different.values()), 4))


def _decimals(of: DecimalType, constants: Sequence[float]) -> list[Decimal]:
    """Numbers of so many digits; the greatest is among them, whose sums need more."""
    unit = Decimal(1).scaleb(-of.scale)
    most = Decimal(10 ** (of.precision - of.scale)) - unit
    near = [*_NUMBERS[False][0], *constants]
    found = [Decimal(repr(value)).quantize(unit) for value in near if abs(value) < most]
    around = [value + step for value in found for step in (-unit, unit)]
    return [each for each in (*found, *around, most, -most) if abs(each) <= most]


def constants_of(plans: Sequence[Node]) -> dict[Type, list[Any]]:
    """The values that stand in queries, by type; whole numbers under every numeric one."""
    found: dict[Type, list[Any]] = {}
    for literal in (each for plan in plans for node in walk(plan) for each in _literals(node)):
        value = literal.value
        if value is None:
            continue
        if literal.type.is_numeric:
            for of in Type:
                if of.is_integer and isinstance(value, int):
                    found.setdefault(of, []).append(value)
                elif of in (Type.FLOAT, Type.DOUBLE) and abs(value) < 1e15:
                    found.setdefault(of, []).append(float(value))
        else:
            found.setdefault(literal.type, []).append(value)
    return {of: list(dict.fromkeys(values)) for of, values in found.items()}


def _literals(part: Any) -> Iterator[Literal]:
    """All constants of a node, wherever its fields hold expressions."""
    if isinstance(part, Expression):
        yield from (each for each in part.walk() if isinstance(each, Literal))
    elif isinstance(part, tuple):
        for each in part:
            yield from _literals(each)
    elif is_dataclass(part) and not isinstance(part, type):
        for each in fields(part):
            value = getattr(part, each.name)
            if not isinstance(value, Node):
                yield from _literals(value)


def _times(
    chance: random.Random,
    stream: Stream,
    count: int,
    grids: Sequence[WindowGrid],
    begin: int | None,
) -> list[int]:
    of = stream.schema[str(stream.timestamp)].type
    is_time = of.is_time
    usual = [WindowGrid(SECOND)] if is_time else [WindowGrid(1), WindowGrid(5)]
    known = list(grids) or usual
    time = (FIRST if begin is None else begin) if is_time else 0
    most = largest(of)
    shared = common(known)
    if shared is not None and chance.random() < 0.5:
        steps = [0, 0, 1, 1, 1, 2, 3, *(grid.length // shared.length for grid in known)]
        moves = [chance.choice(steps) * shared.length for _ in range(count)]
        return [min(shared.nearest(time) + each, most) for each in accumulate(moves)]
    step = chance.choice(known).length
    found = []
    for _ in range(count):
        match chance.choice(("same", "tick", "part", "part", "part", "edge", "edge", "far")):
            case "tick":
                time += 1
            case "part":
                time += chance.randint(0, max(1, step // 3))
            case "edge":
                grid = chance.choice(known)
                edge = grid.nearest(time) + grid.length + chance.choice((-1, 0, 0, 1))
                time = max(time, edge) if grid.length <= 4 * step else time + 1
            case "far" if chance.random() < 0.3:
                time += step + chance.randint(0, 3 * step)
        time = min(time, most)
        found.append(time)
    return found


def _fits(value: Any, of: Type) -> bool:
    if of in _BITS:
        bits = 63 if of is Type.BIGINT else _BITS[of]
        return bool(-(1 << bits) <= value < 1 << bits)
    return True
