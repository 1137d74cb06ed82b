"""What the tests of the engine share."""

from __future__ import annotations

import pytest

from penstock.local.engine import LocalEngine
from tests.engine.bids import BIDS


@pytest.fixture
def engine() -> LocalEngine:
    """An engine with the stream `bids`."""
    engine = LocalEngine()
    engine.sql(BIDS)
    return engine
