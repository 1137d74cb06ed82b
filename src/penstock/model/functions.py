"""Scalar functions and operators: which there are, what they take, what they give.

Names and meaning are Spark SQL's with ANSI mode off: `/` gives DOUBLE, dividing by zero gives NULL,
integers wrap around, a cast that fails gives NULL. Two things are stricter, because a standing
query should not run for days on a guess: a STRING is never read as a number or a time unasked, and
patterns, units and digits are constants. How a function is computed stands in `kernel/expressions`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from functools import partial

from penstock.errors import UnknownName
from penstock.model.decimals import DECIMAL_FUNCTIONS, match_decimals
from penstock.model.nested_functions import NESTED, match_nested
from penstock.model.signatures import ScalarFunction, Signature, SignatureMatch
from penstock.model.types import Type

#: Characters of the longest text that a function makes; where it would be longer, it is NULL.
LONGEST_TEXT = 1 << 20

#: Name, what it takes and gives (one of these), what it is. A line that is indented goes on.
_ARITHMETIC = r"""
+         NUMBER, NUMBER -> NUMBER          the sum; a time moved later, a date by days
          DECIMAL, DECIMAL -> DECIMAL
          TIMESTAMP, INTERVAL -> TIMESTAMP
          INTERVAL, TIMESTAMP -> TIMESTAMP
          INTERVAL, INTERVAL -> INTERVAL
          TIMESTAMP_NTZ, INTERVAL -> TIMESTAMP_NTZ
          DATE, INT -> DATE
-         NUMBER, NUMBER -> NUMBER          the difference; a time moved earlier; the time between
          TIMESTAMP, INTERVAL -> TIMESTAMP
          TIMESTAMP, TIMESTAMP -> INTERVAL
          INTERVAL, INTERVAL -> INTERVAL
          TIMESTAMP_NTZ, INTERVAL -> TIMESTAMP_NTZ
          DATE, INT -> DATE
          DECIMAL, DECIMAL -> DECIMAL
*         NUMBER, NUMBER -> NUMBER          the product
          INTERVAL, NUMBER -> INTERVAL
          NUMBER, INTERVAL -> INTERVAL
          DECIMAL, DECIMAL -> DECIMAL
/         DOUBLE, DOUBLE -> DOUBLE          the quotient, never an integer one; NULL when dividing
          INTERVAL, NUMBER -> INTERVAL      by zero
          DECIMAL, DECIMAL -> DECIMAL
%         NUMBER, NUMBER -> NUMBER          the remainder, with the sign of the dividend; NULL when
                                            dividing by zero
div       BIGINT, BIGINT -> BIGINT          the integer quotient, cut towards zero; NULL when
          INTERVAL, INTERVAL -> BIGINT      dividing by zero
pmod      NUMBER, NUMBER -> NUMBER          the remainder, not negative when the divisor is positive
negative  NUMBER -> NUMBER                  the number negated
          INTERVAL -> INTERVAL
abs       NUMBER -> NUMBER                  the number without its sign
          INTERVAL -> INTERVAL
sign      DOUBLE -> DOUBLE                  -1, 0 or 1
ceil      BIGINT -> BIGINT                  the least integer that is not below it
          DOUBLE -> BIGINT
floor     BIGINT -> BIGINT                  the greatest integer that is not above it
          DOUBLE -> BIGINT
round     NUMBER[, BIGINT] -> NUMBER        rounded to n decimals (0), halves away from zero
sqrt      DOUBLE -> DOUBLE                  the square root; NaN for negative numbers
exp       DOUBLE -> DOUBLE                  e to the power of it
ln        DOUBLE -> DOUBLE                  the natural logarithm; NULL unless positive
log10     DOUBLE -> DOUBLE                  the logarithm to base 10; NULL unless positive
log2      DOUBLE -> DOUBLE                  the logarithm to base 2; NULL unless positive
power     DOUBLE, DOUBLE -> DOUBLE          the first to the power of the second
isnan     DOUBLE -> BOOLEAN                 whether it is NaN; FALSE for NULL
&         INTEGER, INTEGER -> INTEGER       bitwise and
|         INTEGER, INTEGER -> INTEGER       bitwise or
^         INTEGER, INTEGER -> INTEGER       bitwise exclusive or
~         INTEGER -> INTEGER                every bit inverted
"""

_LOGIC = r"""
=            EQUAL, EQUAL -> BOOLEAN         equal; NaN equals NaN
<>           EQUAL, EQUAL -> BOOLEAN         not equal
<            ORDERED, ORDERED -> BOOLEAN     less; NaN is greater than every other number
<=           ORDERED, ORDERED -> BOOLEAN     less or equal
>            ORDERED, ORDERED -> BOOLEAN     greater
>=           ORDERED, ORDERED -> BOOLEAN     greater or equal
<=>          EQUAL, EQUAL -> BOOLEAN         equal, where NULL equals NULL; never NULL
in           EQUAL, EQUAL... -> BOOLEAN      whether the first equals one of the others
and          BOOLEAN, BOOLEAN -> BOOLEAN     both hold; NULL where that is not known
or           BOOLEAN, BOOLEAN -> BOOLEAN     one holds; NULL where that is not known
not          BOOLEAN -> BOOLEAN              it does not hold
is_null      ANY -> BOOLEAN                  whether it is NULL
is_not_null  ANY -> BOOLEAN                  whether it is not NULL
coalesce     SAME... -> SAME                 the first that is not NULL
nullif       EQUAL, EQUAL -> EQUAL           the first, or NULL where both are equal
if           BOOLEAN, SAME, SAME -> SAME     the second where the first holds, else the third
greatest     ORDERED, ORDERED... -> ORDERED  the greatest that is not NULL
least        ORDERED, ORDERED... -> ORDERED  the least that is not NULL
"""

_TEXT = r"""
||          TEXT, TEXT -> STRING                 both as text, concatenated
concat      TEXT... -> STRING                    all as text, concatenated; NULL if one is
concat_ws   STRING, TEXT... -> STRING            all that are not NULL as text, with the first
                                                 between them
