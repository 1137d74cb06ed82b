"""Scalar functions and operators: which there are, what they take, what they give.

Names and meaning are Spark SQL's with ANSI mode off: `/` gives DOUBLE, dividing by zero gives NULL,
integers wrap around, a cast that fails gives NULL. Two things are stricter, because a standing
query should not run for days on a guess: a STRING is never read as a number or a time unasked, and
patterns, units and digits are constants. How a function is computed stands in `kernel/expressions`.
"""

from __future__ import annotations

import difflib

from penstock.errors import UnknownName
from penstock.model.signatures import Function
from penstock.model.types import Type

#: Characters of the longest text that a function makes; where it would be longer, it is NULL.
LONGEST_TEXT = 1 << 20

_function = Function.of

_ARITHMETIC = (
    _function(
        "+",
        "the sum; a time moved later",
        "NUMBER, NUMBER -> NUMBER",
        "TIMESTAMP, INTERVAL -> TIMESTAMP",
        "INTERVAL, TIMESTAMP -> TIMESTAMP",
        "INTERVAL, INTERVAL -> INTERVAL",
    ),
    _function(
        "-",
        "the difference; a time moved earlier; the time between",
        "NUMBER, NUMBER -> NUMBER",
        "TIMESTAMP, INTERVAL -> TIMESTAMP",
        "TIMESTAMP, TIMESTAMP -> INTERVAL",
        "INTERVAL, INTERVAL -> INTERVAL",
    ),
    _function(
        "*",
        "the product",
        "NUMBER, NUMBER -> NUMBER",
        "INTERVAL, NUMBER -> INTERVAL",
        "NUMBER, INTERVAL -> INTERVAL",
    ),
    _function(
        "/",
        "the quotient, never an integer one; NULL when dividing by zero",
        "DOUBLE, DOUBLE -> DOUBLE",
        "INTERVAL, NUMBER -> INTERVAL",
    ),
    _function(
        "%",
        "the remainder, with the sign of the dividend; NULL when dividing by zero",
        "NUMBER, NUMBER -> NUMBER",
    ),
    _function(
        "div",
        "the integer quotient, cut towards zero; NULL when dividing by zero",
        "BIGINT, BIGINT -> BIGINT",
        "INTERVAL, INTERVAL -> BIGINT",
    ),
    _function(
        "pmod",
        "the remainder, not negative when the divisor is positive",
        "NUMBER, NUMBER -> NUMBER",
    ),
    _function("negative", "the number negated", "NUMBER -> NUMBER", "INTERVAL -> INTERVAL"),
    _function("abs", "the number without its sign", "NUMBER -> NUMBER", "INTERVAL -> INTERVAL"),
    _function("sign", "-1, 0 or 1", "DOUBLE -> DOUBLE"),
    _function(
        "ceil", "the least integer that is not below it", "BIGINT -> BIGINT", "DOUBLE -> BIGINT"
    ),
    _function(
        "floor", "the greatest integer that is not above it", "BIGINT -> BIGINT", "DOUBLE -> BIGINT"
    ),
    _function(
        "round",
        "rounded to n decimals (0), halves away from zero",
        "NUMBER[, BIGINT] -> NUMBER",
        constants={1},
    ),
    _function("sqrt", "the square root; NaN for negative numbers", "DOUBLE -> DOUBLE"),
    _function("exp", "e to the power of it", "DOUBLE -> DOUBLE"),
    _function("ln", "the natural logarithm; NULL unless positive", "DOUBLE -> DOUBLE"),
    _function("log10", "the logarithm to base 10; NULL unless positive", "DOUBLE -> DOUBLE"),
    _function("log2", "the logarithm to base 2; NULL unless positive", "DOUBLE -> DOUBLE"),
    _function("power", "the first to the power of the second", "DOUBLE, DOUBLE -> DOUBLE"),
    _function("isnan", "whether it is NaN; FALSE for NULL", "DOUBLE -> BOOLEAN"),
    _function("&", "bitwise and", "INTEGER, INTEGER -> INTEGER"),
    _function("|", "bitwise or", "INTEGER, INTEGER -> INTEGER"),
    _function("^", "bitwise exclusive or", "INTEGER, INTEGER -> INTEGER"),
    _function("~", "every bit inverted", "INTEGER -> INTEGER"),
)

