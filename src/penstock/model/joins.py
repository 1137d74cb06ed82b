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
