"""Begin: from when on a query sees rows, where it comes to streams that run already."""

from __future__ import annotations

from enum import Enum


class Begin(Enum):
    """What stands behind FROM in CREATE QUERY.

    Without it a query begins with the rows that come from now on, and one that replaces another
    keeps what both compute alike.
    """

    NOW = "now"  # rows that come from now on
    STATE = "state"  # these, and what operators that it shares with running queries have kept
    START = "start"  # all rows of its streams, read again from their beginning