_LOGIC = (
    _function("=", "equal; NaN equals NaN", "SAME, SAME -> BOOLEAN"),
    _function("<>", "not equal", "SAME, SAME -> BOOLEAN"),
    _function("<", "less; NaN is greater than every other number", "SAME, SAME -> BOOLEAN"),
    _function("<=", "less or equal", "SAME, SAME -> BOOLEAN"),
    _function(">", "greater", "SAME, SAME -> BOOLEAN"),
    _function(">=", "greater or equal", "SAME, SAME -> BOOLEAN"),
    _function("<=>", "equal, where NULL equals NULL; never NULL", "SAME, SAME -> BOOLEAN"),
    _function("in", "whether the first equals one of the others", "SAME, SAME... -> BOOLEAN"),
    _function("and", "both hold; NULL where that is not known", "BOOLEAN, BOOLEAN -> BOOLEAN"),
    _function("or", "one holds; NULL where that is not known", "BOOLEAN, BOOLEAN -> BOOLEAN"),
    _function("not", "it does not hold", "BOOLEAN -> BOOLEAN"),
    _function("is_null", "whether it is NULL", "ANY -> BOOLEAN"),
    _function("is_not_null", "whether it is not NULL", "ANY -> BOOLEAN"),
    _function("coalesce", "the first that is not NULL", "SAME... -> SAME"),
    _function("nullif", "the first, or NULL where both are equal", "SAME, SAME -> SAME"),
    _function(
        "if", "the second where the first holds, else the third", "BOOLEAN, SAME, SAME -> SAME"
    ),
    _function("greatest", "the greatest that is not NULL", "SAME, SAME... -> SAME"),
    _function("least", "the least that is not NULL", "SAME, SAME... -> SAME"),
)

_TEXT = (
    _function("||", "both as text, concatenated", "TEXT, TEXT -> STRING"),
    _function("concat", "all as text, concatenated; NULL if one is", "TEXT... -> STRING"),
    _function(
        "concat_ws",
        "all that are not NULL as text, with the first between them",
        "STRING, TEXT... -> STRING",
    ),
    _function(
        "like",
        "matches a pattern: % any text, _ one character, \\ (or the third) escapes",
        "STRING, STRING[, STRING] -> BOOLEAN",
        constants={1, 2},
    ),
    _function(
        "ilike", "like, whatever the case", "STRING, STRING[, STRING] -> BOOLEAN", constants={1, 2}
    ),
    _function(
        "rlike",
        "contains a match of a regular expression",
        "STRING, STRING -> BOOLEAN",
        constants={1},
    ),
    _function("upper", "in upper case", "STRING -> STRING"),
    _function("lower", "in lower case", "STRING -> STRING"),
    _function("length", "the number of characters, or bytes", "STRING -> INT", "BINARY -> INT"),
    _function("trim", "without the spaces on both ends", "STRING -> STRING"),
    _function("ltrim", "without the spaces in front", "STRING -> STRING"),
    _function("rtrim", "without the spaces behind", "STRING -> STRING"),
    _function(
        "btrim", "without the characters of the second on both ends", "STRING[, STRING] -> STRING"
    ),
    _function(
        "substring",
        "from a position, counted from 1 or, if negative, from the end; and how many characters",
        "STRING, BIGINT[, BIGINT] -> STRING",
    ),
    _function("left", "the first n characters", "STRING, BIGINT -> STRING"),
    _function("right", "the last n characters", "STRING, BIGINT -> STRING"),
    _function(
        "replace",
        "every occurrence of the second replaced by the third (nothing)",
        "STRING, STRING[, STRING] -> STRING",
    ),
    _function("contains", "whether the second occurs in the first", "STRING, STRING -> BOOLEAN"),
    _function(
        "startswith", "whether the first begins with the second", "STRING, STRING -> BOOLEAN"
    ),
    _function("endswith", "whether the first ends with the second", "STRING, STRING -> BOOLEAN"),
    _function(
        "lpad", "padded on the left, or cut, to n characters", "STRING, BIGINT[, STRING] -> STRING"
    ),
    _function(
        "rpad", "padded on the right, or cut, to n characters", "STRING, BIGINT[, STRING] -> STRING"
    ),
    _function("repeat", "repeated n times", "STRING, BIGINT -> STRING"),
    _function("reverse", "backwards", "STRING -> STRING"),
    _function(
        "split_part",
        "the n-th part between separators, from the end if negative; '' if there is none",
        "STRING, STRING, BIGINT -> STRING",
    ),
)

