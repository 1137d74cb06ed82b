"""What the kernel does not know, as SQL for Spark.

The text is Spark's as it was written; columns in it are ours, and so are aggregates and group keys
behind an aggregate. They are cut out, bound, and become the call's arguments:

    sha2(concat(p.src, '-'), 256)    parts  sha2(concat( | , '-'), 256)    args  src

Spark's analyser says what type that has. Where we have none like it (a variant, say), only another
expression of Spark's can stand around it: `OnlySpark` goes up until one has a type of ours. So it
does from an array, map or struct to a part of it, for only that has to be sent on then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from penstock.errors import NotExecutable, QueryError, TypeMismatch, UnknownName
from penstock.model.expressions import Call, Expression, Ref, SparkCall
from penstock.model.functions import ALIASES, FUNCTIONS, canonical, lookup
from penstock.model.host_functions import HostFunctions
from penstock.model.schema import Column
from penstock.model.signatures import in_words
from penstock.model.spark_functions import SPARK_FUNCTIONS
from penstock.model.spark_sql import quoted
from penstock.model.types import ArrayType
from penstock.model.user_calls import UserCall
from penstock.sql.bind.context import Context
from penstock.sql.parse.grammar_explode import GENERATORS
from penstock.sql.parse.positions import span_of


class OnlySpark(NotExecutable):
    """Raised where only Spark can compute something; the cause is told if nothing comes of that."""

    def __init__(self, cause: QueryError) -> None:
        super().__init__(cause.message, hint=cause.hint)
        self.cause = cause


@contextmanager
def told_in_the_end() -> Iterator[None]:
    """Raise the cause, where nothing of Spark's stands around what only Spark can compute."""
    try:
        yield
    except OnlySpark as only:
        only.cause.position = only.cause.position or only.position
        raise only.cause from None


#: Functions whose value depends on when they are called.
MOMENTS = frozenset(
    ["current_timestamp", "current_date", "current_time", "now", "localtimestamp", "curdate"]
)
NOW = (
    "a continuous query has no single current time",
    "use the time of arrival: TIMESTAMP INTERNAL",
)

#: Why functions that give rows cannot stand in an expression.
GIVES_ROWS = (
    "explode and its like give rows, not a value",
    "write it in FROM: … LATERAL VIEW explode(array) t AS element; or as a column of SELECT",
)

#: What a part of a call is to us, bound; None: it is Spark's, and its parts are asked.
Ours = Callable[[exp.Expr], Expression | None]

#: Functions whose first argument may be a unit of time, written like a column.
_BY_UNIT = frozenset(
    ["timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff"]
)
_UNITS = re.compile(r"(YEAR|QUARTER|MONTH|WEEK|DAY|DAYOFYEAR|HOUR|MINUTE|(MILLI|MICRO)?SECOND)S?")

_OTHER_HOST = (
    "it is computed where rows are read by Spark: run the query there (penstock.Engine in Python, "
    "penstock run without --local)"
)


def is_unknown(name: str, arguments: int) -> bool:
    """Whether the kernel has no function of that name, or none of so many arguments."""
    function = FUNCTIONS.get(canonical(name))
    return function is None or not any(each.takes(arguments) for each in function.signatures)


def is_of_spark(name: str) -> bool:
    """Whether Spark has a function of that name which we do not have."""
    lower = name.lower()
    return lower in SPARK_FUNCTIONS and lower not in FUNCTIONS and lower not in ALIASES


def no_fields(value: Expression, name: str) -> TypeMismatch:
    """As it is said where a field is asked of what has none."""
    is_array = isinstance(value.type, ArrayType)
    return TypeMismatch(
        f"`{value}` is {value.type}, which has no field `{name}`",
        hint=f"{value}[0].{name} is that of one element" if is_array else "a STRUCT has fields",
    )


def no_function(name: str) -> UnknownName:
    """As it is said of a function that is neither ours nor Spark's."""
    try:
        found = lookup(name)
    except UnknownName as unknown:
        return unknown
    return UnknownName(
        f"no function `{name}` of so many arguments", hint=f"it takes {in_words(found.signatures)}"
    )


def spark_call(
    node: exp.Expr,
    ours: Ours,
    host: HostFunctions,
    context: Context,
    why: QueryError,
) -> SparkCall:
    """An expression as Spark computes it; `why` is the reason that the kernel cannot."""
    _refuse_inside(node, context)
    span = span_of(node)
    if span is None:
        raise why
    parts, args, at = [], list[Expression](), span.start
    for part, bound in _arguments(node, ours, context):
        place = span_of(part)
        assert place is not None
        parts.append(context.text[at : place.start])
        args.append(bound)
        at = place.end
    parts.append(context.text[at : span.end])
    texts = _tidy(parts)
    columns = _columns(args)
    names = [quoted(column.name) for column in columns]
    sql = "".join(f"{text}{name}" for text, name in zip(texts, [*names, ""], strict=True))
    try:
        found = host.type_of(sql, list(dict.fromkeys(columns)), context.names.time_zone)
    except UnknownName:
        # The nearest of our own functions, if it was one that was misspelt.
        raise (why if isinstance(why, UnknownName) else UnknownName(why.message)) from None
    if found.type is None:
        refused = NotExecutable(
            f"`{context.written(node)}` is {found.name}, which no column here can be",
            hint="use it inside another expression of Spark's that gives a plain value",
        )
        raise OnlySpark(refused)
    return SparkCall(tuple(texts), tuple(args), found.type, context.names.time_zone)


