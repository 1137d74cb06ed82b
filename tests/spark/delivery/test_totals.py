"""Totals over restarts: every batch counts once, however often it is run."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from penstock.checkpoint.layout import Layout
from penstock.errors import HostError
from penstock.spark.delivery.totals import Totals


@pytest.mark.parametrize("seed", range(20))
def test_every_batch_counts_once_over_replays_and_restarts(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    totals, expected = Totals(tmp_path), Counter[str]()
    for batch in range(30):
        counts = {"read": chance.choice([0, 0, 3, 8]), "late": chance.choice([0, 1])}
        expected.update(counts)
        for _ in range(chance.choice([1, 1, 2, 3])):  # it may be tried before it is committed
            totals.note(batch, {"stream s": counts, "query q": {"rows": 1}})
            if chance.random() < 0.3:
                totals = Totals(tmp_path)
    assert totals.of("stream s") == +expected
    assert totals.of("query q")["rows"] == 30
    assert totals.of("stream of nobody") == Counter()


def test_a_batch_that_gives_other_counts_when_it_is_repeated_has_the_last_ones(
    tmp_path: Path,
) -> None:
    totals = Totals(tmp_path)
    totals.note(0, {"stream s": {"read": 5}})
    totals.note(1, {"stream s": {"read": 7}})
    again = Totals(tmp_path)
    again.note(1, {"stream s": {"read": 6}})
    assert again.of("stream s")["read"] == 11


def test_counts_that_were_changed_are_refused(tmp_path: Path) -> None:
    Totals(tmp_path).note(0, {"stream s": {"read": 5}})
    file = Path(str(Layout(tmp_path).counts))
    file.write_text(file.read_text().replace("5", "6"))
    with pytest.raises(HostError, match="was changed since it was written"):
        Totals(tmp_path)
