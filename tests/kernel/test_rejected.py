"""Rejected rows by their reasons: what is kept of them does not grow for ever."""

from __future__ import annotations

import polars as pl

from penstock.kernel.rejected import MOST_REASONS, OTHERS, Rejected


def test_reasons_that_are_never_the_same_are_counted_together() -> None:
    found = Rejected()
    for number in range(3 * MOST_REASONS):
        reason = f"stream `s` cannot go back to {number}"
        found.add(Rejected.of(pl.DataFrame({"k": ["x"], "reason": [reason]})))
    found.add(Rejected.of(pl.DataFrame({"k": ["x"], "reason": ["stream `s` cannot go back to 0"]})))
    assert found.reasons["stream `s` cannot go back to 0"] == 2
    assert found.reasons[OTHERS] == 2 * MOST_REASONS
    assert sum(found.reasons.values()) == 3 * MOST_REASONS + 1