#: What gives parts of arrays, maps and structs, and means the same to Spark whatever its arguments.
_PARTS = frozenset(
    ["get", "get_field", "size", "array_contains", "map_contains_key", "map_keys", "map_values"]
)


def is_part_of_spark(found: Expression) -> bool:
    """Whether this is a part of what Spark computes, so that Spark had better give it itself."""
    if not isinstance(found, Call) or found.function not in _PARTS:
        return False
    of_users = any(isinstance(part, UserCall) for part in found.walk())
    return isinstance(found.args[0], SparkCall) and not of_users


def _columns(args: Sequence[Expression]) -> list[Column]:
    """The arguments as columns, called as the user calls them: Spark's complaints name them."""
    full = [arg.name if isinstance(arg, Ref) else str(arg) for arg in args]
    short = {name: name.rpartition(".")[2] for name in full}
    is_clear = len(set(short.values())) == len(short)
    names = [short[name] if is_clear else name for name in full]
    return [Column(name, arg.type) for name, arg in zip(names, args, strict=True)]


def _arguments(
    node: exp.Expr, ours: Ours, context: Context
) -> Iterator[tuple[exp.Expr, Expression]]:
    """The parts that are ours, in the order of the text."""
    found: list[tuple[int, exp.Expr, Expression]] = []

    def visit(part: exp.Expr) -> None:
        if part is not node or not isinstance(part, exp.Anonymous):
            with context.located(part):
                bound = None if _is_unit(part) else ours(part)
            place = span_of(part)
            if bound is not None and place is not None:
                found.append((place.start, part, bound))
                return
        for child in part.iter_expressions():
            visit(child)

    visit(node)
    for _, part, bound in sorted(found, key=lambda each: each[0]):
        yield part, bound


def _is_unit(part: exp.Expr) -> bool:
    call = part.parent
    return (
        isinstance(part, exp.Column)
        and not part.table
        and isinstance(call, exp.Anonymous)
        and call.name.lower() in _BY_UNIT
        and call.expressions[0] is part
        and bool(_UNITS.fullmatch(part.name.upper()))
    )


def refuse_without_spark(name: str) -> None:
    """Refuse a function that Spark has and we do not, where there is no Spark."""
    if is_of_spark(name):
        raise UnknownName(
            f"`{name.lower()}` is a function of Spark's, which this process does not have",
            hint=_OTHER_HOST,
        )


def _refuse_inside(node: exp.Expr, context: Context) -> None:
    for part in node.walk():
        is_call = isinstance(part, exp.Anonymous) and part.name.lower() in MOMENTS
        if is_call or isinstance(part, (exp.CurrentTimestamp, exp.CurrentDate)):
            raise NotExecutable(NOW[0], position=context.position(part), hint=NOW[1])
        if isinstance(part, exp.Anonymous) and part.name.lower() in GENERATORS:
            raise NotExecutable(GIVES_ROWS[0], position=context.position(part), hint=GIVES_ROWS[1])


#: Texts in quotes, comments, and blanks.
_PIECES = re.compile(
    r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)|--[^\n]*|/\*.*?\*/|\s+""", re.DOTALL
)


def _tidy(parts: list[str]) -> list[str]:
    """The same SQL without comments and with blanks as we set them, so that texts compare.

    >>> _tidy(["SHA2( ", " ,256 ) -- as text"])
    ['sha2(', ', 256)']
    """
    tidy = []
    for number, part in enumerate(parts):
        text, quotes = "", list[str]()
        at = 0
        for piece in _PIECES.finditer(part):
            text += part[at : piece.start()]
            at = piece.end()
            if piece[1]:
                quotes.append(piece[1])
                text += f"\0{len(quotes) - 1}\0"
            else:
                text += " "
        text += part[at:]
        text = re.sub(r" +", " ", text)
        text = re.sub(r" ?([(\[.]) ?", r"\1", text)
        text = re.sub(r" ?([)\],])", r"\1", text)
        text = re.sub(r", ?", ", ", text)
        text = re.sub(r"\b[A-Za-z_]\w*(?=\()", lambda name: name[0].lower(), text)
        if number == 0:
            text = text.lstrip()
        if number == len(parts) - 1:
            text = text.rstrip()
        for place, quote in enumerate(quotes):
            text = text.replace(f"\0{place}\0", quote)
        tidy.append(text)
    return tidy
