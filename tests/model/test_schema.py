"""Schemas refuse what could never be told apart."""

from __future__ import annotations

import pytest

from penstock.errors import CannotWindow, DuplicateName, TypeMismatch, UnknownName
from penstock.model.schema import Column, Schema
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type

A, TS = Column("a", Type.INT), Column("ts", Type.TIMESTAMP)


def test_a_column_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(UnknownName, match="there are: a, ts"):
        Schema((A, TS))["b"]


def test_a_name_can_be_used_once() -> None:
    with pytest.raises(DuplicateName, match="appears twice"):
        Schema((A, Column("a", Type.STRING)))


def test_names_of_operators_own_columns_are_taken() -> None:
    with pytest.raises(DuplicateName, match="call it wid_start"):
        Schema((Column("__wid_start", Type.BIGINT),))


def test_only_a_column_that_is_there_can_progress() -> None:
    with pytest.raises(UnknownName, match="cannot progress"):
        Schema.of((A,), ("ts",))


@pytest.mark.parametrize("kind", [TimestampKind.EXTERNAL, TimestampKind.INTERNAL])
def test_time_needs_a_column_that_can_hold_it(kind: TimestampKind) -> None:
    with pytest.raises(CannotWindow, match="it is STRING"):
        Stream("s", (Column("t", Type.STRING),), kind, "t")


def test_a_stamp_does_not_fit_into_a_small_number() -> None:
    with pytest.raises(TypeMismatch, match="too small"):
        Stream("s", (A,), TimestampKind.INTERNAL, "a")
    assert Stream("s", (TS,), TimestampKind.INTERNAL, "ts").arriving == ()
