"""BatchTurns: who waits for a batch, and for how long."""

from __future__ import annotations

import threading

from penstock.spark.control.batch_turns import BatchTurns


def waiting(turns: BatchTurns, active: threading.Event, noted: threading.Event) -> threading.Thread:
    def wait() -> None:
        turns.wait_until_over(3, active.is_set, noted.is_set)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_whoever_waits_does_so_until_what_was_asked_for_is_noted(monkeypatch) -> None:
    monkeypatch.setattr("penstock.spark.control.batch_turns.PATIENCE", 0.0)
    turns, active, noted = BatchTurns(2), threading.Event(), threading.Event()
    active.set()
    thread = waiting(turns, active, noted)
    turns.over(3)
    thread.join(0.2)
    assert thread.is_alive()
    noted.set()
    thread.join()


def test_nobody_waits_for_a_pipeline_that_has_ended() -> None:
    turns, active, noted = BatchTurns(2), threading.Event(), threading.Event()
    active.set()
    thread = waiting(turns, active, noted)
    active.clear()
    thread.join()


def test_whoever_delivers_a_batch_does_not_wait_for_it() -> None:
    turns = BatchTurns(2)
    with turns.delivering():
        turns.wait_until_over(3, lambda: True, lambda: False)


def test_nor_does_it_wait_for_that_of_another_pipeline_which_may_wait_for_it() -> None:
    with BatchTurns(2).delivering():
        BatchTurns(5).wait_until_over(6, lambda: True, lambda: False)
