"""Time as integers: ticks of one microsecond since 1970-01-01 00:00 UTC.

This is the only module that knows units. Everything below the SQL layer adds, compares and divides
plain integers, so a row number and a point in time are handled by the same code; times before 1970
are simply negative.

A *bound* is a tick with a promise: nothing below it will come. `BEGINNING` promises nothing, `END`
promises that nothing comes at all.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

#: Bounds before and after every value. A quarter of the 64-bit range, so that adding a window's
#: length to either cannot overflow in a vectorised column.
BEGINNING = -(1 << 62)
END = 1 << 62

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

UNITS = {
    **dict.fromkeys(("microsecond", "microseconds", "us"), MICROSECOND),
    **dict.fromkeys(("millisecond", "milliseconds", "ms"), MILLISECOND),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), SECOND),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), MINUTE),
    **dict.fromkeys(("hour", "hours", "h"), HOUR),
    **dict.fromkeys(("day", "days", "d"), DAY),
    **dict.fromkeys(("week", "weeks"), WEEK),
}

_NAMES = (
    (WEEK, "week"),
    (DAY, "day"),
    (HOUR, "hour"),
    (MINUTE, "minute"),
    (SECOND, "second"),
    (MILLISECOND, "millisecond"),
    (MICROSECOND, "microsecond"),
)


def format_duration(ticks: int) -> str:
    """A duration in the largest unit that divides it.

    >>> format_duration(600 * SECOND), format_duration(1500 * MILLISECOND), format_duration(SECOND)
    ('10 minutes', '1500 milliseconds', '1 second')
    """
    for size, name in _NAMES:
        if ticks % size == 0 and ticks:
            count = ticks // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    return "0 seconds"


def to_ticks(moment: datetime) -> int:
    """Ticks of a point in time; one without a zone is taken as UTC.

    >>> to_ticks(datetime(1970, 1, 1, 0, 0, 1)), to_ticks(datetime(1969, 12, 31, 23, 59, 59))
    (1000000, -1000000)
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_ticks(ticks: int) -> datetime:
    """The point in time, in UTC without a zone, as results show it.

    >>> from_ticks(-1)
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)
    """
    return (EPOCH + timedelta(microseconds=ticks)).replace(tzinfo=None)


def format_ticks(ticks: int) -> str:
    """A bound as people read it.

    >>> format_ticks(0), format_ticks(END), format_ticks(BEGINNING)
    ('1970-01-01 00:00:00', 'end', 'beginning')
    """
    if ticks >= END:
        return "end"
    if ticks <= BEGINNING:
        return "beginning"
    return from_ticks(ticks).isoformat(sep=" ")
