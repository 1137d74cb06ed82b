"""The session's time zone, put into expressions where they depend on it.

Calendar functions are of what a clock shows, so in another zone than UTC a TIMESTAMP is converted
first; so is what is compared with one, or becomes one. Nothing below knows of sessions.

    hour(ts)                hour(CAST(ts AS TIMESTAMP_NTZ AT TIME ZONE 'Europe/Zurich'))
    date_trunc('day', ts)   date_trunc('day', ts, 'Europe/Zurich'), which is a TIMESTAMP again
    ts > DATE '2026-01-01'  ts > CAST(DATE '2026-01-01' AS TIMESTAMP AT TIME ZONE 'Europe/Zurich')
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.expressions import Call, Case, Cast, Expression, Literal
from penstock.model.types import Type
from penstock.model.zones import CALENDAR, CONVERSIONS, TEXT, UTC, needs_zone


def localized(expression: Expression, zone: str) -> Expression:
    """The expression in a zone; its parts are so already."""
    if zone == UTC:
        return expression
    match expression:
        case Cast() if expression.zone == UTC and needs_zone(expression.input.type, expression.to):
            return replace(expression, zone=zone)
        case Case():
            return _case(expression, zone)
        case Call():
            return _call(expression, zone)
    return expression


def _as(value: Expression, to: Type, zone: str) -> Expression:
    return Cast(value, to, zone) if needs_zone(value.type, to) else value


def _case(case: Case, zone: str) -> Case:
    to = case.type
    branches = tuple((condition, _as(value, to, zone)) for condition, value in case.branches)
    return Case(branches, _as(case.otherwise, to, zone))


def _call(call: Call, zone: str) -> Expression:
    name, args = call.function, call.args
    if name in CONVERSIONS and needs_zone(args[0].type, CONVERSIONS[name]):
        return Cast(args[0], CONVERSIONS[name], zone)
    if name == "date_trunc":
        if len(args) == 3:
            return call
        return Call(name, (args[0], _as(args[1], Type.TIMESTAMP, zone), Literal(zone, Type.STRING)))
    if name in CALENDAR:
        return Call(name, tuple(_clock(arg, zone) for arg in args))
    if name in TEXT:
        points = [arg.type is Type.TIMESTAMP for arg in args]
        texts = zip(args, points, strict=True)
        return Call(name, tuple(Cast(a, Type.STRING, zone) if p else a for a, p in texts))
    brought = zip(args, call.match.parameters, strict=True)
    return Call(name, tuple(_as(arg, to, zone) for arg, to in brought))


def _clock(value: Expression, zone: str) -> Expression:
    if value.type is not Type.TIMESTAMP:
        return value
    return Cast(value, Type.TIMESTAMP_NTZ, zone)
