"""Time as integers: ticks of one microsecond since 1970-01-01 00:00 UTC.

This is the only module that knows units. Everything below the SQL layer adds, compares and divides
plain integers, so a row number and a point in time are handled by the same code; times before 1970
are simply negative.

A *bound* is a tick with a meaning: nothing below it will come. `BEGINNING` says nothing, `END` says
that nothing comes at all.
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


def bound_as_json(bound: int) -> int | str | None:
    """A bound for programs: None where none is known, and `end` behind the last row.

    >>> bound_as_json(BEGINNING), bound_as_json(5), bound_as_json(END)
    (None, 5, 'end')
    """
    if bound <= BEGINNING:
        return None
    return bound if bound < END else "end"


#: After so many ticks every day has its date and its weekday again; a year in which they do.
_CYCLE = 146_097 * DAY
_YEAR_2000 = 946_684_800 * SECOND

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

#: Units that are all of one length, the longest first: that, and a moment at which one begins.
#: Weeks begin on Mondays, and 1970 on a Thursday.
EVEN_UNITS = {
    "week": (WEEK, -3 * DAY),
    "day": (DAY, 0),
    "hour": (HOUR, 0),
    "minute": (MINUTE, 0),
    "second": (SECOND, 0),
    "millisecond": (MILLISECOND, 0),
    "microsecond": (MICROSECOND, 0),
}


def format_duration(ticks: int) -> str:
    """A duration in the largest unit that divides it.

    >>> format_duration(600 * SECOND), format_duration(1500 * MILLISECOND), format_duration(SECOND)
    ('10 minutes', '1500 milliseconds', '1 second')
    """
    for name, (size, _) in EVEN_UNITS.items():
        if ticks % size == 0 and ticks:
            count = ticks // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    return "0 seconds"


def ticks_of(text: str) -> int | None:
    """A duration that is written as a number and a unit; None: it is none.

    >>> ticks_of("10 minutes") == 10 * MINUTE, ticks_of("ten minutes")
    (True, None)
    """
    count, _, unit = text.strip().lower().partition(" ")
    size = UNITS.get(unit.strip())
    return int(count) * size if size is not None and count.isdecimal() else None


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
    return time_text(ticks)


def time_text(ticks: int) -> str:
    """A point in time as text, also in years for which there is no datetime.

    >>> time_text(0), time_text(253402300800 * SECOND), time_text(-62198755200 * SECOND)
    ('1970-01-01 00:00:00', '+10000-01-01 00:00:00', '-0001-01-01 00:00:00')
    """
    # The calendar repeats itself every 400 years.
    cycles = (ticks - _YEAR_2000) // _CYCLE
    moment = from_ticks(ticks - cycles * _CYCLE)
    year = moment.year + 400 * cycles
    if 1 <= year <= 9999:
        return from_ticks(ticks).isoformat(sep=" ")
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04}{moment.isoformat(sep=' ')[4:]}"


def truncated(unit: str, ticks: int) -> int:
    """When the unit began in which a point in time lies: a month, quarter, year, or an even one.

    >>> time_text(truncated("quarter", to_ticks(datetime(2026, 11, 16, 9, 30))))
    '2026-10-01 00:00:00'
    >>> time_text(truncated("week", to_ticks(datetime(1970, 1, 1))))
    '1969-12-29 00:00:00'
    """
    if unit in EVEN_UNITS:
        length, begin = EVEN_UNITS[unit]
        return ticks - (ticks - begin) % length
    cycles = (ticks - _YEAR_2000) // _CYCLE
    moment = from_ticks(ticks - cycles * _CYCLE)
    month = {"month": moment.month, "quarter": (moment.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return to_ticks(datetime(moment.year, month, 1)) + cycles * _CYCLE
