"""Sessions of rows and of pieces are those of the definition, however far times lie apart."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernel.aggregates.keys import code_integers
from penstock.kernel.aggregation import session_ranges
from penstock.kernel.aggregation.session_ranges import (
    Sessions,
    sessions_of_pieces,
    sessions_of_rows,
)
from penstock.model.timestamps import BEGINNING, END
from penstock.windows import Session
from tests.engine.draw import Draw, check_seeds


def extents(found: Sessions, partitions: np.ndarray) -> list[tuple[int, int, int]]:
    """Partition, begin and last row of each session."""
    of = partitions[found.groups.members]
    return sorted(zip(of.tolist(), found.begin.tolist(), found.last.tolist(), strict=True))


def sessions_are_those_of_the_definition(draw: Draw) -> None:
    gap = draw.choose([1, 3, 10, 1 << 40])
    rows = []
    for _ in range(draw.between(1, 60)):
        ts = draw.choose([*range(-40, 40), BEGINNING + 5, END - 5])
        rows.append({"k": draw.choose([-7, 0, 3, 1 << 50]), "ts": ts})
    windows = Session("ts", gap, ("k",)).windows(rows)
    expected = sorted((k, start, end - gap) for start, end, (k,) in windows)
    keys, times = (np.array([row[name] for row in rows]) for name in ("k", "ts"))
    found = sessions_of_rows(code_integers(keys), times, gap)
    assert extents(found, keys) == expected
    ids = found.groups.ids
    assert (found.begin[ids] <= times).all() and (times <= found.last[ids]).all()
    # Sessions of some of the rows, and single rows, are pieces of all of them.
    half = len(rows) // 2
    if half:
        part = sessions_of_rows(code_integers(keys[:half]), times[:half], gap)
        keys = np.append(keys[:half][part.groups.members], keys[half:])
        first, last = np.append(part.begin, times[half:]), np.append(part.last, times[half:])
        found = sessions_of_pieces(code_integers(keys), first, last, gap)
        assert extents(found, keys) == expected


@pytest.mark.parametrize("most", [session_ranges.MOST_CODES, 0])
def test_sessions_are_those_of_the_definition(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_ranges, "MOST_CODES", most)
    check_seeds(200, sessions_are_those_of_the_definition)
