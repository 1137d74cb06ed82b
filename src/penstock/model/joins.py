"""What a window join is asked for, besides its band: which rows without a partner are kept."""

from __future__ import annotations

from enum import Enum


class JoinKind(Enum):
    """Which rows without a partner are kept; SEMI and ANTI give left rows only."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def is_one_sided(self) -> bool:
        """Whether results are rows of the left side, not pairs."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)

    def keeps_alone(self, side: int) -> bool:
        """Whether a row of that side comes out when it has no partner.

        >>> JoinKind.LEFT.keeps_alone(0), JoinKind.LEFT.keeps_alone(1)
        (True, False)
        """
        return self in _KEEPING[side]

    def tells_apart(self, side: int) -> bool:
        """Whether it must be known which rows of that side have met a partner."""
        return self.keeps_alone(side) or (self is JoinKind.SEMI and side == 0)


_KEEPING = (
    (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI),
    (JoinKind.RIGHT, JoinKind.FULL),
)


def qualified(name: str, column: str) -> str:
    """What a join calls a column of one of its inputs.

    An input without a name is a join itself, whose columns have such names already.

    >>> qualified("a", "ts"), qualified("", "a.ts")
    ('a.ts', 'a.ts')
    """
    return f"{name}.{column}" if name else column
