"""How late rows were, and the SLACK that would have accepted them.

A row is as late as it lies behind the newest of those before it. A slack of as much as the latest
one accepts all of them; it is rounded up to a length that people write. Most rows need less: late
rows are counted by the least of some *steps* that would have accepted them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from penstock.model.counted import counted
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import DAY, HOUR, MILLISECOND, MINUTE, SECOND, format_duration

_DECADES = tuple(n * 10**k for k in range(18) for n in (1, 2, 5))
_SLACKS = (
    *(n for n in _DECADES if n < SECOND),
    *(n * unit for unit in (SECOND, MINUTE) for n in (1, 2, 5, 10, 20, 30)),
    *(n * HOUR for n in (1, 2, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 30, 365)),
)
#: Of all rows, how many a suggested slack accepts at least.
ENOUGH = 0.99


def suggested_slack(stream: Stream, lateness: int) -> str | None:
    """What to write behind SLACK; None: no slack would have helped, or none is missing.

    >>> from penstock.model.schema import Column
    >>> from penstock.model.types import Type
    >>> columns = (Column("ts", Type.TIMESTAMP),)
    >>> suggested_slack(Stream("s", columns, TimestampKind.EXTERNAL, "ts"), 4_200_000)
    '5 SECONDS'
    """
    if stream.kind is not TimestampKind.EXTERNAL or stream.timestamp is None:
        return None
    if stream.slack is None or lateness <= stream.slack:
        return None  # punctuation from outside, or for some rows only, was broken
    if not _is_time(stream):
        return str(lateness)
    step = SECOND if lateness >= SECOND else MILLISECOND if lateness >= MILLISECOND else 1
    return format_duration(-(-lateness // step) * step).upper()


def lateness_in_words(stream: Stream, lateness: int) -> str:
    """How late the latest row was, and the SLACK that would have accepted all; empty: none was.

    >>> from penstock.model.schema import Column
    >>> from penstock.model.types import Type
    >>> columns = (Column("seq", Type.BIGINT),)
    >>> print(lateness_in_words(Stream("s", columns, TimestampKind.EXTERNAL, "seq"), 7))
    up to 7 behind the newest before them: SLACK 7 would have accepted all of them
    """
    if not lateness:
        return ""
    shown = format_duration(lateness) if _is_time(stream) else str(lateness)
    slack = suggested_slack(stream, lateness)
    way_out = "" if slack is None else f": SLACK {slack} would have accepted all of them"
    return f"up to {shown} behind the newest before them{way_out}"


def slack_steps(stream: Stream) -> tuple[int, ...]:
    """Lengths that people give as the SLACK of a stream, ascending."""
    return _SLACKS if stream.timestamp is not None and _is_time(stream) else _DECADES


def late_rows_in_words(stream: Stream, rows: int, late: int, late_by_slack: Sequence[int]) -> str:
    """How many of the rows were late and rejected, and what share some slacks would have accepted.

    `late_by_slack` counts late rows by the first of the `slack_steps` that accepts them.

    >>> from penstock.model.schema import Column
    >>> from penstock.model.types import Type
    >>> stream = Stream("s", (Column("n", Type.BIGINT),), TimestampKind.EXTERNAL, "n")
    >>> print(late_rows_in_words(stream, 1000, 500, [0, 300, 195, 0, 5]))
    500 of 1,000 rows of stream `s` are late and were rejected: SLACK 5 would have accepted \
99.5 %, SLACK 20 would have accepted all
    """
    became = "is late and was rejected" if late == 1 else "are late and were rejected"
    found = f"{late:,} of {counted(rows, 'row')} of stream `{stream.name}` {became}"
    offers = slack_offers(stream, rows, late, late_by_slack)
    return f"{found}: {', '.join(offers)}" if offers else found


def slack_offers(stream: Stream, rows: int, late: int, late_by_slack: Sequence[int]) -> list[str]:
    """What the least slack for nearly all rows would have accepted, and the one for all of them."""
    steps = slack_steps(stream)
    if suggested_slack(stream, steps[-1]) is None or not any(late_by_slack):
        return []
    rejected = [late - accepted for accepted in accumulate(late_by_slack)]
    enough = next((n for n, left in enumerate(rejected) if left <= rows * (1 - ENOUGH)), None)
    offered = dict.fromkeys(n for n in (enough, len(rejected) - 1) if n is not None)
    return [
        f"SLACK {suggested_slack(stream, steps[n])} would have accepted "
        f"{_share(rows - rejected[n], rows)}"
        for n in offered
        if n < len(steps)
    ]


def _share(part: int, whole: int) -> str:
    """Rounded down: only all of them are all.

    >>> _share(999, 1000), _share(9999, 10000), _share(5, 5)
    ('99.9 %', '99.9 %', 'all')
    """
    return "all" if part >= whole else f"{part * 1000 // whole / 10:.1f} %"


def _is_time(stream: Stream) -> bool:
    return stream.schema[str(stream.timestamp)].type.is_time