_TIME = (
    _function("year", "the year", "TIMESTAMP -> INT"),
    _function("quarter", "the quarter, 1 to 4", "TIMESTAMP -> INT"),
    _function("month", "the month, 1 to 12", "TIMESTAMP -> INT"),
    _function("weekofyear", "the ISO week, 1 to 53", "TIMESTAMP -> INT"),
    _function("dayofyear", "the day of the year, 1 to 366", "TIMESTAMP -> INT"),
    _function("dayofmonth", "the day of the month, 1 to 31", "TIMESTAMP -> INT"),
    _function("dayofweek", "the day of the week: Sunday is 1, Saturday 7", "TIMESTAMP -> INT"),
    _function("weekday", "the day of the week: Monday is 0, Sunday 6", "TIMESTAMP -> INT"),
    _function("hour", "the hour, 0 to 23", "TIMESTAMP -> INT"),
    _function("minute", "the minute, 0 to 59", "TIMESTAMP -> INT"),
    _function("second", "the second, 0 to 59", "TIMESTAMP -> INT"),
    _function(
        "date_trunc",
        "cut down to a unit: year, quarter, month, week (from Monday), day, hour, … microsecond",
        "STRING, TIMESTAMP -> TIMESTAMP",
        constants={0},
    ),
    _function("unix_seconds", "whole seconds since 1970", "TIMESTAMP -> BIGINT"),
    _function("unix_millis", "whole milliseconds since 1970", "TIMESTAMP -> BIGINT"),
    _function("unix_micros", "microseconds since 1970", "TIMESTAMP -> BIGINT"),
    _function(
        "timestamp_seconds",
        "the time so many seconds after 1970",
        "BIGINT -> TIMESTAMP",
        "DOUBLE -> TIMESTAMP",
    ),
    _function(
        "timestamp_millis", "the time so many milliseconds after 1970", "BIGINT -> TIMESTAMP"
    ),
    _function(
        "timestamp_micros", "the time so many microseconds after 1970", "BIGINT -> TIMESTAMP"
    ),
    _function(
        "to_date", "the date; NULL where the text is not one", "STRING -> DATE", "TIMESTAMP -> DATE"
    ),
    _function(
        "to_timestamp",
        "the timestamp; NULL where the text is not one",
        "STRING -> TIMESTAMP",
        "TIMESTAMP -> TIMESTAMP",
    ),
)

#: In the order the documentation shows them.
FAMILIES = {"arithmetic": _ARITHMETIC, "logic": _LOGIC, "text": _TEXT, "time": _TIME}

#: Every function by its canonical name.
FUNCTIONS: dict[str, Function] = {
    function.name: function for family in FAMILIES.values() for function in family
}

#: Other spellings of the same function.
ALIASES = {
    "==": "=",
    "!=": "<>",
    "!": "not",
    "isnull": "is_null",
    "isnotnull": "is_not_null",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "mod": "%",
    "pow": "power",
    "signum": "sign",
    "ceiling": "ceil",
    "regexp": "rlike",
    "regexp_like": "rlike",
    "ucase": "upper",
    "lcase": "lower",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "substr": "substring",
    "day": "dayofmonth",
    "unix_timestamp": "unix_seconds",
    "date": "to_date",
}


def canonical(name: str) -> str:
    """The one name under which a function is known, however it was spelled; unknown ones stay.

    >>> canonical("CHAR_LENGTH"), canonical("!="), canonical("Upper")
    ('length', '<>', 'upper')
    """
    lower = name.lower()
    return ALIASES.get(lower, lower)


def lookup(name: str) -> Function:
    """The function of that name; UnknownName with the nearest ones if there is none."""
    try:
        return FUNCTIONS[canonical(name)]
    except KeyError:
        raise UnknownName(f"no function `{name}`", hint=_nearest(name.lower())) from None


def _nearest(name: str) -> str:
    """The way out: the functions spelled most like it; only if there is none, all of them."""
    words = [n for n in (*FUNCTIONS, *ALIASES) if n[0].isalpha()]
    near = difflib.get_close_matches(name, words, n=3)
    if near:
        return f"did you mean {' or '.join(f'`{n}`' for n in near)}?"
    return f"there are: {', '.join(n for n in FUNCTIONS if n[0].isalpha())}"


def result_type(function: str, types: tuple[Type, ...]) -> Type:
    """The type a call gives.

    >>> result_type("/", (Type.INT, Type.INT)), result_type("+", (Type.INT, Type.BIGINT))
    (<Type.DOUBLE: 'DOUBLE'>, <Type.BIGINT: 'BIGINT'>)
    """
    return lookup(function).match(types).result
