"""What clocks show in zones, by Python's own calendar."""

from __future__ import annotations

from datetime import timedelta, timezone
from zoneinfo import ZoneInfo

from penstock.model.timestamps import from_ticks, to_ticks


def clock_in(ticks: int, zone: str) -> int:
    moment = from_ticks(ticks).replace(tzinfo=timezone.utc).astimezone(ZoneInfo(zone))
    return to_ticks(moment.replace(tzinfo=None))


def instant_in(shown: int, zone: str) -> int:
    """The first time at which it is shown; of one that is left out, as much later."""
    local = from_ticks(shown).replace(tzinfo=ZoneInfo(zone))
    return shown - (local.utcoffset() or timedelta()) // timedelta(microseconds=1)
