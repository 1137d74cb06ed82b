"""Enabling timestamps on Spark: what bounds the driver sends, and that no row lies below them.

The simulation has a driver and groups, but no Spark: a clock, rows that arrive whenever they like
(no later than their stream's declared skew allows), micro-batches that look at one source after the
other while rows and bounds go on coming. Whatever happens in between, no row may be late, answers
are the oracle's, and everything whose time has come is out, though a stream is silent or has never
spoken.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.errors import HostError
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets, periodic
from penstock.model.timestamps import BEGINNING, SECOND
from penstock.optimizer.optimize import optimize
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.spark.control.control_stream import ControlStream
from penstock.spark.control.driver_enabling import DriverEnabling
from penstock.spark.control.enabling_timer import EnablingTimer
from penstock.spark.control.spark_progress import BatchTimes
from penstock.spark.delivery.delivery import BatchReport
from penstock.spark.delivery.group_reports import GroupReport, releases_of
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    MicroBatch,
    Worker,
)
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import seeds

START = 1000 * SECOND
SKEW = 3 * SECOND
STREAMS = """
CREATE STREAM busy (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 3 SECONDS SKEW 3 SECONDS;
CREATE STREAM lulled (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 3 SECONDS LULL 3 SECONDS;
CREATE STREAM silent (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 3 SECONDS SKEW 3 SECONDS
"""
QUERIES = {
    "union": "SELECT k, count(*) AS n FROM (busy UNION lulled UNION silent) "
    "[RANGE 5 SECONDS, SLIDE 2 SECONDS] GROUP BY k",
    "filtered": "SELECT count(*) AS n FROM (SELECT * FROM busy WHERE k > 5 UNION ALL "
    "SELECT * FROM lulled) [RANGE 6 SECONDS]",
    "outer": "SELECT b.k AS k, b.ts AS t, s.ts AS u FROM busy b LEFT JOIN silent s "
    "ON b.k = s.k WITHIN 2 SECONDS",
}


class Driver:
    """One pipeline with a clock; what Spark and the driver do between two looks at it."""

    def __init__(self, text: str, ets: Ets, *, is_prompt: bool, seed: int) -> None:
        engine = LocalEngine()
        engine.sql(STREAMS)
        [share] = assign_pipelines({"q": engine.sql(text).plan})
        self.plan = share.queries["q"]
        self.program = optimize(share.queries)
        self.pipeline = FakePipeline(Exchange(self.program, share.keys, (2, 0)))
        streams = {stream.name: stream for stream in self.program.streams}
        self.enabling = DriverEnabling(streams, share.queries, ets)
        self.enabling.is_prompt = is_prompt
        self.now = START
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in streams}
        self.pending: dict[str, list[dict[str, Any]]] = {name: [] for name in streams}
        self.messages: list[dict[str, int]] = []
        self.batches = 0
        self._random = random.Random(seed)
        self._worker = Worker(None)

    def live(self, ticks: int, speaking: tuple[str, ...]) -> None:
        """Let the clock run; some streams bring rows, none further behind it than its skew."""
        end = self.now + ticks
        while self.now < end:
            self.now = min(end, self.now + self._random.randrange(1, SECOND // 2))
            for name in speaking:
                if name in self.rows and self._random.random() < 0.3:
                    lag = self._random.randrange(0, SKEW // 2)
                    row = {"k": self._random.randrange(8), "ts": self.now - lag}
                    self.rows[name].append(row)
                    self.pending[name].append(row)

    def batch(self, speaking: tuple[str, ...] = ()) -> None:
        """A trigger: the sources are looked at in turn, and meanwhile the world goes on."""
        began = self.now
        bounds: dict[str, int] = {}
        names: list[str | None] = list(self.rows)
        if self.enabling.is_prompt:
            names.insert(0, None)
        else:
            names.append(None)
        taken = {}
        heard = False
        for name in names:
            if name is None:
                heard = bool(self.messages)
                for each in self.messages:
                    bounds |= {s: max(b, bounds.get(s, b)) for s, b in each.items()}
                self.messages = []
            else:
                taken[name], self.pending[name] = self.pending[name], []
            self.live(SECOND // 10, speaking)
            self.ask()
        listed = self.now
        if not heard and not any(taken.values()):
            return
        self.live(SECOND // 2, speaking)
        rows = {name: [[part]] for name, part in taken.items() if part}
        said = {**bounds, "nobody": 0} if heard else {}  # an empty message is heard as well
        self.pipeline.process(MicroBatch(rows, said), lambda group: self._worker)
        groups = self.reports()
        report = BatchReport(
            self.batches,
            {name: len(part) for name, part in taken.items()},
            groups[0].bounds if groups else {},
            groups[0].newest if groups else {},
            {name for group in groups for name in group.awaited},
            releases_of(group.releases for group in groups),
        )
        self.enabling.take_report(report, self.now)
        self.enabling.over(BatchTimes(self.batches, began, listed))
        self.batches += 1
        self.ask()

    def ask(self) -> None:
        made = self.enabling.bounds_at(self.now)
        if made is not None:
            self.messages.append(made)

    def reports(self) -> list[GroupReport]:
        return [output.report() for output in self.pipeline.outputs[-1].values()]

    def results(self) -> list[dict[str, Any]]:
        return self.pipeline.rows("result", "q")

    def expected(self) -> list[dict[str, Any]]:
        numbered = {
            name: [{**row, "row_num": n} for n, row in enumerate(rows, 1)]
            for name, rows in self.rows.items()
        }
        return evaluate(self.plan, numbered)


@pytest.mark.parametrize("is_prompt", [True, False])
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("seed", seeds(2, slow=4))
def test_no_row_is_late_and_what_is_due_is_out(query: str, is_prompt: bool, seed: int) -> None:
    ets = [ON_DEMAND, periodic(2 * SECOND)][seed % 2]
    driver = Driver(QUERIES[query], ets, is_prompt=is_prompt, seed=seed)
    phases: tuple[tuple[str, ...], ...] = (
        ("busy", "lulled"),
        ("busy",),
        (),
        ("busy", "lulled", "silent"),
        ("lulled",),
    )
    for speaking in phases:
        for _ in range(4):
            driver.live(SECOND, speaking)
            driver.batch(speaking)
    for _ in range(40):  # nothing comes any more, and the clock goes on
        driver.live(SECOND, ())
        driver.ask()
        driver.batch()
    for stream in driver.program.streams:
        assert driver.pipeline.rows("late", stream.name) == []
    assert same_rows(driver.results(), driver.expected())


def test_without_enabling_timestamps_a_silent_stream_holds_everything_back() -> None:
    driver = Driver(QUERIES["union"], NO_ETS, is_prompt=True, seed=1)
    for _ in range(20):
        driver.live(SECOND, ("busy", "lulled"))
        driver.batch()
    assert driver.results() == []
    assert driver.enabling.progress()["silent"].bound == BEGINNING


@pytest.mark.parametrize("ets", [NO_ETS, periodic(60 * SECOND)])
def test_a_lull_goes_on_with_the_clock_though_nobody_asks(ets: Ets) -> None:
    driver = Driver(
        "SELECT count(*) AS n FROM lulled [RANGE 1 SECOND]", ets, is_prompt=True, seed=1
    )
    assert driver.enabling.can_help
    driver.live(2 * SECOND, ("lulled",))
    driver.batch()
    for _ in range(40):
        driver.live(SECOND // 5, ())
        driver.batch()
    assert same_rows(driver.results(), driver.expected())
    # It is looked for every second, not all the time.
    assert 0 < driver.batches <= (driver.now - START) // SECOND


def test_a_silent_stream_delays_results_by_one_batch() -> None:
    driver = Driver(QUERIES["union"], ON_DEMAND, is_prompt=True, seed=2)
    for _ in range(10):
        driver.live(SECOND, ("busy", "lulled"))
        driver.batch()
    busy = max(row["ts"] for row in driver.rows["busy"])
    before = len(driver.results())
    driver.batch()  # brings nothing but the bound
    assert len(driver.results()) > before
    ends = {row["window_end"] for row in driver.results()}
    assert max(ends) > busy - SKEW - 3 * SECOND


def test_nothing_is_asked_while_nothing_is_held() -> None:
    driver = Driver(QUERIES["union"], ON_DEMAND, is_prompt=True, seed=3)
    driver.live(SECOND, ("busy", "lulled"))
    driver.batch()
    for _ in range(30):
        driver.live(SECOND, ())
        driver.ask()
        driver.batch()
    batches = driver.batches
    driver.live(60 * SECOND, ())
    driver.ask()
    assert driver.messages == []
    assert driver.batches == batches


def test_a_stream_that_says_nothing_about_the_clock_cannot_help() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND")
    plan = engine.sql("SELECT count(*) [RANGE 1 SECOND] AS n FROM s").plan
    stream = engine.declared_stream("s").stream
    enabling = DriverEnabling({"s": stream}, {"q": plan}, ON_DEMAND)
    assert not enabling.can_help
    enabling.is_prompt = True
    enabling.take_report(BatchReport(0, {"s": 1}, {"s": START}, {"s": START}, {"s"}), START)
    assert enabling.bounds_at(START + 60 * SECOND) is None
    assert enabling.progress()["s"].bound == START


def test_a_bound_that_cannot_be_written_is_told_to_whoever_uses_the_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driver(QUERIES["union"], ON_DEMAND, is_prompt=True, seed=3)
    monkeypatch.setattr(driver.enabling, "bounds_at", lambda now: {"busy": now})
    control = ControlStream(tmp_path / "control")
    timer = EnablingTimer(driver.enabling, control, lambda: None, lambda: START)
    timer.check()
    (tmp_path / "control").rmdir()
    timer.start()
    timer._thread.join()
    assert not timer._thread.is_alive()
    with pytest.raises(HostError, match=r"for silent streams cannot be written: .*No such file"):
        timer.check()


def test_groups_report_what_lets_the_next_row_out_and_nothing_less_does() -> None:
    driver = Driver(QUERIES["outer"], NO_ETS, is_prompt=True, seed=4)
    driver.live(3 * SECOND, ("busy",))
    driver.batch()
    first = min(row["ts"] for row in driver.rows["busy"])
    [release] = releases_of(group.releases for group in driver.reports())["q"].releases
    assert release.bounds == {("silent", "ts"): first + 2 * SECOND + 1} and release.certain
    driver.messages = [{"silent": first + 2 * SECOND}]
    driver.batch()
    assert driver.results() == []
    driver.messages = [{"silent": first + 2 * SECOND + 1}]
    driver.batch()
    assert {row["t"] for row in driver.results()} == {first}
