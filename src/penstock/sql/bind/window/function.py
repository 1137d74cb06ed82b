"""Windows in the words of other systems.

    window(ts, '10 minutes', '1 minute', '0 seconds')            Spark, in GROUP BY
    TUMBLE(TABLE s, DESCRIPTOR(ts), size[, offset])              Flink, in FROM
    HOP(TABLE s, DESCRIPTOR(ts), slide, size[, offset])
    CUMULATE(TABLE s, DESCRIPTOR(ts), step, size[, offset])
    SESSION(TABLE s [PARTITION BY k], DESCRIPTOR(ts), gap)
    session_window(ts, '5 minutes')                              Spark, in GROUP BY

All but the sessions let extents start, not end, at multiples of the slide; it matters only where
the slide does not divide the size.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import CannotWindow, SyntaxFault
from penstock.sql.bind import literal as bind_literal
from penstock.sql.bind.context import Context
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.bind.window.window import (
    check_unit,
    counted_in,
    progressing_attribute,
    resolve_attribute,
)
from penstock.sql.parse.durations import resolve_length
from penstock.sql.parse.positions import span_of
from penstock.sql.parse.syntax import AnyLength, Attribute, Length, Parameter, Span, WindowFunction
from penstock.windows import Cumulating, Session, Sliding, Window, origin_for_aligned_starts
from penstock.windows.window import require_positive, usual_origin

SESSION_WINDOW = "session_window"


def bind_window_function(function: WindowFunction, scope: Scope, context: Context) -> Window:
    """The window of a TUMBLE, HOP, CUMULATE or SESSION."""
    on = progressing_attribute(function.args["timecol"], scope, context)
    given: dict[str, AnyLength] = function.args["lengths"]
    lengths = {name: _checked(name, length, on, context) for name, length in given.items()}
    partition = function.args["data"].args.get("partition") or ()
    with context.located(function):
        columns = tuple(resolve_attribute(each, scope, context).column for each in partition)
        return _window_of(on, lengths, columns)


def is_window_call(node: exp.Expr) -> bool:
    """Whether this is Spark's `window(…)` or `session_window(…)`."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in ("window", SESSION_WINDOW)


def is_session_call(node: exp.Expr) -> bool:
    """Whether this is Spark's `session_window(…)`, with a session for each group."""
    return is_window_call(node) and node.name.lower() == SESSION_WINDOW


def bind_window_call(call: exp.Anonymous, scope: Scope, context: Context) -> Window:
    """The window of `window(ts, size[, slide[, offset]])` or `session_window(ts, gap)`."""
    with context.located(call):
        arguments = call.expressions
        is_session = is_session_call(call)
        if is_session and len(arguments) != 2:
            raise SyntaxFault(
                "session_window() takes a column and a length",
                hint="write session_window(ts, '5 minutes')",
            )
        if not 2 <= len(arguments) <= 4 or not isinstance(arguments[0], exp.Column):
            raise SyntaxFault(
                "window() takes a column and one to three lengths",
                hint="write window(ts, '10 minutes', '1 minute')",
            )
        column = arguments[0]
        place = span_of(column) or Span(0, 1)
        attribute = Attribute(column.name, column.table or None, place)
        on = progressing_attribute(attribute, scope, context)
        names = ("GAP",) if is_session else ("SIZE", "SLIDE", "OFFSET")
        lengths = {
            name: _checked(name, _constant(argument, context), on, context)
            for name, argument in zip(names, arguments[1:], strict=False)
        }
        return _window_of(on, lengths)


def _window_of(on: Field, lengths: dict[str, int], partition: tuple[str, ...] = ()) -> Window:
    """The window with these lengths, by their names in the functions."""
    unit, offset = counted_in(on), lengths.get("OFFSET", 0)
    if "GAP" in lengths:
        return Session(on.measured.name, lengths["GAP"], partition, unit)
    size = lengths["SIZE"]
    if "STEP" in lengths:
        return Cumulating(on.measured.name, lengths["STEP"], size, offset)
    slide = lengths.get("SLIDE", size)
    origin = origin_for_aligned_starts(size, slide, offset + usual_origin(unit))
    return Sliding(on.measured.name, size, slide, origin, unit)


def _constant(node: exp.Expr, context: Context) -> AnyLength:
    """A length written as an argument: `'10 minutes'`, `INTERVAL 10 MINUTES` or a parameter."""
    span = span_of(node) or Span(0, 1)
    with context.located(node):
        if isinstance(node, exp.Interval):
            return Length(bind_literal.interval(node).value, "time", span)
        if isinstance(node, exp.Literal) and node.is_string:
            return Length(bind_literal.duration(node.this), "time", span)
        if isinstance(node, exp.Column) and not node.table:
            return Parameter(node.name, span)
        raise CannotWindow(
            f"`{context.written(node)}` is not a length",
            hint="write a constant such as '10 minutes'",
        )


def _checked(name: str, length: AnyLength, on: Field, context: Context) -> int:
    found = resolve_length(length, context)
    check_unit(found, on, context)
    if name != "OFFSET":
        with context.located(found.span):
            require_positive(name, found.value, "time")
    return found.value
