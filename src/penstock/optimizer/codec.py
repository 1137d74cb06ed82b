"""Plans to JSON and back: one codec over frozen dataclasses and enums.

    dataclass    {"is": its name, field: value, …}; fields that have their default are left out, so
                 one that is added later changes nothing that was written before
    enum         {"is": its name, "value": …}
    type         {"is": "Type", "value": its text}
    tuple        a list;  frozenset, bytes, Decimal, nan, inf:
                 {"is": "set" | "bytes" | "decimal" | "float", "value": …}

Only what is registered here passes, in both directions: expressions, windows, nodes of plans, specs
of operators, and what they are made of. What does not count for equality (the rows of a static
table, the code of a user's function) stays behind.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

from penstock.errors import PenstockBug
from penstock.kernel.aggregation.two_level.flush import Flush
from penstock.kernel.joins.mjoin import MEdge, MJoinSpec
from penstock.kernel.joins.sequences.spec import SequenceSpec
from penstock.kernel.joins.spec import CarriedSpec, JoinSpec, SideSpec
from penstock.kernel.joins.table_join import TableJoinSpec
from penstock.model.aggregates import Aggregate
from penstock.model.computed_column import ComputedColumn
from penstock.model.emit import Emit
from penstock.model.exploding import Exploding
from penstock.model.expressions import Expression
from penstock.model.joins import JoinKind
from penstock.model.match import MatchDefinition, Skip, SortColumn
from penstock.model.row_patterns import RowPattern
from penstock.model.schema import Column, Schema
from penstock.model.sequences import SequenceMode
from penstock.model.streams import FurtherTime, Origin, Stream, TimestampKind, Timing
from penstock.model.tables import StaticTable
from penstock.model.types import Type
from penstock.model.user_calls import UserCall
from penstock.model.user_defined import UserAggregate, UserFunction
from penstock.optimizer.options import Options
from penstock.optimizer.specs import Spec
from penstock.plan.nodes import Edge, Node, Result
from penstock.plan.on_results import OnResults
from penstock.windows import Band, TumblingBand, Window
from penstock.windows.panes import Panes

#: These and everything derived from them.
_FAMILIES = (Expression, UserCall, Window, Node, Spec, RowPattern)
_OTHERS = (
    *(
        Aggregate,
        Column,
        ComputedColumn,
        Emit,
        Exploding,
        FurtherTime,
        Origin,
        Schema,
        StaticTable,
        Stream,
        Timing,
    ),
    *(Band, Edge, OnResults, Panes, Result, TumblingBand),
    *(MatchDefinition, Skip, SortColumn),
    *(CarriedSpec, Flush, JoinSpec, MEdge, MJoinSpec, SequenceSpec, SideSpec, TableJoinSpec),
    Options,
    *(UserAggregate, UserFunction),
)
_ENUMS = (JoinKind, SequenceMode, TimestampKind)

_IS, _VALUE = "is", "value"


@cache
def _known() -> dict[str, type]:
    found: dict[str, type] = {}
    for each in (*_family(*_FAMILIES), *_OTHERS, *_ENUMS):
        if found.setdefault(each.__name__, each) is not each:
            raise PenstockBug(f"two classes of plans are called {each.__name__}")
    return found


def _family(*roots: type) -> Iterator[type]:
    for root in roots:
        yield root
        yield from _family(*root.__subclasses__())


def encode(value: Any) -> Any:
    """A value of plans as JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return {_IS: "float", _VALUE: str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return [encode(each) for each in value]
    if isinstance(value, frozenset):
        return {_IS: "set", _VALUE: sorted(map(encode, value), key=_text)}
    if isinstance(value, bytes):
        return {_IS: "bytes", _VALUE: value.hex()}
    if isinstance(value, Decimal):
        return {_IS: "decimal", _VALUE: str(value)}
    if isinstance(value, Type):
        return {_IS: "Type", _VALUE: str(value)}
    name = type(value).__name__
    if _known().get(name) is not type(value):
        raise PenstockBug(f"{name} is not part of a plan that can be written down")
    if isinstance(value, Enum):
        return {_IS: name, _VALUE: value.value}
    kept = (f for f in _fields(name) if getattr(value, f.name) != _default(f))
    return {_IS: name, **{f.name: encode(getattr(value, f.name)) for f in kept}}


def decode(data: Any) -> Any:
    """The value that `encode` has written."""
    if isinstance(data, list):
        return tuple(map(decode, data))
    if not isinstance(data, dict):
        return data
    match data[_IS]:
        case "float":
            return float(data[_VALUE])
        case "set":
            return frozenset(map(decode, data[_VALUE]))
        case "bytes":
            return bytes.fromhex(data[_VALUE])
        case "decimal":
            return Decimal(data[_VALUE])
        case "Type":
            return Type(data[_VALUE])
        case name:
            cls = _known().get(name)
    if cls is None:
        raise PenstockBug(f"a plan that was written down has a part of an unknown kind: {name}")
    if issubclass(cls, Enum):
        return cls(data[_VALUE])
    names = {f.name for f in _fields(name)}
    unknown = data.keys() - names - {_IS}
    if unknown:
        raise PenstockBug(f"{name} of a plan that was written down has no field {min(unknown)}")
    return cls(**{key: decode(each) for key, each in data.items() if key != _IS})


def canonical(value: Any) -> str:
    """JSON of which there is one text for equal values, in every process."""
    return _text(encode(value))


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


@cache
def _fields(name: str) -> tuple[Field[Any], ...]:
    cls = _known()[name]
    assert is_dataclass(cls)
    return tuple(f for f in fields(cls) if f.init and f.compare)


def _default(given: Field[Any]) -> Any:
    if given.default_factory is not MISSING:
        return given.default_factory()
    return given.default
