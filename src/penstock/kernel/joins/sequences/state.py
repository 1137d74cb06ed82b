"""SequenceState: what a sequence keeps."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.kernel.joins.keys import HASHED_BY
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State
from penstock.model.timestamps import BEGINNING


@dataclass
class SequenceState(State):
    """Rows of the step before, rows of the last step that wait, and how far both inputs are."""

    earlier: SegmentTable = table()
    waiting: SegmentTable = table()
    used: SegmentTable = table()  # numbers of earlier rows that were used up
    bounds: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])
    numbered: int = 0  # earlier rows so far, where they can be used up
    hashed_by: str = HASHED_BY

    @property
    def complete(self) -> int:
        """Later rows below have been paired, and none comes."""
        return min(self.bounds)
