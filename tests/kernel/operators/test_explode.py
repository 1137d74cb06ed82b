"""Explode: which rows come of arrays and maps, and which bounds go on."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from penstock.kernel.operators.explode import Explode
from penstock.kernel.types import polars_type
from penstock.model.exploding import Exploding
from penstock.model.expressions import Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.types import Type
from tests.kernel.joins.feeding import Collected, push

KEPT = (Column("k", Type.STRING), Column("ts", Type.BIGINT))
KEYS, TIMES = ["a", "b", "c"], [1, 1, 2]

TAGS = ("ARRAY<STRING>", [["x", None], None, []])
PRICES = ("MAP<STRING, INT>", [{"x": 1, "y": None}, None, {}])
ITEMS = ("ARRAY<STRUCT<p: INT, q: STRING>>", [[{"p": 1, "q": "x"}, None], None, []])


def exploded(of: str, values: list[Any], names: str, **how: Any) -> list[tuple[Any, ...]]:
    type_ = Type(of)
    rows = pl.DataFrame({"k": KEYS, "ts": TIMES}).with_columns(
        pl.Series("value", values, dtype=polars_type(type_))
    )
    out = Collected()
    push(Explode(KEPT, Exploding(Ref("value", type_), tuple(names.split()), **how)), 0, rows, out)
    return out.rows


@pytest.mark.parametrize(
    ("value", "names", "how", "parts"),
    [
        (TAGS, "c", {}, [("x",), (None,)]),
        (TAGS, "c", {"position": "n", "first": 1}, [("x", 1), (None, 2)]),
        (PRICES, "c w", {}, [("x", 1), ("y", None)]),
        (PRICES, "c w", {"position": "n"}, [("x", 1, 0), ("y", None, 1)]),
        (ITEMS, "s", {}, [({"p": 1, "q": "x"},), (None,)]),
        (ITEMS, "p q", {"fields": True}, [(1, "x"), (None, None)]),
        (ITEMS, "p q", {"fields": True, "position": "n"}, [(1, "x", 0), (None, None, 1)]),
    ],
)
def test_each_element_is_a_row_and_outer_keeps_rows_without(
    value: tuple[str, list[Any]], names: str, how: dict[str, Any], parts: list[tuple[Any, ...]]
) -> None:
    rows = [("a", 1, *each) for each in parts]
    assert exploded(*value, names, **how) == rows
    nothing = (None,) * len(parts[0])
    alone = [("b", 1, *nothing), ("c", 2, *nothing)]
    assert exploded(*value, names, outer=True, **how) == [*rows, *alone]


def test_bounds_of_what_is_kept_go_on_and_those_of_other_columns_end() -> None:
    operator = Explode(KEPT, Exploding(Ref("value", Type("ARRAY<INT>")), ("v",)))
    out = Collected()
    for each in (
        Punctuation("ts", 5),
        Punctuation("ts", 7, (("k", ("a",)),)),
        Punctuation("ts", 9, (("other", ("a",)),)),
        Punctuation("seq", 3),
    ):
        operator.on_punctuation(0, each, out)
    assert out.bounds == [("ts", 5), ("ts", 7)]
