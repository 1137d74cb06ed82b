"""Cell: what the inputs of a join were like in one stretch of time.

Cells of groups that see other rows of the same inputs add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.kernel.statistics.key_sketch import KeySketch

#: Of an input, what its keys are made of.
KeyOf = tuple[int, str]
#: How many combinations of sampled rows were tried, how many satisfy a condition, and the variance
#: of that.
Tried = tuple[int, int, float]
NOTHING: Tried = (0, 0, 0.0)


@dataclass
class Cell:
    """`number` times the width is where it begins, and `span` ticks of it were seen."""

    number: int
    span: int
    rows: list[int]  # of each input
    bytes: list[int]  # of each input
    looked_at: list[int]  # rows of each input by which the others were judged
    blocks: list[float]  # of each input; of one that lies in several cells, its share of rows
    sketches: dict[KeyOf, KeySketch] = field(default_factory=dict)
    tried: dict[str, Tried] = field(default_factory=dict)  # by condition

    def __add__(self, other: Cell) -> Cell:
        """The cell of the rows of both."""
        sketches = {
            of: self.sketches[of] + other.sketches[of]
            if of in self.sketches and of in other.sketches
            else self.sketches.get(of) or other.sketches[of]
            for of in {**self.sketches, **other.sketches}
        }
        tried = {
            key: sum_of(self.tried.get(key, NOTHING), other.tried.get(key, NOTHING))
            for key in {**self.tried, **other.tried}
        }
        return Cell(
            self.number,
            max(self.span, other.span),
            [a + b for a, b in zip(self.rows, other.rows, strict=True)],
            [a + b for a, b in zip(self.bytes, other.bytes, strict=True)],
            [a + b for a, b in zip(self.looked_at, other.looked_at, strict=True)],
            [a + b for a, b in zip(self.blocks, other.blocks, strict=True)],
            sketches,
            tried,
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "span": self.span,
            "rows": self.rows,
            "bytes": self.bytes,
            "looked_at": self.looked_at,
            "blocks": self.blocks,
            "sketches": [[*of, sketch.to_text()] for of, sketch in self.sketches.items()],
            "tried": self.tried,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cell:
        sketches = {(port, of): KeySketch.from_text(text) for port, of, text in data["sketches"]}
        tried = {key: (all_, some, var) for key, (all_, some, var) in data["tried"].items()}
        counts = data["rows"], data["bytes"], data["looked_at"], data["blocks"]
        return cls(data["number"], data["span"], *counts, sketches, tried)


def sum_of(one: Tried, other: Tried) -> Tried:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]
