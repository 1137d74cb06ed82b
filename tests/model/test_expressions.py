"""Expressions are checked when they are built, and print as SQL."""

from __future__ import annotations

import pytest

from penstock.errors import TypeMismatch, UnknownName
from penstock.model.expressions import Call, Case, Cast, Literal, Named, Ref
from penstock.model.timestamps import DAY, MINUTE
from penstock.model.types import Type

A = Ref("a", Type.INT)
S = Ref("s", Type.STRING)
TS = Ref("ts", Type.TIMESTAMP)


def number(value):
    return Literal(value, Type.INT)


def text(value):
    return Literal(value, Type.STRING)


def call(function, *args):
    return Call(function, args)


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        (call("*", call("+", A, number(1)), number(2)), "(a + 1) * 2"),
        (call("negative", number(-1)), "-(-1)"),
        (call("-", A, number(-1)), "a - (-1)"),
        (call("not", call("is_null", A)), "NOT (a IS NULL)"),
        (call("is_not_null", A), "a IS NOT NULL"),
        (call("in", A, number(1), number(2)), "a IN (1, 2)"),
        (call("like", S, text("a!%"), text("!")), "s LIKE 'a!%' ESCAPE '!'"),
        (call("ucase", S), "upper(s)"),
        (text("it's"), "'it''s'"),
        (Literal(True, Type.BOOLEAN), "TRUE"),
        (Literal(None, Type.NULL), "NULL"),
        (Literal(-1, Type.DATE), "DATE '1969-12-31'"),
        (Literal(b"\x01\xff", Type.BINARY), "X'01ff'"),
        (Literal(float("nan"), Type.DOUBLE), "CAST('nan' AS DOUBLE)"),
        (Literal(DAY, Type.TIMESTAMP), "TIMESTAMP '1970-01-02 00:00:00'"),
        (Literal(90 * MINUTE, Type.INTERVAL), "INTERVAL 90 minutes"),
        (Cast(A, Type.STRING), "CAST(a AS STRING)"),
        (Case(((call(">", A, number(0)), S),)), "CASE WHEN a > 0 THEN s ELSE NULL END"),
        (Named("b", A), "a AS b"),
        (Named("a", A), "a"),
    ],
    ids=lambda part: str(part),
)
def test_an_expression_prints_as_sql(expression, printed):
    assert str(expression) == printed


def test_two_spellings_of_a_function_build_equal_expressions():
    assert call("POW", A, A) == call("power", A, A)


def test_an_expression_knows_the_columns_it_reads():
    assert call("+", A, call("length", S)).refs == {"a", "s"}


def test_branches_of_case_that_do_not_fit_are_refused():
    with pytest.raises(TypeMismatch, match="CASE give INT and STRING"):
        Case(((Literal(True, Type.BOOLEAN), S),), A)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: call("+", S, A), TypeMismatch, "cannot take STRING and INT"),
        (lambda: call("like", S, S), TypeMismatch, "`like` needs a constant here, and `s` is not"),
        (
            lambda: call("like", S, text("a"), text("!!")),
            TypeMismatch,
            "ESCAPE takes one character",
        ),
        (
            lambda: call("date_trunc", text("fortnight"), TS),
            UnknownName,
            "`fortnight` is not a unit",
        ),
        (lambda: Cast(Literal(1, Type.INTERVAL), Type.INT), TypeMismatch, "cannot be read as INT"),
        (lambda: Cast(Ref("d", Type.DATE), Type.INT), TypeMismatch, "CAST it to TIMESTAMP first"),
        (lambda: Cast(Ref("b", Type.BINARY), Type.STRING), TypeMismatch, "leave it as it is"),
    ],
)
def test_an_expression_that_makes_no_sense_is_refused_when_it_is_built(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_a_negative_constant_is_a_constant():
    assert call("round", A, call("negative", number(2))).type is Type.INT
