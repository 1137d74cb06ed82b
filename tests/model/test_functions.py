"""Which functions there are, and what a call gives or why it is refused."""

from __future__ import annotations

import pytest

from penstock.errors import TypeMismatch, UnknownName
from penstock.model.functions import ALIASES, FUNCTIONS, canonical, lookup, result_type
from penstock.model.signatures import Signature
from penstock.model.types import Type

T = Type


@pytest.mark.parametrize(
    ("function", "types", "result"),
    [
        ("+", (T.TINYINT, T.SMALLINT), T.SMALLINT),
        ("+", (T.INT, T.BIGINT), T.BIGINT),
        ("+", (T.BIGINT, T.FLOAT), T.DOUBLE),
        ("+", (T.NULL, T.INT), T.INT),
        ("+", (T.NULL, T.NULL), T.DOUBLE),
        ("/", (T.INT, T.INT), T.DOUBLE),
        ("div", (T.INT, T.INT), T.BIGINT),
        ("+", (T.TIMESTAMP, T.INTERVAL), T.TIMESTAMP),
        ("+", (T.INTERVAL, T.TIMESTAMP), T.TIMESTAMP),
        ("-", (T.TIMESTAMP, T.TIMESTAMP), T.INTERVAL),
        ("-", (T.DATE, T.DATE), T.INTERVAL),
        ("-", (T.TIMESTAMP, T.INTERVAL), T.TIMESTAMP),
        ("*", (T.INT, T.INTERVAL), T.INTERVAL),
        ("=", (T.DATE, T.TIMESTAMP), T.BOOLEAN),
        ("coalesce", (T.NULL, T.INT, T.DOUBLE), T.DOUBLE),
        ("floor", (T.DOUBLE,), T.BIGINT),
        ("round", (T.FLOAT, T.INT), T.FLOAT),
        ("concat", (T.STRING, T.INT, T.DATE), T.STRING),
        ("hour", (T.DATE,), T.INT),
    ],
)
def test_a_call_gives_the_type_that_spark_gives(function, types, result):
    assert result_type(function, types) is result


@pytest.mark.parametrize(
    ("function", "types", "message", "way_out"),
    [
        ("+", (T.STRING, T.INT), "`+` cannot take STRING and INT", "CAST("),
        ("=", (T.STRING, T.TIMESTAMP), "cannot take STRING and TIMESTAMP", "TIMESTAMP '…'"),
        ("<", (T.DATE, T.STRING), "cannot take DATE and STRING", "DATE '…'"),
        ("+", (T.TIMESTAMP, T.INT), "cannot take TIMESTAMP and INT", "INTERVAL"),
        ("-", (T.INTERVAL, T.TIMESTAMP), "cannot take INTERVAL and TIMESTAMP", "it takes number"),
        ("substring", (T.STRING,), "cannot take 1 argument", "STRING, BIGINT[, BIGINT]"),
        ("upper", (), "cannot take no arguments", "it takes STRING -> STRING"),
        ("&", (T.DOUBLE, T.INT), "cannot take DOUBLE and INT", "whole number, whole number"),
        ("concat", (T.BINARY,), "cannot take BINARY", "printable value..."),
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_a_way_out(function, types, message, way_out):
    with pytest.raises(TypeMismatch) as caught:
        result_type(function, types)
    assert message in caught.value.message
    assert way_out in str(caught.value.hint)


def test_an_unknown_function_is_refused_with_the_nearest_ones():
    with pytest.raises(UnknownName, match=r"no function `uper`\n  did you mean `upper`"):
        lookup("uper")


def test_a_name_like_no_other_is_answered_with_all_functions():
    with pytest.raises(UnknownName, match=r"there are: .*substring"):
        lookup("zzzzzzzzzzz")


@pytest.mark.parametrize(
    ("written", "known"), [("UCASE", "upper"), ("pow", "power"), ("!=", "<>"), ("nvl", "coalesce")]
)
def test_other_spellings_mean_the_same_function(written, known):
    assert canonical(written) == known
    assert lookup(written) is FUNCTIONS[known]


def test_every_alias_stands_for_a_function_and_hides_none():
    assert set(ALIASES.values()) <= set(FUNCTIONS)
    assert not set(ALIASES) & set(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_a_signature_reads_the_same_when_it_is_printed(function):
    for signature in function.signatures:
        assert Signature.parse(str(signature)) == signature
