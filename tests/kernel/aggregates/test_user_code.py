"""Code of users over the columns of many groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.errors import UserCodeError
from penstock.kernel.aggregates.grouping import Grouping
from penstock.kernel.aggregates.user_code import RowByRow, UserCode, Vectorised
from penstock.model.schema import Column
from penstock.model.types import Type
from penstock.model.user_defined import UserAggregate
from tests.engine.user_aggregates import CountByColumns, Sum, SumByColumns

GROUPS = Grouping(np.array([0, 1, 0, 2, 1]), 3)
VALUES = pl.Series([1, None, 5, 7, None], dtype=pl.Int64)


def declared(code: Any, *, vectorised: bool, state: str = "total") -> UserAggregate:
    x, kept = Column("x", Type.BIGINT), Column(state, Type.BIGINT)
    return UserAggregate(
        "a", (x,), Type.BIGINT, (kept,), True, True, code=code, vectorised=vectorised
    )


CODE = [
    RowByRow(declared(Sum(), vectorised=False)),
    Vectorised(declared(SumByColumns(), vectorised=True)),
]


@pytest.mark.parametrize("code", CODE, ids=["row by row", "vectorised"])
def test_a_group_whose_arguments_are_null_has_the_state_of_nothing(code: UserCode) -> None:
    states = code.start([VALUES], GROUPS)
    assert states[0].to_list() == [6, None, 7]
    assert code.result(states).to_list() == [6, None, 7]
    merged = code.merge([pl.Series([6, None, 7, 3, None])], GROUPS)
    assert merged[0].to_list() == [13, None, 3]
    fewer = code.subtract(states, [pl.Series([2, None, None], dtype=pl.Int64)])
    assert fewer[0].to_list() == [4, None, 7]


def test_the_result_of_nothing_is_that_of_empty() -> None:
    code = Vectorised(declared(CountByColumns(), vectorised=True, state="n"))
    states = code.start([VALUES], GROUPS)
    assert states[0].to_list() == [2, None, 1]
    assert code.result(states).to_list() == [2, 0, 1]


class Wrong(SumByColumns):
    def __init__(self, given: Any) -> None:
        self.given = given

    def add(self, groups: Any, x: pl.Series) -> Any:
        return self.given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((pl.Series([1, 2]),), "`add` of aggregate `a` gave 2 values for 3"),
        ((pl.Series([1, 2, 3]), pl.Series([1, 2, 3])), "gave 2 columns, and its state has 1"),
        (pl.Series(["x", "y", "z"]), "gave what is not BIGINT"),
        (pl.DataFrame({"group": [0, 1, 2], "sum": [1, 2, 3]}), "gave no column `total`"),
    ],
)
def test_what_is_no_state_is_refused(given: Any, message: str) -> None:
    code = Vectorised(declared(Wrong(given), vectorised=True))
    with pytest.raises(UserCodeError, match=message):
        code.start([VALUES.fill_null(0)], GROUPS)


def test_a_table_of_some_groups_leaves_the_others_empty() -> None:
    code = Vectorised(
        declared(Wrong(pl.DataFrame({"group": [2, 0], "total": [8, 9]})), vectorised=True)
    )
    assert code.start([VALUES.fill_null(0)], GROUPS)[0].to_list() == [9, None, 8]


def test_columns_that_fail_name_the_row() -> None:
    class Fails(SumByColumns):
        def add(self, groups: Any, x: pl.Series) -> Any:
            if (x == 7).any():
                raise ValueError("no 7")
            return super().add(groups, x)

    code = Vectorised(declared(Fails(), vectorised=True))
    with pytest.raises(UserCodeError, match=r"failed in `add` on the row x = 7: ValueError: no 7"):
        code.start([VALUES], GROUPS)
