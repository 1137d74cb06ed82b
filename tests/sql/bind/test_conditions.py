"""Conjunctions, taken apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.expressions import Call, Literal, Ref, conjunction
from penstock.model.types import Type
from penstock.sql.bind.conditions import conjuncts


@given(st.lists(st.integers(0, 9), min_size=1))
def test_a_conjunction_is_its_parts_again(values: list[int]) -> None:
    column = Ref("a", Type.BIGINT)
    parts = [Call("=", (column, Literal(value, Type.INT))) for value in values]
    joined = conjunction(parts)
    assert joined is not None
    assert list(conjuncts(joined)) == parts


def test_true_is_no_condition() -> None:
    assert conjunction([]) is None
    assert list(conjuncts(Literal(True, Type.BOOLEAN))) == []
