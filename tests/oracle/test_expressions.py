"""The oracle's expressions, against values worked out by hand from Spark SQL's rules."""

from __future__ import annotations

import math

import pytest

from penstock.model.expressions import Call, Case, Cast, Literal
from penstock.model.functions import FUNCTIONS
from penstock.model.timestamps import DAY, HOUR, MINUTE, SECOND
from penstock.model.types import Type
from penstock.oracle.casts import read_moment
from penstock.oracle.expressions import LENIENT, STRICT, TYPED, value_of
from penstock.oracle.nested import NESTED

NULL = Literal(None, Type.NULL)
NAN = math.nan


def literal(value) -> Literal:
    """A constant of the type its Python value suggests."""
    if isinstance(value, Literal):
        return value
    types = {bool: Type.BOOLEAN, int: Type.INT, float: Type.DOUBLE, str: Type.STRING}
    return NULL if value is None else Literal(value, types[type(value)])


def compute(function, *args):
    return value_of(Call(function, tuple(map(literal, args))), {})


def interval(ticks):
    return Literal(ticks, Type.INTERVAL)


def moment(text):
    return Literal(read_moment(text), Type.TIMESTAMP)


def test_every_function_of_the_model_is_known():
    assert set(FUNCTIONS) == set(LENIENT) | set(STRICT) | set(TYPED) | set(NESTED)


TRUTH = [
    # left, right, and, or
    (True, True, True, True),
    (True, False, False, True),
    (True, None, None, True),
    (False, False, False, False),
    (False, None, False, None),
    (None, None, None, None),
]


@pytest.mark.parametrize(("left", "right", "both", "either"), TRUTH)
def test_logic_has_three_values(left, right, both, either):
    assert compute("and", left, right) is compute("and", right, left) is both
    assert compute("or", left, right) is compute("or", right, left) is either


CASES = [
    # arithmetic: `/` is never an integer division, nothing divides by zero, integers wrap
    (("/", 7, 2), 3.5),
    (("/", 7, 0), None),
    (("/", 7.0, 0.0), None),
    (("%", -7, 3), -1),
    (("%", 7, 0), None),
    (("div", -7, 2), -3),
    (("div", 7, 0), None),
    (("pmod", -7, 3), 2),
    (("+", 2**31 - 1, 1), -(2**31)),
    (("+", 1, 1.5), 2.5),
    (("+", 1, None), None),
    (("negative", -(2**31)), -(2**31)),
    (("round", 2.5), 3.0),
    (("round", -2.5), -3.0),
    (("round", 2.345, 2), 2.35),
    (("round", 25, -1), 30),
    (("floor", -1.5), -2),
    (("ceil", -1.5), -1),
    (("ln", 0.0), None),
    (("log10", 1000.0), pytest.approx(3.0)),
    (("power", 0.0, -1.0), math.inf),
    (("sign", -3), -1.0),
    # comparison: NaN equals itself and is the greatest, NULL spreads
    (("=", NAN, NAN), True),
    (("<", 1e300, NAN), True),
    (("=", 1, 1.0), True),
    (("=", None, None), None),
    (("<=>", None, None), True),
    (("<=>", 1, None), False),
    (("in", 1, 2, 1), True),
    (("in", 1, 2, None), None),
    (("in", 1, 1, None), True),
    (("in", None, 1), None),
    (("not", None), None),
    (("is_null", None), True),
    (("coalesce", None, 2, 3), 2),
    (("nullif", 1, 1), None),
    (("nullif", 1, None), 1),
    (("if", None, 1, 2), 2),
    (("greatest", 1, None, 3), 3),
    (("least", None, None), None),
    (("greatest", 1.0, NAN), pytest.approx(NAN, nan_ok=True)),
    # text
    (("||", "a", 1), "a1"),
    (("concat", "a", None), None),
    (("concat_ws", "-", "a", None, 2), "a-2"),
    (("like", "abc", "a%"), True),
    (("like", "a%c", "a\\%c"), True),
    (("like", "abc", "a\\%c"), False),
    (("like", "a\nc", "a_c"), True),
    (("ilike", "ABC", "a_c"), True),
    (("rlike", "abc", "b"), True),
    (("substring", "Spark SQL", 5), "k SQL"),
    (("substring", "Spark SQL", -3), "SQL"),
    (("substring", "Spark SQL", 5, 1), "k"),
    (("substring", "abc", -5, 3), "a"),
    (("substring", "abc", 0, 2), "ab"),
    (("left", "abc", -1), ""),
    (("right", "abc", 2), "bc"),
    (("lpad", "hi", 5, "??"), "???hi"),
    (("rpad", "hi", 1, "??"), "h"),
    (("replace", "ABCabc", "abc", "DEF"), "ABCDEF"),
    (("split_part", "11.12.13", ".", 3), "13"),
    (("split_part", "11.12.13", ".", -1), "13"),
    (("split_part", "11.12.13", ".", 4), ""),
    (("length", "Spark SQL "), 10),
    # time
    (("+", moment("2024-01-31"), interval(HOUR)), read_moment("2024-01-31 01:00")),
    (("-", moment("2024-01-31"), moment("2024-01-30")), DAY),
    (("*", interval(3), 0.5), 2),
    (("/", interval(MINUTE), 4), 15 * SECOND),
    (("/", interval(MINUTE), 0), None),
    (("year", moment("1969-12-31 23:59:59")), 1969),
    (("dayofweek", moment("2009-07-30")), 5),
    (("weekday", moment("2009-07-30")), 3),
    (("weekofyear", moment("2008-02-20")), 8),
    (("date_trunc", "week", moment("2024-01-31 10:20")), read_moment("2024-01-29")),
    (("date_trunc", "quarter", moment("2024-06-30 10:20")), read_moment("2024-04-01")),
    (("unix_seconds", moment("1969-12-31 23:59:59.5")), -1),
    (("to_date", "1970-02-01 10:00"), 31),
    (("to_timestamp", "31.1.2024"), None),
]


