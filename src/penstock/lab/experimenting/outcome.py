"""What an experiment comes to: numbers, pictures of them, and whether they have the right shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TypeAlias

Cell: TypeAlias = str | int | float | None
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Table:
    """Rows under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title}: {row} does not fit {self.columns}")


@dataclass(frozen=True)
class Plot:
    """Lines through points, or points alone, by name; an axis may be logarithmic."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[Point]]
    log_x: bool = False
    log_y: bool = False
    scattered: bool = False


@dataclass(frozen=True)
class Check:
    """A published claim, whether it holds here, and by what numbers.

    The claim is the publication's, with its figures and its parameters. Where ours is known to
    differ it stays as it is, and `known` says why; one that then holds is a surprise as well.
    """

    claim: str
    holds: bool
    measured: str
    known: str | None = None  # why it is known to fail

    @property
    def verdict(self) -> Verdict:
        if self.known is None:
            return Verdict.HOLDS if self.holds else Verdict.FAILS
        return Verdict.HOLDS_AFTER_ALL if self.holds else Verdict.KNOWN_FAILURE


class Verdict(str, Enum):
    """What a check came to, and whether that was to be expected."""

    HOLDS = "holds"
    FAILS = "FAILS"
    KNOWN_FAILURE = "KNOWN FAILURE"
    HOLDS_AFTER_ALL = "HOLDS AFTER ALL"

    @property
    def is_surprise(self) -> bool:
        return self in (Verdict.FAILS, Verdict.HOLDS_AFTER_ALL)


@dataclass(frozen=True)
class Outcome:
    """Everything one experiment gives."""

    tables: tuple[Table, ...]
    plots: tuple[Plot, ...] = ()
    checks: tuple[Check, ...] = ()

    def __post_init__(self) -> None:
        if not self.checks:
            raise ValueError("an experiment without a check reproduces nothing")

    @property
    def reproduced(self) -> bool:
        """Whether every published claim holds; a known failure is a failure."""
        return all(check.holds for check in self.checks)

    @property
    def surprises(self) -> tuple[Check, ...]:
        """Claims that fail for no known reason, and known failures that hold."""
        return tuple(check for check in self.checks if check.verdict.is_surprise)

    def as_json(self) -> dict[str, object]:
        return {
            "reproduced": self.reproduced,
            "as_expected": not self.surprises,
            "checks": [asdict(check) | {"verdict": check.verdict.value} for check in self.checks],
            "tables": [asdict(table) for table in self.tables],
            "plots": [asdict(plot) for plot in self.plots],
        }
