"""Expressions that are monotone, and some that are not."""

from __future__ import annotations

from penstock.model.expressions import Call, Cast, Expression, Literal, Ref
from penstock.model.timestamps import DAY, HOUR, MINUTE, SECOND
from penstock.model.types import Type

TS, OTHER = Ref("ts", Type.TIMESTAMP), Ref("other", Type.TIMESTAMP)
N, SMALL = Ref("n", Type.BIGINT), Ref("small", Type.SMALLINT)


def number(value: int, of: Type = Type.INT) -> Literal:
    return Literal(value, of)


def interval(ticks: int) -> Literal:
    return Literal(ticks, Type.INTERVAL)


def trunc(unit: str, value: Expression) -> Call:
    return Call("date_trunc", (Literal(unit, Type.STRING), value))


MONOTONE = [
    TS,
    Call("+", (TS, interval(HOUR))),
    Call("+", (interval(-MINUTE), TS)),
    Call("-", (TS, interval(3 * DAY))),
    *(
        trunc(u, TS)
        for u in ("second", "minute", "hour", "day", "week", "month", "quarter", "YEAR")
    ),
    Cast(TS, Type.DATE),
    Call("to_date", (TS,)),
    Cast(Cast(TS, Type.DATE), Type.TIMESTAMP),
    Call("+", (Cast(TS, Type.DATE), interval(HOUR))),
    Cast(TS, Type.BIGINT),
    Call("unix_seconds", (TS,)),
    Call("*", (Call("unix_millis", (TS,)), number(3))),
    Call("div", (Call("-", (TS, Literal(5 * SECOND, Type.TIMESTAMP))), interval(MINUTE))),
    trunc("hour", Call("+", (TS, interval(17 * MINUTE)))),
    trunc("second", Call("+", (TS, interval(90 * SECOND)))),
    Call("-", (trunc("month", Call("-", (TS, interval(1)))), interval(DAY))),
    N,
    Call("+", (N, number(7))),
    Call("-", (N, number(7, Type.BIGINT))),
    Call("div", (N, number(10))),
    Call("div", (Call("+", (N, number(-3))), number(4))),
    Call("floor", (N,)),
    Call("-", (SMALL, number(5, Type.SMALLINT))),
    Call("+", (Cast(SMALL, Type.INT), number(5))),
    Call("*", (SMALL, number(5))),
    Call("+", (Cast(Call("-", (SMALL, number(5, Type.SMALLINT))), Type.INT), number(5))),
    Call("div", (Call("-", (SMALL, number(5, Type.SMALLINT))), number(3))),
    Call("timestamp_seconds", (SMALL,)),
    Call("timestamp_seconds", (N,)),
    Call("timestamp_millis", (N,)),
    Call("timestamp_micros", (N,)),
    trunc("minute", Call("timestamp_millis", (N,))),
    Call("div", (N, Call("+", (number(2), number(3))))),
    Call("-", (N, Call("*", (number(2), Call("-", (number(5), number(3))))))),
    Call("-", (TS, Call("+", (interval(HOUR), interval(MINUTE))))),
    Call("greatest", (N, number(0))),
    Call("least", (number(7, Type.BIGINT), N, Call("+", (number(1), number(2))))),
    Call("least", (TS, Literal(DAY, Type.TIMESTAMP))),
    Call("floor", (Call("/", (N, number(10))),)),
    Call("ceil", (Call("/", (SMALL, number(3))),)),
    Call("floor", (Call("/", (N, Literal(2.5, Type.DOUBLE))),)),
    Cast(SMALL, Type.TIMESTAMP),
]

NOT_MONOTONE = [
    Call("negative", (N,)),
    Call("-", (number(7), N)),
    Call("%", (N, number(7))),
    Call("div", (N, number(-7))),
    Call("div", (N, number(0))),
    Call("div", (number(7), N)),
    Call("*", (N, number(-1))),
    Call("*", (N, number(2))),  # wraps around
    Call("+", (SMALL, number(1, Type.SMALLINT))),  # wraps around
    # What has wrapped around to the upper end wraps back when it is raised.
    Call("+", (Call("-", (SMALL, number(5, Type.SMALLINT))), number(5, Type.SMALLINT))),
    Call(
        "*",
        (
            Call("-", (SMALL, number(32767, Type.SMALLINT))),
            number(2, Type.SMALLINT),
        ),
    ),
    Call("+", (N, number(1 << 60, Type.BIGINT))),
    Call("+", (N, Literal(None, Type.BIGINT))),
    Call("+", (N, N)),
    Call("hour", (TS,)),
    Call("/", (N, number(2))),
    Cast(N, Type.INT),  # wraps around
    Cast(N, Type.TIMESTAMP),  # wraps around
    Cast(N, Type.STRING),
    Cast(N, Type.DOUBLE),
    Call("abs", (N,)),
    Call("least", (N, Call("negative", (N,)))),
    Call("greatest", (number(7), number(8))),
    Call("greatest", (N, Literal(None, Type.BIGINT))),
    Call("floor", (Call("/", (N, number(-2))),)),
    Call("floor", (Call("/", (N, Literal(0.5, Type.DOUBLE))),)),
    Call("floor", (Call("/", (number(2), N)),)),
    Call("div", (N, Call("-", (number(3), number(3))))),
    Call("div", (N, Call("div", (number(3), number(3))))),
]
