"""A pattern as an automaton: its places, and what may follow each, in the order of preference.

A place is one occurrence of a variable; repetitions are written out, `A{2,3}` has three. What comes
behind a place is a list of places, and of ACCEPT, where a match may end: that something stands
before something else means that it is preferred. So a list is all that has to be known to go on.

An iteration beyond the least number that would match no row at all is none: `(A?)*` would never
end. Whether it has matched a row is known when its end is met: all that was entered since the last
row has not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from penstock.model.row_patterns import (
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
)

#: Follows a place where a match may end.
ACCEPT = -1


@dataclass(frozen=True)
class _Step:
    """A step without a row: to any of `then`, in this order; or the place `place` takes a row.

    `enters` and `leaves` are the numbers of iterations that begin and end here.
    """

    then: tuple[int, ...] = ()
    place: int | None = None
    enters: int | None = None
    leaves: int | None = None


@dataclass
class Automaton:
    """Places by number: the variable of each, and what may follow; `first`: what may begin."""

    pattern: RowPattern
    variables: tuple[str, ...] = ()
    of: list[int] = field(default_factory=list)
    first: tuple[int, ...] = ()
    after: list[tuple[int, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.variables = self.pattern.variables()
        self._steps: list[_Step] = [_Step()]  # the end
        begin = self._add(self.pattern, 0)
        behind = {step.place: step.then[0] for step in self._steps if step.place is not None}
        self.first = self._reached(begin)
        self.after = [self._reached(behind[place]) for place in range(len(self.of))]

    @cached_property
    def depths(self) -> list[int]:
        """The least number of rows in front of each place."""
        found: dict[int, int] = {}
        level, depth = list(self.first), 0
        while level:
            new = [place for place in level if place != ACCEPT and place not in found]
            found |= dict.fromkeys(new, depth)
            level, depth = [then for place in new for then in self.after[place]], depth + 1
        return [found[place] for place in range(len(self.of))]

    def _note(self, step: _Step) -> int:
        self._steps.append(step)
        return len(self._steps) - 1

    def _add(self, pattern: RowPattern, then: int) -> int:
        """The step at which a pattern begins that is followed by another one."""
        match pattern:
            case PatternVariable():
                self.of.append(self.variables.index(pattern.name))
                return self._note(_Step((then,), place=len(self.of) - 1))
            case PatternSequence():
                for part in reversed(pattern.steps):
                    then = self._add(part, then)
                return then
            case PatternChoice():
                return self._note(_Step(tuple(self._add(each, then) for each in pattern.choices)))
            case PatternRepeat():
                return self._repeat(pattern, then)
        raise AssertionError(f"no such pattern: {pattern!r}")

    def _repeat(self, repeat: PatternRepeat, then: int) -> int:
        if repeat.most is None:
            begin = self._note(_Step())
            self._steps[begin] = self._iterate(repeat, begin, then)
        else:
            begin = then
            for _ in range(repeat.most - repeat.least):
                begin = self._note(self._iterate(repeat, begin, then))
        for _ in range(repeat.least):
            begin = self._add(repeat.part, begin)
        return begin

    def _iterate(self, repeat: PatternRepeat, again: int, then: int) -> _Step:
        """One iteration more, which must match a row, or none."""
        number = len(self._steps)
        leave = self._note(_Step((again,), leaves=number))
        enter = self._note(_Step((self._add(repeat.part, leave),), enters=number))
        return _Step((then, enter) if repeat.reluctant else (enter, then))

    def _reached(self, begin: int) -> tuple[int, ...]:
        """The places that are reached without a row, the preferred ones first."""
        found: dict[int, None] = {}
        seen = set()
        stack = [(begin, frozenset[int]())]
        while stack:
            number, entered = stack.pop()
            if (number, entered) in seen:
                continue
            seen.add((number, entered))
            step = self._steps[number]
            if number == 0:
                found.setdefault(ACCEPT)
            elif step.place is not None:
                found.setdefault(step.place)
            elif step.leaves is None or step.leaves not in entered:
                now = entered if step.enters is None else entered | {step.enters}
                stack += ((each, now) for each in reversed(step.then))
        return tuple(found)
