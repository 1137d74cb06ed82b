"""A pipeline that does not start: the others can still be stopped, and it holds nothing."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import HostError
from penstock.spark import engine as module
from penstock.spark.engine import Engine


class FakeRunning:
    """A pipeline; the second one does not start."""

    made = 0
    query = object()

    def __init__(
        self, engine: Engine, group: Any, read: Any, *, accept_changes: bool = False
    ) -> None:
        FakeRunning.made += 1
        self.number, self.group = FakeRunning.made, group

    def start(self, interval: str, may_begin: Any, *, to_end: bool = False) -> None:
        if self.number == 2:
            raise HostError("it does not start")

    def stop(self) -> None:
        assert self.number == 1, "it never ran"


def test_an_engine_whose_second_pipeline_does_not_start_stops_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "RunningPipeline", FakeRunning)
    monkeypatch.setattr(FakeRunning, "made", 0)
    engine = Engine()
    for name in "ab":
        engine.sql(f"CREATE STREAM {name} (v INT) FROM rate; SELECT v FROM {name}")
    with pytest.raises(HostError, match="does not start"):
        engine.start()
    assert engine.stop() == []


def test_a_pipeline_that_fails_to_stop_does_not_keep_the_others_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped = []

    class Stubborn(FakeRunning):
        def start(self, interval: str, may_begin: Any, *, to_end: bool = False) -> None:
            pass

        def stop(self) -> None:
            stopped.append(self.number)
            raise HostError(f"Spark is gone {len(stopped)}")

    monkeypatch.setattr(module, "RunningPipeline", Stubborn)
    engine = Engine()
    for name in "ab":
        engine.sql(f"CREATE STREAM {name} (v INT) FROM rate; SELECT v FROM {name}")
    engine.start()
    with pytest.raises(HostError, match="Spark is gone 1"):
        engine.stop()
    assert len(stopped) == 2 and engine.stop() == []


def test_batches_begin_when_all_pipelines_have_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else those that run take processor time from those that are still to start."""
    seen: list[Any] = []

    class Seen(FakeRunning):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            seen.append("made")

        def start(self, interval: str, may_begin: Any, *, to_end: bool = False) -> None:
            seen.append(may_begin.is_set())
            self.may_begin = may_begin

    monkeypatch.setattr(module, "RunningPipeline", Seen)
    engine = Engine()
    for name in "abc":
        engine.sql(f"CREATE STREAM {name} (v INT) FROM rate; SELECT v FROM {name}")
    engine.start()
    assert seen == ["made"] * 3 + [False] * 3
    assert all(running.may_begin.is_set() for running in engine._running)  # type: ignore[attr-defined]


def test_pipelines_that_were_made_let_go_where_another_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left: list[int] = []

    class Held(FakeRunning):
        def let_go(self) -> None:
            left.append(self.number)

    monkeypatch.setattr(module, "RunningPipeline", Held)
    monkeypatch.setattr(FakeRunning, "made", 0)
    engine = Engine()
    for name in "abc":
        engine.sql(f"CREATE STREAM {name} (v INT) FROM rate; SELECT v FROM {name}")
    with pytest.raises(HostError, match="does not start"):
        engine.start()
    assert left == [3]  # the second has let go itself
