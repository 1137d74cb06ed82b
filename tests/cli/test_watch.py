"""When `penstock run` stops watching."""

from __future__ import annotations

from typing import Any

from penstock.cli.watch import _cells, watch


class Idle:
    """An engine whose files are all read."""

    queries: tuple[Any, ...] = ()

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
    ours = {"batch": 4, "rows": {"s": 500}, "bounds": {}, "state_rows": 7, "state_bytes": 2e6}
    ran: dict[str, Any] = {
        "batchId": 4,
        "batchDuration": 250,
        "durationMs": {"addBatch": 200},
        "penstock": ours,
    }
    # Spark says so after ten seconds, under the number of the batch to come.
    waits = {**ran, "batchId": 5, "batchDuration": 1, "durationMs": {"latestOffset": 1}}
    assert _cells(ran) == ["4", "2,000", "0.25", "", "7", "2.0 MB"]
    assert _cells(waits) == ["4", "0", "", "", "7", "2.0 MB"]
