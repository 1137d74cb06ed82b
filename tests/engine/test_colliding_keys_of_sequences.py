"""Sequences whose keys have equal hashes, which happens once in a great while."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from penstock.kernel.joins import keys
from penstock.kernel.joins.run import Codes
from tests.engine.draw import check_seeds
from tests.engine.test_sequences_against_oracle import (
    chronicle_gives_the_oracles_answer,
    recent_gives_the_oracles_answer,
)


def test_keys_whose_hashes_are_equal_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(self: keys.Keys, rows: pl.DataFrame) -> Codes:
        return np.zeros(rows.height, np.uint64)

    monkeypatch.setattr(keys.Keys, "whole_hashes", few)
    check_seeds(6, recent_gives_the_oracles_answer)
    check_seeds(6, chronicle_gives_the_oracles_answer)
