"""Threads, subscribers and functions that call the engine while it works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

import polars as pl
import pytest

from penstock.errors import NotExecutable, UserCodeError
from penstock.local.engine import LocalEngine
from penstock.runtime.engine_lock import EngineLock, FairLock

NOON = datetime(2026, 1, 1, 12)

SCRIPT = """
CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 DAY;
CREATE QUERY counted AS
  SELECT item, count(*) AS n, sum(price) AS total FROM bids [RANGE 1 MINUTE] GROUP BY item;
"""


def bid(number: int, item: str = "lamp") -> dict[str, object]:
    return {"item": item, "price": number, "ts": NOON + timedelta(milliseconds=number)}


def in_threads(*works: Callable[[], object]) -> None:
    """Run all works at once; raises what the first of them failed with."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def engine_of(script: str = SCRIPT) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(script)
    return engine


def attack(engine: LocalEngine, threads: int, goes_on: Callable[[int], bool]) -> tuple[int, float]:
    """Threads that push, and every third one that looks and declares instead.

    Gives the number of rows that were pushed, and the longest call in seconds.
    """
    pushed, longest = [0] * threads, [0.0] * threads

    def timed(thread: int, call: Callable[[], object]) -> None:
        began = time.monotonic()
        call()
        longest[thread] = max(longest[thread], time.monotonic() - began)

    def push(thread: int) -> None:
        number = 0
        while goes_on(number):
            rows = [bid(number + i, f"item {thread}") for i in range(1 + number % 3)]
            timed(thread, partial(engine.push, "bids", rows))
            pushed[thread] += len(rows)
            number += len(rows)

    def look(thread: int) -> None:
        name, number = f"q{thread}", 0
        calls: list[Callable[[], object]] = [
            lambda: engine.sql(f"CREATE QUERY {name} AS SELECT price FROM bids WHERE price < 0"),
            engine.status,
            lambda: engine.sql("EXPLAIN LIVE counted"),
            lambda: engine.sql("SHOW QUERIES"),
            lambda: engine.counts("bids"),
            lambda: engine.query("counted").status,
            lambda: engine.sql("SELECT item FROM bids WHERE price < 0").stop(),
            engine.advance,
            lambda: engine.tables(),
            lambda: engine.sql(f"DROP QUERY {name}"),
        ]
        while goes_on(number):
            for call in calls:
                timed(thread, call)
                number += 1

    works = [look if thread % 3 == 2 else push for thread in range(threads)]
    in_threads(*(lambda n=n, work=work: work(n) for n, work in enumerate(works)))
    return sum(pushed), max(longest)


def check_counts(engine: LocalEngine, pushed: int) -> None:
    engine.finish()
    assert engine.counts("bids").rows == pushed
    assert engine.query("counted").results().get_column("n").sum() == pushed


def test_two_threads_push_into_one_stream() -> None:
    engine = engine_of()
    rows = [bid(number) for number in range(2000)]

    def push() -> None:
        for start in range(0, len(rows), 10):
            engine.push("bids", rows[start : start + 10])

    in_threads(push, push)
    check_counts(engine, 2 * len(rows))


def test_threads_push_declare_and_look_at_once() -> None:
    engine = engine_of()
    pushed, _ = attack(engine, 6, lambda number: number < 150)
    check_counts(engine, pushed)


@pytest.mark.slow
def test_fourteen_threads_for_a_minute(record_property: Callable[[str, object], None]) -> None:
    engine, began = engine_of(), time.monotonic()
    pushed, longest = attack(engine, 14, lambda number: time.monotonic() < began + 60)
    check_counts(engine, pushed)
    record_property("longest call", longest)
    print(f"{pushed:,} rows, longest call {longest:.2f} s")


