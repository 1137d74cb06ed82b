"""Patterns of rows: regular expressions over variables, as PATTERN writes them.

    A B         rows of A, then rows of B
    A | B       either; A is preferred
    A+ B{2,3}   repeated, as often as possible; with `?` behind it, as seldom as possible

A row is of a variable if the variable's condition holds, so a pattern describes sequences of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class RowPattern:
    """Root of the four shapes. `str` gives SQL text."""

    @property
    def parts(self) -> tuple[RowPattern, ...]:
        return ()

    def variables(self) -> tuple[str, ...]:
        """The variables, in the order in which they occur first."""
        return tuple(dict.fromkeys(self._occurring()))

    def _occurring(self) -> Iterator[str]:
        for part in self.parts:
            yield from part._occurring()

    @property
    def least_rows(self) -> int:
        """The rows of the shortest match."""
        raise NotImplementedError

    @property
    def most_rows(self) -> int | None:
        """The rows of the longest match; None: any number."""
        raise NotImplementedError

    @property
    def positions(self) -> int:
        """How large it is when repetitions are written out."""
        return sum(part.positions for part in self.parts)

    def always_has(self, variable: str) -> bool:
        """Whether every match has rows of a variable."""
        raise NotImplementedError

    def may_begin_with(self) -> frozenset[str]:
        """The variables that the first row of a match can be of."""
        raise NotImplementedError


@dataclass(frozen=True)
class PatternVariable(RowPattern):
    """One row of a variable."""

    name: str

    def _occurring(self) -> Iterator[str]:
        yield self.name

    @property
    def least_rows(self) -> int:
        return 1

    @property
    def most_rows(self) -> int:
        return 1

    @property
    def positions(self) -> int:
        return 1

    def always_has(self, variable: str) -> bool:
        return variable == self.name

    def may_begin_with(self) -> frozenset[str]:
        return frozenset((self.name,))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PatternSequence(RowPattern):
    """One after the other."""

    steps: tuple[RowPattern, ...]

    @property
    def parts(self) -> tuple[RowPattern, ...]:
        return self.steps

    @property
    def least_rows(self) -> int:
        return sum(step.least_rows for step in self.steps)

    @property
    def most_rows(self) -> int | None:
        return _total([step.most_rows for step in self.steps])

    def always_has(self, variable: str) -> bool:
        return any(step.always_has(variable) for step in self.steps)

    def may_begin_with(self) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for step in self.steps:
            found |= step.may_begin_with()
            if step.least_rows:
                break
        return found

    def __str__(self) -> str:
        return " ".join(
            f"({s})" if isinstance(s, PatternSequence | PatternChoice) else str(s)
            for s in self.steps
        )


@dataclass(frozen=True)
class PatternChoice(RowPattern):
    """One of several; those before are preferred."""

    choices: tuple[RowPattern, ...]

    @property
    def parts(self) -> tuple[RowPattern, ...]:
        return self.choices

    @property
    def least_rows(self) -> int:
        return min(choice.least_rows for choice in self.choices)

    @property
    def most_rows(self) -> int | None:
        most = [choice.most_rows for choice in self.choices]
        return None if None in most else max(rows for rows in most if rows is not None)

    def always_has(self, variable: str) -> bool:
        return all(choice.always_has(variable) for choice in self.choices)

    def may_begin_with(self) -> frozenset[str]:
        return frozenset[str]().union(*(choice.may_begin_with() for choice in self.choices))

    def __str__(self) -> str:
        return " | ".join(
            f"({c})" if isinstance(c, PatternChoice) else str(c) for c in self.choices
        )


@dataclass(frozen=True)
class PatternRepeat(RowPattern):
    """`least` to `most` times (None: any number); as often as possible, unless `reluctant`."""

    part: RowPattern
    least: int
    most: int | None
    reluctant: bool = False

    @property
    def parts(self) -> tuple[RowPattern, ...]:
        return (self.part,)

    @property
    def least_rows(self) -> int:
        return self.least * self.part.least_rows

    @property
    def most_rows(self) -> int | None:
        once = self.part.most_rows
        return 0 if once == 0 else None if once is None or self.most is None else once * self.most

    @property
    def positions(self) -> int:
        times = self.least + 1 if self.most is None else self.most
        return self.part.positions * times

    def always_has(self, variable: str) -> bool:
        return self.least > 0 and self.part.always_has(variable)

    def may_begin_with(self) -> frozenset[str]:
        return self.part.may_begin_with()

    def __str__(self) -> str:
        text = str(self.part)
        if not isinstance(self.part, PatternVariable):
            text = f"({text})"
        return f"{text}{self._sign}{'?' if self.reluctant else ''}"

    @property
    def _sign(self) -> str:
        known = {(0, 1): "?", (0, None): "*", (1, None): "+"}
        if (self.least, self.most) in known:
            return known[self.least, self.most]
        if self.least == self.most:
            return f"{{{self.least}}}"
        return f"{{{self.least},{'' if self.most is None else self.most}}}"


def _total(rows: list[int | None]) -> int | None:
    return None if None in rows else sum(each for each in rows if each is not None)
