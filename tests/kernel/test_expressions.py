"""Compiled expressions: against values worked out by hand, a row-by-row twin, and DuckDB."""

from __future__ import annotations

import math

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import NotExecutable
from penstock.kernel.expressions import compile_columns, compile_expression, project
from penstock.kernel.expressions.compiler import BY_TYPE, FORMS
from penstock.kernel.expressions.long_text import TooMuchText
from penstock.kernel.types import polars_type
from penstock.model.expressions import Call, Case, Cast, Expression, Literal, Named, Ref
from penstock.model.functions import FUNCTIONS, LONGEST_TEXT
from penstock.model.timestamps import DAY, END, HOUR, SECOND
from penstock.model.types import Type
from penstock.oracle.casts import read_moment
from penstock.oracle.expressions import value_of
from tests.engine.draw import examples
from tests.kernel.random_expressions import APPROXIMATE, TYPES, decimal_calls, expressions, rows

NAN, INF = math.nan, math.inf
TEXT = Ref("s", Type.STRING)
SMALL = {bool: Type.BOOLEAN, int: Type.INT, float: Type.DOUBLE, str: Type.STRING}


def literal(value):
    if isinstance(value, Literal):
        return value
    return Literal(value, Type.NULL if value is None else SMALL[type(value)])


def big(value):
    return Literal(value, Type.BIGINT)


def ticks(value):
    return Literal(value, Type.TIMESTAMP)


def moment(text):
    return ticks(read_moment(text))


def interval(value):
    return Literal(value, Type.INTERVAL)


def values(expression, frame):
    """The expression's value for each row of the frame; DATE as days."""
    found = project(frame, [compile_expression(Named("result", expression))]).get_column("result")
    assert len(found) == frame.height
    assert found.dtype == polars_type(expression.type)
    return (found.to_physical() if found.dtype == pl.Date else found).to_list()


def computed(function, *args):
    """A call over columns that hold the arguments; constants stay constants."""
    literals = [literal(arg) for arg in args]
    constants = FUNCTIONS[function].constants
    refs: list[Expression] = []
    data = {"filler": pl.Series([0, 0])}
    for position, arg in enumerate(literals):
        if position in constants or arg.of is Type.NULL:
            refs.append(arg)
        else:
            name = f"c{position}"
            refs.append(Ref(name, arg.of))
            data[name] = pl.Series([arg.value] * 2, dtype=polars_type(arg.of))
    by_column = values(Call(function, tuple(refs)), pl.DataFrame(data))
    by_constant = values(Call(function, tuple(literals)), pl.DataFrame({"filler": [0, 0]}))
    assert repr(by_column) == repr(by_constant)
    return by_column[0]