def test_a_subscriber_may_push_and_its_rows_come_in_order() -> None:
    engine = engine_of()
    seen: list[int] = []

    def double(rows: pl.DataFrame) -> None:
        for price in rows.get_column("price"):
            seen.append(price)
            if price < 16:
                engine.push("bids", [bid(2 * price)])

    engine.sql("SET rows_per_step = 1")
    engine.sql("SELECT price FROM bids WHERE price > 0").subscribe(double)
    engine.push("bids", [bid(1), bid(9)])
    assert seen == [1, 9, 2, 18, 4, 8, 16]
    check_counts(engine, len(seen))


def test_a_subscriber_may_look_declare_drop_and_stop() -> None:
    engine = engine_of()
    seen: list[object] = []

    def look(rows: pl.DataFrame) -> None:
        seen.append(engine.status().streams["bids"].counts.rows)
        later = engine.sql("CREATE QUERY later AS SELECT price FROM bids")
        engine.push("bids", [bid(7)])
        engine.sql("DROP QUERY first")
        seen.append(later)

    engine.sql("CREATE QUERY first AS SELECT price FROM bids").subscribe(look)
    engine.push("bids", [bid(1), bid(2)])
    assert seen == [2, engine.query("later")]
    assert engine.query("later").results().get_column("price").to_list() == [7]
    engine.query("later").subscribe(lambda rows: engine.stop())
    engine.push("bids", [bid(3)])
    with pytest.raises(NotExecutable, match="has been stopped"):
        engine.push("bids", [bid(4)])


def test_other_threads_may_call_the_engine_while_a_subscriber_waits_for_them() -> None:
    engine = engine_of()
    seen: list[int] = []

    def ask(rows: pl.DataFrame) -> None:
        seen.extend(rows.get_column("price"))
        if seen == [1]:
            in_threads(
                lambda: engine.push("bids", [bid(2)]),
                lambda: seen.append(-engine.counts("bids").rows),
                lambda: engine.sql("CREATE QUERY more AS SELECT price FROM bids"),
            )

    engine.sql("SELECT price FROM bids WHERE price > 0").subscribe(ask)
    engine.push("bids", [bid(1)])
    assert seen == [1, -1, 2]
    assert engine.query("more").results().get_column("price").to_list() == [2]


@pytest.mark.parametrize("vectorised", [False, True])
@pytest.mark.parametrize("by_thread", [False, True])
def test_a_function_may_call_the_engine(vectorised: bool, by_thread: bool) -> None:
    engine = engine_of()
    seen: list[object] = []
    once = threading.Semaphore(1)  # Polars calls a function for two columns at once

    def call() -> None:
        engine.push("bids", [bid(5)])
        seen.append(engine.status().streams["bids"].counts.rows)
        engine.sql("CREATE QUERY later AS SELECT price FROM bids WHERE price > 4")
        engine.sql("DROP QUERY counted")

    def plus_one(x: int | pl.Series) -> int | pl.Series:
        if once.acquire(blocking=False):
            in_threads(call) if by_thread else call()
        return x + 1

    engine.function("plus_one", plus_one, arguments="x INT", returns="INT", vectorised=vectorised)
    query = engine.sql("SELECT plus_one(price) AS y, plus_one(price + 1) AS z FROM bids")
    engine.push("bids", [bid(1), bid(2)])
    assert query.results().rows() == [(2, 3), (3, 4), (6, 7)]
    assert seen == [2]
    assert engine.query("later").results().get_column("price").to_list() == [5]
    assert [each.name for each in engine.queries] == [query.name, "later"]


def test_an_aggregate_may_call_the_engine() -> None:
    engine = engine_of()
    seen: list[int] = []

    class Total:
        def empty(self) -> int:
            return 0

        def add(self, state: int, x: int) -> int:
            seen.append(engine.status().streams["bids"].counts.rows)
            return state + x

        def result(self, state: int) -> int:
            if state == 3:
                engine.push("bids", [bid(4)])
            return state

    engine.aggregate("total", Total, arguments="x INT", returns="BIGINT")
    query = engine.sql("SELECT total(price) AS t FROM bids [RANGE 1 MINUTE]")
    engine.push("bids", [bid(1), bid(2)])
    engine.punctuate("bids", NOON + timedelta(minutes=1))
    assert query.results().get_column("t").to_list() == [3]
    assert seen
    assert engine.counts("bids").late == 1


