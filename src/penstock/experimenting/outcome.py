"""What an experiment comes to: numbers, pictures of them, and whether they have the right shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
    """Lines through points, by name; an axis may be logarithmic."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[Point]]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Check:
    """A claim about the shape of the result, whether it holds here, and by what numbers."""

    claim: str
    holds: bool
    measured: str


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
        return all(check.holds for check in self.checks)

    def as_json(self) -> dict[str, object]:
        return {
            "reproduced": self.reproduced,
            "checks": [asdict(check) for check in self.checks],
            "tables": [
                {"title": t.title, "columns": t.columns, "rows": t.rows} for t in self.tables
            ],
            "plots": [asdict(plot) for plot in self.plots],
        }
