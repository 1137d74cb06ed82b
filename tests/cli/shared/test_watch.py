"""When `penstock run` stops watching."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.cli.shared.watch import _cells, watch
from penstock.plan.blockers import Blockers
from penstock.runtime.status import BatchStatus, QueryStatus, Status


class Idle:
    """An engine whose files are all read."""

    def status(self) -> Status:
        return Status({}, {}, ())

    def is_finite(self) -> bool:
        return True

    def is_idle(self) -> bool:
        return True

    def check(self) -> None:
        pass


def test_finite_inputs_are_over_when_all_is_read_unless_they_are_followed() -> None:
    engine: Any = Idle()
    assert watch(engine)
    assert not watch(engine, 0.01, follow=True)


def test_a_query_that_waits_has_no_speed() -> None:
    def query(batch: BatchStatus | None) -> QueryStatus:
        blockers = Blockers("q", "nothing waits", ())
        return QueryStatus("q", "running", "", 1, 1, 0, 0, None, {}, 7, 2_000_000, batch, blockers)

    ran = BatchStatus(4, {"s": 500}, 0.25)
    assert _cells(query(None))[0] == "starting"
    assert _cells(query(ran)) == ["4", "2,000", "0.25", "", "7", "2.0 MB"]
    assert _cells(query(replace(ran, seconds=None))) == ["4", "0", "", "", "7", "2.0 MB"]
