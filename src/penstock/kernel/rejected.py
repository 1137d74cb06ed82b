"""Rows that were rejected: why, and what is wrong with malformed ones.

A malformed row's reason names the value that does not conform; rows are counted by it without the
value, and a few are kept to be looked at.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import polars as pl

#: Rows that are shown of each stream.
SAMPLES = 3
#: Reasons that are counted apart: some name what differs from row to row, such as a bound.
MOST_REASONS = 50
#: What the rows of further reasons are counted under.
OTHERS = "other reasons"
#: How the reason begins of what is not a row at all; its text follows.
NO_ROW = "no row: "

_VALUE = re.compile(r"^([^:]+): .* is not a valid (.+)$", re.DOTALL)


class Reason(str, Enum):
    """Why rows did not go into their stream."""

    LATE = "late"
    CLOSED = "closed"  # late only because a run that ended before has closed their windows
    AHEAD = "ahead"  # further ahead of the clock than the stream allows
    MALFORMED = "malformed"


def kind_of(reason: str) -> str:
    """A reason without the value.

    >>> kind_of("price: 'dear' is not a valid INT"), kind_of("no row: {oops")
    ('price is not a valid INT', 'no row')
    """
    if reason.startswith(NO_ROW):
        return NO_ROW.removesuffix(": ")
    found = _VALUE.match(reason)
    return reason if found is None else f"{found[1]} is not a valid {found[2]}"


def row_text(row: dict[str, Any], reason: str) -> str:
    """The text of a rejected row: the line itself, or its values as a JSON object."""
    if reason.startswith(NO_ROW):
        return reason.removeprefix(NO_ROW)
    return json.dumps(row, ensure_ascii=False)


@dataclass
class Rejected:
    """Counts by reason, and the first rows."""

    reasons: Counter[str] = field(default_factory=Counter)
    samples: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, rejected: pl.DataFrame) -> Rejected:
        """What is to be known of rejected rows, which are text with a column `reason`."""
        reasons = rejected.get_column("reason").to_list()
        first = rejected.head(SAMPLES).drop("reason").to_dicts()
        return cls(
            Counter(map(kind_of, reasons)),
            [
                {"reason": reason, "row_text": row_text(row, reason)}
                for row, reason in zip(first, reasons, strict=False)
            ],
        )

    def add(self, other: Rejected) -> None:
        for reason, count in other.reasons.items():
            is_apart = reason in self.reasons or len(self.reasons) < MOST_REASONS
            self.reasons[reason if is_apart else OTHERS] += count
        self.samples = [*self.samples, *other.samples][:SAMPLES]
