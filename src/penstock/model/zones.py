"""Time zones: which there are, and what a clock shows in them.

Only conversions between TIMESTAMP and what a clock shows (TIMESTAMP_NTZ, DATE, text) depend on the
session's zone; a query has the one that it was declared with in its expressions.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from penstock.errors import BadSetting
from penstock.model.timestamps import from_ticks, to_ticks, truncated
from penstock.model.types import Type

UTC = "UTC"

#: Functions that read off a calendar or a clock.
CALENDAR = frozenset(
    [
        *("year", "quarter", "month", "weekofyear", "dayofyear", "dayofmonth", "dayofweek"),
        *("weekday", "hour", "minute", "second"),
    ]
)
#: Functions that write what they are given as text, and those that are casts.
TEXT = frozenset(("||", "concat", "concat_ws"))
CONVERSIONS = {"to_date": Type.DATE, "to_timestamp": Type.TIMESTAMP}

#: Points in time for which Python has a calendar in every zone.
_FIRST = to_ticks(datetime(1, 1, 3))
_LAST = to_ticks(datetime(9999, 12, 29))
#: Units that are the same everywhere; zones differ by minutes.
_EVERYWHERE = ("second", "millisecond", "microsecond")


def zone_named(name: str) -> str:
    """The zone of that name, in any case; BadSetting if there is none.

    >>> zone_named("europe/zurich")
    'Europe/Zurich'
    """
    if name == UTC:
        return name
    known = _known()
    if name.lower() not in known:
        near = [each for each in known.values() if name.lower() in each.lower()][:3]
        raise BadSetting(
            f"there is no time zone `{name}`",
            hint=f"did you mean {', '.join(near)}?" if near else "write one as 'Europe/Zurich'",
        )
    found = known[name.lower()]
    return UTC if found in ("Etc/UTC", "Zulu", "UCT", "Etc/UCT", "Universal") else found


@cache
def _known() -> dict[str, str]:
    """The zones of this machine, by their names in lower case."""
    return {each.lower(): each for each in available_timezones()}


def needs_zone(given: Type, to: Type) -> bool:
    """Whether a conversion depends on the zone."""
    pair = {given, to}
    return Type.TIMESTAMP in pair and bool(pair & {Type.TIMESTAMP_NTZ, Type.DATE, Type.STRING})


def clock_of(ticks: int, zone: str) -> int:
    """What a clock in the zone shows at a point in time.

    >>> clock_of(0, "Europe/Zurich")
    3600000000
    """
    if zone == UTC or not _FIRST < ticks < _LAST:
        return ticks
    moment = from_ticks(ticks).replace(tzinfo=timezone.utc).astimezone(ZoneInfo(zone))
    return to_ticks(moment.replace(tzinfo=None))


def time_of_clock(ticks: int, zone: str) -> int:
    """The point in time at which a clock in the zone shows that; the first of two.

    >>> time_of_clock(3_600_000_000, "Europe/Zurich")
    0
    """
    if zone == UTC or not _FIRST < ticks < _LAST:
        return ticks
    # Of a time that is left out, Python takes the zone's offset before: that is as much later.
    local = from_ticks(ticks).replace(tzinfo=ZoneInfo(zone), fold=0)
    offset = local.utcoffset() or timedelta()
    return ticks - offset // timedelta(microseconds=1)


def truncated_in(unit: str, zone: str, ticks: int) -> int:
    """When the unit began in the zone in which a point in time lies."""
    if unit in _EVERYWHERE or zone == UTC:
        return truncated(unit, ticks)
    local = clock_of(ticks, zone)
    begin = truncated(unit, local)
    if unit in ("hour", "minute"):
        return ticks - (local - begin)  # which of two hours of that name it is stays so
    return time_of_clock(begin, zone)