@pytest.mark.parametrize(("call", "wanted"), CASES, ids=lambda part: str(part)[:60])
def test_functions_compute_what_spark_does(call, wanted):
    found = compute(*call)
    assert found == wanted
    assert isinstance(found, bool) == isinstance(wanted, bool)


CASTS = [
    (literal(" 12 "), Type.INT, 12),
    (literal("12.9"), Type.INT, 12),
    (literal("twelve"), Type.INT, None),
    (literal("300"), Type.TINYINT, None),
    (literal(300), Type.TINYINT, 44),
    (literal(-1.9), Type.INT, -1),
    (literal(1e20), Type.INT, 2**31 - 1),
    (literal(1e20), Type.BIGINT, 2**63 - 1),
    (literal(NAN), Type.INT, 0),
    (literal("1e3"), Type.DOUBLE, 1000.0),
    (literal(0.1), Type.FLOAT, 0.10000000149011612),
    (literal(True), Type.INT, 1),
    (literal("yes"), Type.BOOLEAN, True),
    (literal("perhaps"), Type.BOOLEAN, None),
    (literal(1e7), Type.STRING, "1.0E7"),
    (literal(-0.00012), Type.STRING, "-1.2E-4"),
    (literal(12.5), Type.STRING, "12.5"),
    (literal(False), Type.STRING, "false"),
    (moment("2024-01-31 10:00:00.50"), Type.STRING, "2024-01-31 10:00:00.5"),
    (literal("2024-01-31T10:00:00+02:00"), Type.TIMESTAMP, read_moment("2024-01-31 08:00")),
    (literal("2024-02-30"), Type.DATE, None),
    (moment("1969-12-31 23:00"), Type.DATE, -1),
    (moment("1970-01-01 00:00:01.5"), Type.BIGINT, 1),
    (moment("1970-01-01 00:00:01.5"), Type.DOUBLE, 1.5),
    (literal(2), Type.TIMESTAMP, 2 * SECOND),
    (NULL, Type.INT, None),
]


@pytest.mark.parametrize(("value", "to", "wanted"), CASTS, ids=str)
def test_casts_give_what_spark_does(value, to, wanted):
    found = value_of(Cast(value, to), {})
    assert found == wanted
    assert type(found) is type(wanted)


def test_case_takes_the_first_branch_that_holds_and_widens_it():
    branches = ((literal(None), literal(1)), (literal(True), literal(2)))
    assert value_of(Case(branches, literal(3.5)), {}) == 2.0
    assert isinstance(value_of(Case(branches, literal(3.5)), {}), float)
    assert value_of(Case(branches[:1]), {}) is None