CASES = [
    (("+", Literal(127, Type.TINYINT), Literal(1, Type.TINYINT)), -128),
    (("*", 2**30, 4), 0),
    (("-", big(-(2**63)), 1), 2**63 - 1),
    (("negative", big(-(2**63))), -(2**63)),
    (("/", 7, 2), 3.5),
    (("/", 32767, 5), 6553.4),
    (("/", 7, 0), None),
    (("/", 7.0, -0.0), None),
    (("%", -7, 3), -1),
    (("%", 7, -3), 1),
    (("%", 7, 0), None),
    (("%", 5.3, 0.1), math.fmod(5.3, 0.1)),
    (("%", -1e-20, 1.0), -1e-20),
    (("%", 5.0, INF), 5.0),
    (("%", 5.0, 0.0), None),
    (("div", -7, 2), -3),
    (("div", 7, -2), -3),
    (("div", -8, 2), -4),
    (("div", 7, 0), None),
    (("div", interval(DAY), interval(HOUR)), 24),
    (("pmod", -7, 3), 2),
    (("pmod", -7, -3), -1),
    (("round", 2.5), 3.0),
    (("round", -2.5), -3.0),
    (("round", 1.005, 2), 1.01),
    (("round", 2.675, 2), 2.68),
    (("round", 1e300, 2), 1e300),
    (("round", INF, 2), INF),
    (("round", 1250.0, -2), 1300.0),
    (("round", 25, -1), 30),
    (("round", -25, -1), -30),
    (("round", 25, -30), 0),
    (("floor", -1.5), -2),
    (("ceil", -1.5), -1),
    (("floor", 1e30), 2**63 - 1),
    (("log10", 1000.0), 3.0),
    (("ln", 0.0), None),
    (("log2", -1.0), None),
    (("isnan", None), False),
    (("=", NAN, NAN), True),
    (("<", 1e300, NAN), True),
    (("=", 0.0, -0.0), True),
    (("=", None, 1), None),
    (("<=>", None, None), True),
    (("<=>", 1, None), False),
    (("in", 1, 2, 1), True),
    (("in", 1, 2, None), None),
    (("in", None, 1), None),
    (("and", False, None), False),
    (("and", True, None), None),
    (("or", True, None), True),
    (("or", False, None), None),
    (("if", None, 1, 2), 2),
    (("nullif", 1, 1), None),
    (("nullif", 1, None), 1),
    (("greatest", 1, None, 3), 3),
    (("least", 1.0, NAN), 1.0),
    (("||", "a", 1.0), "a1.0"),
    (("concat", "a", None), None),
    (("concat_ws", "-", None, "a", None, 2), "a-2"),
    (("concat_ws", "-", None, None), ""),
    (("like", "abc", "a%"), True),
    (("like", "abc", "b%"), False),
    (("like", "a%c", "a\\%c"), True),
    (("like", "abc", "a\\%c"), False),
    (("like", "50% off", "50!% %", "!"), True),
    (("like", "a.c", "a.c"), True),
    (("like", "abc", "a.c"), False),
    (("like", "a\nb", "a_b"), True),
    (("ilike", "ABC", "a_c"), True),
    (("rlike", "abc", "^b"), False),
    (("substring", "Spark SQL", 5), "k SQL"),
    (("substring", "Spark SQL", -3), "SQL"),
    (("substring", "Spark SQL", 5, 1), "k"),
    (("substring", "abc", 0, 2), "ab"),
    (("substring", "abc", -5, 3), "a"),
    (("substring", "abc", 2, -1), ""),
    (("substring", "abc", 7), ""),
    (("substring", "abc", 1, None), None),
    (("substring", "abc", big(2**63 - 1), big(2**63 - 1)), ""),
    (("substring", "ñandú", 1, 2), "ña"),
    (("left", "abc", -1), ""),
    (("right", "abc", 2), "bc"),
    (("lpad", "hi", 5, "?!"), "?!?hi"),
    (("lpad", "hi", 1, "?"), "h"),
    (("rpad", "hi", 5, ""), "hi"),
    (("lpad", "hi", None, "?"), None),
    (("replace", "aXbX", "X", "yy"), "ayybyy"),
    (("replace", "abc", "", "x"), "abc"),
    (("replace", "abc", "b"), "ac"),
    (("repeat", "", big(2**63 - 1)), ""),
    (("repeat", "ab", big(2**63 - 1)), None),
    (("repeat", "ab", LONGEST_TEXT // 2), "ab" * (LONGEST_TEXT // 2)),
    (("repeat", "ab", LONGEST_TEXT // 2 + 1), None),
    (("repeat", None, 5), None),
    (("lpad", "hi", big(2**63 - 1)), None),
    (("rpad", "hi", big(2**63 - 1), "xyz"), None),
    (("rpad", "hi", big(2**63 - 1), ""), "hi"),
    (("rpad", "hi", LONGEST_TEXT), "hi".ljust(LONGEST_TEXT)),
    (("lpad", "hi", LONGEST_TEXT, "ä"), "hi".rjust(LONGEST_TEXT, "ä")),
    (("lpad", "x" * LONGEST_TEXT, LONGEST_TEXT + 1, "y"), None),
    (("||", "x" * LONGEST_TEXT, ""), "x" * LONGEST_TEXT),
    (("||", "x" * LONGEST_TEXT, 1), None),
    (("concat", "x" * LONGEST_TEXT, "y", "z"), None),
    (("concat_ws", "-", "x" * LONGEST_TEXT, None), "x" * LONGEST_TEXT),
    (("concat_ws", "-", "x" * LONGEST_TEXT, ""), None),
    (("replace", "ab" * 2000, "a", "x" * 2000), None),
    (("replace", "x" * LONGEST_TEXT, "x"), ""),
    (("btrim", "xxaxx", "x"), "a"),
    (("trim", " \ta "), "\ta"),
    (("reverse", "ab"), "ba"),
    (("split_part", "a.b.c", ".", -1), "c"),
    (("split_part", "a.b.c", ".", 4), ""),
    (("split_part", "a.b.c", ".", big(-(2**63))), ""),
    (("hour", ticks(-1)), 23),
    (("second", ticks(-1)), 59),
    (("year", moment("1969-12-31 23:59:59")), 1969),
    (("year", ticks(2**63 - 1)), None),
    (("year", ticks(END)), 148108),
    (("dayofweek", moment("2009-07-30")), 5),
    (("weekday", moment("1969-12-28")), 6),
    (("weekofyear", moment("2008-02-20")), 8),
    (("date_trunc", "HOUR", ticks(-1)), -HOUR),
    (("date_trunc", "week", ticks(0)), -3 * DAY),
    (("date_trunc", "MM", ticks(-1)), -31 * DAY),
    (("date_trunc", "quarter", moment("2024-06-30 10:20")), read_moment("2024-04-01")),
    (("unix_seconds", ticks(-1)), -1),
    (("timestamp_seconds", 1.5), 1_500_000),
    (("timestamp_seconds", NAN), None),
    (("timestamp_seconds", Literal(4_611_686_018_427, Type.BIGINT)), 4_611_686_018_427_000_000),
    (("timestamp_seconds", Literal(4_611_686_018_427 + 1, Type.BIGINT)), None),
    (("timestamp_millis", Literal(-(1 << 60), Type.BIGINT)), None),
    (("-", moment("2024-03-01"), moment("2024-02-28")), 2 * DAY),
    (("*", interval(3), 0.5), 2),
    (("*", interval(3), 1e300), None),
    (("/", interval(HOUR), 0), None),
    (("/", interval(-3), 2), -2),
    (("/", interval(0), big(-(2**63))), 0),
    (("/", interval(2**62 + 1), big(2**63 - 1)), 1),
    (("/", interval(-(2**63)), big(2**63 - 1)), -1),
    (("/", interval(HOUR), INF), 0),
    (("pmod", Literal(-0.25, Type.FLOAT), Literal(4_194_305.0, Type.FLOAT)), 0.0),
    (("round", Literal(-(2**63), Type.BIGINT), -1), 2**63 - 2),
    (("to_date", "1970-02-01 and so on"), 31),
    (("to_date", "1970-02 and so on"), None),
    (("to_date", "1000"), -354_285),
]


@pytest.mark.parametrize(("call", "wanted"), CASES, ids=lambda part: str(part)[:60])
def test_functions_compute_what_spark_does(call, wanted):
    found = computed(*call)
    assert found == wanted
    assert type(found) is type(wanted)


def test_the_greatest_number_is_nan():
    assert math.isnan(computed("greatest", 1.0, NAN))


CASTS = [
    (Literal(" 12.9 ", Type.STRING), Type.INT, 12),
    (Literal("1e3", Type.STRING), Type.INT, None),
    (Literal("300", Type.STRING), Type.TINYINT, None),
    (Literal(300, Type.INT), Type.TINYINT, 44),
    (Literal(1e20, Type.DOUBLE), Type.INT, 2**31 - 1),
    (Literal(1e20, Type.DOUBLE), Type.TINYINT, -1),
    (Literal(NAN, Type.DOUBLE), Type.BIGINT, 0),
    (Literal(NAN, Type.DOUBLE), Type.BOOLEAN, True),
    (Literal(" Yes", Type.STRING), Type.BOOLEAN, True),
    (Literal("perhaps", Type.STRING), Type.BOOLEAN, None),
    (Literal("-inf", Type.STRING), Type.DOUBLE, -INF),
    (Literal(" a ", Type.STRING), Type.BINARY, b" a "),
    (Literal(0.1, Type.FLOAT), Type.STRING, "0.1"),
    (Literal(1e7, Type.DOUBLE), Type.STRING, "1.0E7"),
    (Literal(-1.5e-10, Type.DOUBLE), Type.STRING, "-1.5E-10"),
    (Literal(1.25e300, Type.DOUBLE), Type.STRING, "1.25E300"),
    (Literal(-INF, Type.DOUBLE), Type.STRING, "-Infinity"),
    (Literal(0.001, Type.DOUBLE), Type.STRING, "0.001"),
    (ticks(-500_000), Type.STRING, "1969-12-31 23:59:59.5"),
    (ticks(0), Type.STRING, "1970-01-01 00:00:00"),
    (Literal(-1, Type.DATE), Type.STRING, "1969-12-31"),
    (interval(-(DAY + SECOND)), Type.STRING, "INTERVAL '-1 00:00:01' DAY TO SECOND"),
    (ticks(-1), Type.DATE, -1),
    (ticks(-1), Type.BIGINT, -1),
    (ticks(1_500_000), Type.DOUBLE, 1.5),
    (Literal(2, Type.INT), Type.TIMESTAMP, 2 * SECOND),
    (Literal("2024-02-30", Type.STRING), Type.DATE, None),
    (Literal("1970-1", Type.STRING), Type.DATE, 0),
    (Literal("1970", Type.STRING), Type.TIMESTAMP, 0),
    (Literal("1970-01-02T00:00:00.5", Type.STRING), Type.TIMESTAMP, DAY + 500_000),
    (Literal("1970-01-01 01:00+01:00", Type.STRING), Type.TIMESTAMP, 0),
    (Literal("1970-01-01 00:00:61", Type.STRING), Type.TIMESTAMP, None),
    (Literal(None, Type.NULL), Type.DATE, None),
]


@pytest.mark.parametrize(("value", "to", "wanted"), CASTS, ids=str)
def test_casts_give_what_spark_does(value, to, wanted):
    frame = pl.DataFrame({"v": pl.Series([value.value, None], dtype=polars_type(Type.NULL))})
    if value.of is not Type.NULL:
        days = pl.Series([value.value, None], dtype=pl.Int32) if value.of is Type.DATE else None
        column = days if days is not None else pl.Series([value.value, None])
        frame = pl.DataFrame({"v": column.cast(polars_type(value.of))})
    assert values(Cast(Ref("v", value.of), to), frame) == [wanted, None]
    assert values(Cast(value, to), frame) == [wanted, wanted]


def test_every_function_of_the_model_can_be_computed_and_no_other():
    assert set(FORMS) | set(BY_TYPE) == set(FUNCTIONS)
    assert not set(FORMS) & set(BY_TYPE)


@pytest.mark.parametrize("height", [0, 1, 3])
def test_constants_are_repeated_for_every_row(height):
    rows_ = pl.DataFrame({"a": range(height)}, schema={"a": pl.Int64})
    columns = [Named("one", literal(1)), Named("two", Call("/", (literal(4), literal(2))))]
    assert compile_columns(columns)(rows_).shape == (height, 2)


def test_a_column_can_be_renamed_and_computed_anew_at_once():
    rows_ = pl.DataFrame({"a": [1], "b": [2]})
    a, b = Ref("a", Type.BIGINT), Ref("b", Type.BIGINT)
    assert compile_columns([Named("b", a), Named("a", b)])(rows_).rows() == [(1, 2)]


def test_a_constant_compared_with_a_case_that_took_one_branch_keeps_all_rows():
    same = Case(((Call(">", (Ref("a", Type.BIGINT), big(0))), big(1)),), big(2))
    frame = pl.DataFrame({"a": [1, 1, 1]})
    assert values(Call("=", (big(1), same)), frame) == [True, True, True]


def test_case_takes_the_first_branch_that_holds():
    a = Ref("a", Type.BIGINT)
    case = Case(
        ((Call(">", (a, big(2))), literal("many")), (Call(">", (a, big(1))), literal("two")))
    )
    assert values(case, pl.DataFrame({"a": [3, 2, 1, None]})) == ["many", "two", None, None]


def test_nested_calls_compute_each_argument_once():
    expression: Expression = Ref("a", Type.BIGINT)
    for _ in range(30):  # computed anew at every mention, this would take longer than the universe
        expression = Call("div", (expression, big(1)))
    assert values(expression, pl.DataFrame({"a": [7, None]})) == [7, None]


def test_a_regular_expression_that_cannot_run_is_refused_when_it_is_compiled():
    with pytest.raises(NotExecutable, match="cannot run the regular expression"):
        compile_expression(Call("rlike", (Ref("s", Type.STRING), literal("(?=a)"))))


# --- against the row-by-row twin ----------------------------------------------------------------


def frame_of(drawn):
    """Rows as a block has them."""
    columns = {}
    for type_ in TYPES:
        column = [row[type_.name.lower()] for row in drawn]
        if type_ is Type.DATE:
            columns["date"] = pl.Series(column, dtype=pl.Int32).cast(pl.Date)
        else:
            columns[type_.name.lower()] = pl.Series(column, dtype=polars_type(type_))
    return pl.DataFrame(columns)


def assert_alike(found, wanted, context):
    if isinstance(found, float) and isinstance(wanted, float):
        assert found == wanted or (math.isnan(found) and math.isnan(wanted)), context
    else:
        assert (type(found), found) == (type(wanted), wanted), context


@pytest.mark.parametrize("to", [Type.DATE, Type.TIMESTAMP], ids=lambda to: to.name)
@pytest.mark.parametrize(
    "text",
    [
        *("2024", "2024-2", "2024-02-30", "2024-02-29", "2024 10", "2024-02-29 10", "0999-12-31"),
        *("2024-02-29T1:2", "2024-02-29 24:00", "2024-02-29 10:00:60", "2024-02-29 10:00:00."),
        *("2024-02-29 10:00:00.1234567", "2024-02-29 10UTC", "2024-02-29 10:00Z", "2024Z"),
        *("2024-02-29 10:00+5", "2024-02-29 10:00-05:30", "2024-02-29 10:00+05:60"),
        *("2024-02-29 10:00+18:00", "2024-02-29 10:00+18:01", "2024-02-29 10:00-99", " 2024 "),
    ],
)
def test_times_in_text_are_read_as_by_the_row_by_row_twin(text, to):
    call = Cast(Ref("s", Type.STRING), to)
    frame = pl.DataFrame({"s": [text]})
    (found,) = values(call, frame)
    assert_alike(found, value_of(call, {"s": text}), text)


@examples(80)
@given(data=st.data(), drawn=rows())
def test_random_expressions_agree_with_the_row_by_row_twin(data, drawn):
    expression = data.draw(st.sampled_from(TYPES).flatmap(expressions) | decimal_calls())
    for row, found in zip(drawn, values(expression, frame_of(drawn)), strict=True):
        try:
            wanted = value_of(expression, row)
        except OverflowError:  # a year that Python's calendar does not reach
            continue
        assert_alike(found, wanted, f"{expression} for {row}")


@pytest.mark.parametrize("function", APPROXIMATE)
def test_transcendental_functions_agree_but_for_the_last_digit(function):
    numbers = [-2.5, -0.0, 0.0, 0.5, 1.0, 3.0, 700.0, NAN, None]
    two = function == "power"
    args = tuple(Ref(name, Type.DOUBLE) for name in ("x", "y")[: 1 + two])
    drawn = [{"x": x, "y": y} for x in numbers for y in ([-1.0, 0.5, 2.0] if two else [None])]
    frame = pl.DataFrame(drawn, schema={"x": pl.Float64, "y": pl.Float64})
    for row, found in zip(drawn, values(Call(function, args), frame), strict=True):
        wanted = value_of(Call(function, args), row)
        if wanted is None:
            assert found is None, row
        else:
            assert found == pytest.approx(wanted, rel=1e-14, nan_ok=True), row


# --- more than there is room for ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "length"),
    [
        (Call("repeat", (TEXT, literal(50_000))), 20),
        (Call("rpad", (TEXT, literal(900_000), literal("ab"))), 20),
        (Call("concat", (TEXT,) * 50), 20_000),
        (Call("replace", (TEXT, literal("x"), literal("y" * 1000))), 1000),
    ],
    ids=lambda part: getattr(part, "function", ""),
)
def test_more_text_than_memory_holds_is_an_error_with_a_way_out_and_no_abort(call, length):
    rows = pl.select(s=pl.repeat("x" * length, 3_000))
    with pytest.raises(TooMuchText) as refused:
        values(call, rows)
    assert "SET rows_per_step = 1000" in str(refused.value)
    assert "python_udf" not in str(refused.value)
    assert None not in values(call, rows.head(3))


# --- against DuckDB, where it means the same ----------------------------------------------------

LEFT, RIGHT = Ref("i", Type.INT), Ref("j", Type.INT)


@pytest.mark.parametrize(
    "expression",
    [
        Call("+", (LEFT, Call("*", (RIGHT, literal(3))))),
        Call("%", (LEFT, literal(7))),
        Call("<=", (LEFT, RIGHT)),
        Call("and", (Call(">", (LEFT, literal(0))), Call("<", (RIGHT, literal(0))))),
        Call("in", (LEFT, literal(1), RIGHT)),
        Call("coalesce", (LEFT, RIGHT, literal(0))),
        Call("nullif", (LEFT, RIGHT)),
        Call("greatest", (LEFT, RIGHT)),
        Call("upper", (TEXT,)),
        Call("length", (TEXT,)),
        Call("replace", (TEXT, literal("a"), literal("xy"))),
        Call("substring", (TEXT, literal(2), literal(2))),
        Call("lpad", (TEXT, literal(4), literal("*"))),
        Call("contains", (TEXT, literal("ab"))),
        Call("concat_ws", (literal("-"), TEXT, TEXT)),
        Case(((Call("is_null", (LEFT,)), literal("none")),), TEXT),
    ],
    ids=str,
)
def test_duckdb_gives_the_same(expression):
    data = {
        "i": [None, -20, -7, -1, 0, 1, 5, 7, 19],
        "j": [3, None, -7, 1, 0, -1, 5, 8, -19],
        "s": [None, "", "a", "ab", "aab", "ñab", "b a", "AB", "abcdef"],
    }
    frame = pl.DataFrame(data, schema={"i": pl.Int32, "j": pl.Int32, "s": pl.String})
    with duckdb.connect() as database:
        database.register("t", frame.to_arrow())
        wanted = [row[0] for row in database.execute(f"SELECT {expression} FROM t").fetchall()]
    assert values(expression, frame) == wanted