like        STRING, STRING[, STRING] -> BOOLEAN  matches a pattern: % any text, _ one character, \
                                                 (or the third) escapes
ilike       STRING, STRING[, STRING] -> BOOLEAN  like, whatever the case
rlike       STRING, STRING -> BOOLEAN            contains a match of a regular expression
upper       STRING -> STRING                     in upper case
lower       STRING -> STRING                     in lower case
length      STRING -> INT                        the number of characters, or bytes
            BINARY -> INT
trim        STRING -> STRING                     without the spaces on both ends
ltrim       STRING -> STRING                     without the spaces in front
rtrim       STRING -> STRING                     without the spaces behind
btrim       STRING[, STRING] -> STRING           without the characters of the second on both ends
substring   STRING, BIGINT[, BIGINT] -> STRING   from a position, counted from 1 or, if negative,
                                                 from the end; and how many characters
left        STRING, BIGINT -> STRING             the first n characters
right       STRING, BIGINT -> STRING             the last n characters
replace     STRING, STRING[, STRING] -> STRING   every occurrence of the second replaced by the
                                                 third (nothing)
contains    STRING, STRING -> BOOLEAN            whether the second occurs in the first
startswith  STRING, STRING -> BOOLEAN            whether the first begins with the second
endswith    STRING, STRING -> BOOLEAN            whether the first ends with the second
lpad        STRING, BIGINT[, STRING] -> STRING   padded on the left, or cut, to n characters
rpad        STRING, BIGINT[, STRING] -> STRING   padded on the right, or cut, to n characters
repeat      STRING, BIGINT -> STRING             repeated n times
reverse     STRING -> STRING                     backwards
split_part  STRING, STRING, BIGINT -> STRING     the n-th part between separators, from the end if
                                                 negative; '' if there is none
"""

_TIME = r"""
year               TIMESTAMP -> INT                the year
quarter            TIMESTAMP -> INT                the quarter, 1 to 4
month              TIMESTAMP -> INT                the month, 1 to 12
weekofyear         TIMESTAMP -> INT                the ISO week, 1 to 53
dayofyear          TIMESTAMP -> INT                the day of the year, 1 to 366
dayofmonth         TIMESTAMP -> INT                the day of the month, 1 to 31
dayofweek          TIMESTAMP -> INT                the day of the week: Sunday is 1, Saturday 7
weekday            TIMESTAMP -> INT                the day of the week: Monday is 0, Sunday 6
hour               TIMESTAMP -> INT                the hour, 0 to 23
minute             TIMESTAMP -> INT                the minute, 0 to 59
second             TIMESTAMP -> INT                the second, 0 to 59
date_trunc         STRING, TIMESTAMP[, STRING] -> TIMESTAMP  cut down to a unit: year, quarter,
                                                   month, week (from Monday), day, hour, …
                                                   microsecond, in the session's time zone, or in
                                                   that of the third
unix_seconds       TIMESTAMP -> BIGINT             whole seconds since 1970
unix_millis        TIMESTAMP -> BIGINT             whole milliseconds since 1970
unix_micros        TIMESTAMP -> BIGINT             microseconds since 1970
timestamp_seconds  BIGINT -> TIMESTAMP             the time so many seconds after 1970
                   DOUBLE -> TIMESTAMP
timestamp_millis   BIGINT -> TIMESTAMP             the time so many milliseconds after 1970
timestamp_micros   BIGINT -> TIMESTAMP             the time so many microseconds after 1970
to_date            STRING -> DATE                  the date; NULL where the text is not one
                   TIMESTAMP -> DATE
to_timestamp       STRING -> TIMESTAMP             the timestamp; NULL where the text is not one
                   TIMESTAMP -> TIMESTAMP
"""

#: Arguments that must be constants, by their positions.
_CONSTANTS = {
    "round": {1},
    "like": {1, 2},
    "ilike": {1, 2},
    "rlike": {1},
    "date_trunc": {0, 2},
    "get_field": {1},
}


def _functions(table: str) -> Iterator[ScalarFunction]:
    """The rows of a table, whose cells are at least two blanks apart."""
    for row in re.split(r"\n(?=\S)", table.strip()):
        name, *cells = re.split(r"\s{2,}", row)
        signatures = [Signature.parse(cell) for cell in cells if " -> " in cell]
        description = " ".join(cell for cell in cells if " -> " not in cell)
        yield ScalarFunction(
            name,
            description,
            tuple(signatures),
            frozenset(_CONSTANTS.get(name, ())),
            _special(name, table),
        )


def _special(name: str, table: str) -> Callable[[tuple[Type, ...]], SignatureMatch | None] | None:
    if table is NESTED:
        return partial(match_nested, name)
    return partial(match_decimals, name) if name in DECIMAL_FUNCTIONS else None


#: Every function by its canonical name.
FUNCTIONS: dict[str, ScalarFunction] = {
    function.name: function
    for table in (_ARITHMETIC, _LOGIC, _TEXT, _TIME, NESTED)
    for function in _functions(table)
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
    "cardinality": "size",
}


def canonical(name: str) -> str:
    """The one name under which a function is known, however it was spelled; unknown ones stay.

    >>> canonical("CHAR_LENGTH"), canonical("!="), canonical("Upper")
    ('length', '<>', 'upper')
    """
    lower = name.lower()
    return ALIASES.get(lower, lower)


def lookup(name: str) -> ScalarFunction:
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