def test_a_function_cannot_exchange_the_operators_that_wait_for_it() -> None:
    engine = engine_of()
    refused: list[str] = []

    def meddle(x: int) -> int:
        for call in (
            lambda: engine.sql("ALTER QUERY counted SET (aggregation = wid)"),
            lambda: engine.function("meddle", meddle, replace=True),
            engine.finish,
        ):
            with pytest.raises(NotExecutable) as raised:
                call()
            refused.append(raised.value.message)
        return x

    engine.function("meddle", meddle)
    query = engine.sql("SELECT meddle(price) AS y FROM bids")
    engine.push("bids", [bid(1)])
    assert query.results().get_column("y").to_list() == [1]
    assert [text.split(" cannot ")[0] for text in refused] == [
        "query `counted`",
        "function `meddle`",
        "finish()",
    ]


def test_what_a_function_has_declared_stays_when_it_fails() -> None:
    engine = engine_of("CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts")
    gone = engine.sql("CREATE QUERY gone AS SELECT count(*) AS n FROM bids [RANGE 1 MINUTE]")

    def fail(x: int) -> int:
        if x == 2:
            engine.sql("CREATE QUERY later AS SELECT price FROM bids; DROP QUERY gone")
            engine.sql("CREATE STREAM more (x INT)")
            engine.push("bids", [bid(3)])
            raise ValueError(x)
        return x

    engine.function("fail", fail)
    query = engine.sql("SELECT fail(price) AS y FROM bids")
    engine.push("bids", [bid(1)])
    with pytest.raises(UserCodeError, match="ValueError: 2"):
        engine.push("bids", [bid(2)])
    engine.push("bids", [bid(4)])
    assert query.results().get_column("y").to_list() == [1, 3, 4]
    assert engine.query("later").results().get_column("price").to_list() == [3, 4]
    assert not gone.isActive
    assert engine.counts("bids").rows == 3


def test_threads_read_files_and_iterables_together() -> None:
    engine = LocalEngine()

    def numbers(skip: int) -> Iterator[dict[str, object]]:
        return iter([bid(number) for number in range(skip, 500)])

    columns = "item STRING, price INT, ts TIMESTAMP"
    engine.stream("bids", numbers, columns=columns, timestamp="ts", slack="1 DAY")
    engine.sql("CREATE QUERY counted AS SELECT count(*) AS n FROM bids [RANGE 1 MINUTE]")

    def read() -> None:
        for _ in engine.read_files(in_step=True):
            pass

    in_threads(read, read, read)
    check_counts(engine, 500)


def test_threads_get_the_lock_in_the_order_in_which_they_ask() -> None:
    lock, order = FairLock(), []
    lock.acquire()

    def take(number: int) -> None:
        with lock:
            order.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    for number, thread in enumerate(threads):
        thread.start()
        while len(lock._waiting) <= number:
            time.sleep(0.001)
    assert not lock.acquire(blocking=False)
    lock.release()
    for thread in threads:
        thread.join()
    assert order == list(range(8))


def test_calls_from_several_threads_of_one_run_suspend_it_until_the_last_returns() -> None:
    lock, entered = EngineLock(), threading.Barrier(3)
    seen: list[bool] = []

    def call() -> None:
        with lock.outside(in_step=True):
            entered.wait()
            with lock:
                seen.append(lock.is_suspended and lock.is_in_step and lock.is_user_code)

    with lock, lock.running():
        in_threads(call, call, call)
        assert not lock.is_suspended
        assert lock.acquire(blocking=False)  # it is reentrant
        lock.release()
    assert seen == [True] * 3
