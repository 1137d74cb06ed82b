"""Options of a workload, read from the texts in which SQL gives them.

    rate '4000', disorder '5 seconds', start '2026-01-01 10:00:00'

Reading an option is also what makes its name known: whatever has been given and was never read is
refused, with the names that were. Whether a value makes sense is judged by the thing that takes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import TypeVar

from penstock.errors import BadSetting
from penstock.model.schema import suggest
from penstock.model.timestamps import DAY, UNITS, format_duration, from_ticks, to_ticks

#: Long enough for everybody, and such a length still fits a random fraction without rounding.
LONGEST = 36_500 * DAY
EARLIEST, LATEST = to_ticks(datetime(1, 1, 1)), to_ticks(datetime(9000, 1, 1))

_PART = re.compile(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]+)\s*")
_TICKS = re.compile(r"[+-]?\d{1,18}")

T = TypeVar("T")


class WorkloadOptions:
    """The options given to one workload; names count without regard to case."""

    def __init__(self, workload: str, given: Mapping[str, str]) -> None:
        self.workload = workload
        self._given = {name.lower(): text.strip() for name, text in given.items()}
        self._read: list[str] = []

    def whole(self, name: str, default: int) -> int:
        return self._read_as(int, name, default, "a whole number", "1000")

    def count(self, name: str) -> int | None:
        """A whole number that is not negative, or None."""
        if not self.gives(name):
            return None
        number = self.whole(name, 0)
        if number < 0:
            raise self._wrong(name, str(number), "a whole number that is not negative", "1000")
        return number

    def number(self, name: str, default: float) -> float:
        return self._read_as(float, name, default, "a number", "0.5")

    def length(self, name: str, default: int) -> int:
        """A duration, in ticks."""
        return self._read_as(_length, name, default, "a duration", "5 seconds")

    def moment(self, name: str, default: int) -> int:
        """A point in time, in ticks: written out, or as ticks."""
        example = str(from_ticks(default))
        return self._read_as(_moment, name, default, "a point in time", example)

    def choice(self, name: str, allowed: Iterable[str], default: str) -> str:
        text = self._text(name)
        if text is None:
            return default
        check_choice(name, text.lower(), allowed)
        return text.lower()

    def gives(self, name: str) -> bool:
        """Whether the option was given at all."""
        return self._text(name) is not None

    def refuse_unread(self) -> None:
        """Refuse options that the workload never asked for."""
        for name in self._given:
            if name not in self._read:
                raise BadSetting(
                    f"workload `{self.workload}` has no option `{name}`",
                    hint=suggest(name, sorted(self._read)),
                )

    def _text(self, name: str) -> str | None:
        if name not in self._read:
            self._read.append(name)
        return self._given.get(name)

    def _read_as(
        self, read: Callable[[str], T | None], name: str, default: T, wanted: str, example: str
    ) -> T:
        """What the option's text says; refused where nothing can be read from it."""
        text = self._text(name)
        if text is None:
            return default
        try:
            found = read(text)
        except ValueError:
            found = None
        if found is None:
            raise self._wrong(name, text, wanted, example)
        return found

    def _wrong(self, name: str, text: str, wanted: str, example: str) -> BadSetting:
        return BadSetting(
            f"workload `{self.workload}`: `{name}` must be {wanted}, not '{text[:40]}'",
            hint=f"such as {name} '{example}'",
        )


def check_range(name: str, value: float, least: float, most: float) -> None:
    """Refuse a number outside of least … most."""
    if not least <= value <= most:
        raise BadSetting(
            f"`{name}` cannot be {value:g}", hint=f"it can be from {least:g} to {most:g}"
        )


def check_choice(name: str, value: str, allowed: Iterable[str]) -> None:
    """Refuse a word that is not among the allowed ones."""
    words = list(allowed)
    if value not in words:
        raise BadSetting(f"`{name}` cannot be '{value}'", hint=f"it can be: {', '.join(words)}")


def check_length(name: str, ticks: int) -> None:
    """Refuse a duration that nobody can mean."""
    if not 0 <= ticks <= LONGEST:
        raise BadSetting(
            f"`{name}` cannot be {format_duration(ticks)}",
            hint=f"it can be from 0 to {format_duration(LONGEST)}",
        )


def _length(text: str) -> int | None:
    """Ticks of a text such as `1 minute 30 seconds`; None if it is no whole number of them.

    >>> _length("1 minute 0.5 seconds"), _length("0"), _length("5"), _length("1 parsec")
    (60500000, 0, None, None)
    """
    if text == "0":
        return 0
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text) or any(word.lower() not in UNITS for _, word in parts):
        return None
    total = sum((Fraction(amount) * UNITS[word.lower()] for amount, word in parts), Fraction(0))
    return int(total) if total.denominator == 1 else None


def _moment(text: str) -> int | None:
    """Ticks of a point in time, written as such or in ISO 8601; None beyond the calendar."""
    written = text[:-1] + "+00:00" if text.upper().endswith("Z") else text
    ticks = int(text) if _TICKS.fullmatch(text) else to_ticks(datetime.fromisoformat(written))
    return ticks if EARLIEST <= ticks <= LATEST else None
