"""Aggregates that are chosen anew at every opportunity."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from unittest.mock import patch

from penstock.optimizer import rechoose
from penstock.runtime import rechoosing


@contextmanager
def changing_all_the_time() -> Iterator[None]:
    """Whatever is looked at is changed, and everything is looked at all the time."""
    with (
        patch.object(rechoose, "PAYS", 0),
        patch.object(rechoosing, "WINDOWS", 1),
        patch.object(rechoosing, "RANGES", 0),
        patch.object(rechoosing, "ABSORBED", inf),
    ):
        yield
