"""The engine as its users meet it: rows in, rows out, and what becomes of those that do not fit."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import polars as pl
import pyarrow as pa
import pytest

from penstock.errors import (
    BadPunctuation,
    MalformedRow,
    UnknownName,
)
from penstock.kernel.rejected import Reason
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.runtime.clock import VirtualClock
from tests.engine.bids import BEST, BIDS, NOON, bid, prices

# --- rows in, rows out --------------------------------------------------------------------------


def test_windows_come_out_when_they_are_over_and_the_last_ones_at_the_end(
    engine: LocalEngine,
) -> None:
    best = engine.sql(BEST)
    engine.push("bids", [bid(40), bid(42, 9)])
    assert best.results().height == 0
    engine.push("bids", [bid(7, 10)])
    first = {"item": "lamp", "best": 42, "window_start": NOON}
    first["window_end"] = NOON + timedelta(minutes=10)
    assert best.results().to_dicts() == [first]
    engine.finish()
    assert best.results().get_column("best").to_list() == [42, 7]
    assert (best.rows, best.status.state) == (2, "stopped")


def test_fetch_hands_rows_out_once(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price FROM bids")
    engine.push("bids", [bid(1), bid(2)])
    assert query.fetch().height == 2
    assert query.fetch().height == 0
    engine.push("bids", [bid(3)])
    assert query.fetch().to_dicts() == [{"price": 3}]


def test_subscribers_get_rows_at_once_and_instead_of_results(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price FROM bids WHERE price > 1")
    engine.push("bids", [bid(2)])
    seen: list[int] = []
    query.subscribe(lambda rows: seen.extend(rows.get_column("price")))
    engine.push("bids", [bid(1), bid(3), bid(4)])
    assert seen == [3, 4]
    assert prices(query) == [2]  # what came before anybody listened still waits
    assert query.rows == 3


def test_a_subscriber_may_stop_its_query(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price FROM bids")
    seen: list[int] = []

    def take_one(rows: pl.DataFrame) -> None:
        seen.extend(rows.get_column("price"))
        query.stop()

    query.subscribe(take_one)
    engine.push("bids", [bid(1)])
    engine.push("bids", [bid(2)])
    assert seen == [1]
    assert query.status.state == "stopped"


def test_a_subscriber_may_change_the_strategy_in_the_midst_of_a_run(engine: LocalEngine) -> None:
    engine.sql("SET rows_per_step = 1")
    query = engine.sql("SELECT item, price, ts FROM bids WHERE price > 0")
    counted = engine.sql("SELECT count(*) AS n FROM bids [RANGE 1 MINUTE] WHERE price > 0")
    names = iter(["bfs", "round_robin", "batched", "dfs"] * 5)
    seen: list[int] = []

    def change(rows: pl.DataFrame) -> None:
        seen.extend(rows.get_column("price"))
        engine.sql(f"SET strategy = {next(names)}")

    query.subscribe(change)
    engine.push("bids", [bid(price, price / 4) for price in range(1, 20)])
    engine.finish()
    assert seen == list(range(1, 20))
    assert counted.results().get_column("n").to_list() == [3, 4, 4, 4, 4]


def test_rows_come_as_dicts_or_tables_with_columns_in_any_order(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price, ts FROM bids")
    engine.push("bids", [bid(1)])
    engine.push("bids", pl.DataFrame({"ts": [NOON], "price": [2], "item": ["lamp"]}))
    engine.push("BIDS", [{"ts": NOON.replace(tzinfo=timezone.utc), "item": None, "price": 3}])
    table = pl.DataFrame({"ts": [NOON], "price": [4], "item": ["lamp"]})
    engine.push("bids", table.to_arrow())
    engine.push("bids", table.to_pandas())
    assert prices(query) == [1, 2, 3, 4, 4]
    assert query.results().get_column("ts").to_list() == [NOON] * 5


def test_a_bound_from_outside_closes_windows(engine: LocalEngine) -> None:
    best = engine.sql(BEST)
    engine.push("bids", [bid(40)])
    engine.punctuate("bids", NOON + timedelta(minutes=10))
    assert best.results().get_column("best").to_list() == [40]
    with pytest.raises(BadPunctuation, match="cannot fall"):
        engine.punctuate("bids", NOON)


def test_a_query_that_comes_later_knows_the_bounds_before_it(engine: LocalEngine) -> None:
    engine.sql(BIDS.replace("bids", "quiet"))
    engine.punctuate("quiet", NOON + timedelta(hours=1))
    late = engine.sql("SELECT count(*) AS n FROM bids UNION quiet [RANGE 1 MINUTE]")
    engine.push("bids", [bid(1), bid(2, 1)])
    # The quiet stream says nothing any more, and need not.
    assert late.results().get_column("n").to_list() == [1]


def test_times_before_1970_are_times_like_others(engine: LocalEngine) -> None:
    best = engine.sql(BEST)
    moment = datetime(1969, 12, 31, 23, 59, 59, 999999)
    rows = [
        {"item": "lamp", "price": 1, "ts": moment - timedelta(minutes=10)},
        {"item": "lamp", "price": 2, "ts": moment},
        {"item": "lamp", "price": 3, "ts": datetime(1970, 1, 1)},
    ]
    engine.push("bids", rows)
    engine.finish()
    ends = [(row["best"], row["window_end"]) for row in best.results().to_dicts()]
    assert ends == [
        (1, datetime(1969, 12, 31, 23, 50)),
        (2, datetime(1970, 1, 1)),
        (3, datetime(1970, 1, 1, 0, 10)),
    ]


def test_internal_time_is_the_clocks() -> None:
    clock = VirtualClock()
    engine = LocalEngine(clock=clock)
    engine.sql("CREATE STREAM clicks (page STRING) TIMESTAMP INTERNAL")
    query = engine.sql("SELECT count(*) AS n FROM clicks [RANGE 1 MINUTE]")
    for _ in range(3):
        engine.push("clicks", [{"page": "home"}])
        clock.spend(40 * SECOND)
    engine.finish()
    assert query.results().get_column("n").to_list() == [2, 1]


# --- nothing, and the end -----------------------------------------------------------------------


def test_a_query_on_a_stream_without_rows_has_columns_and_no_rows(engine: LocalEngine) -> None:
    best = engine.sql(BEST)
    engine.push("bids", [])
    engine.push("bids", pl.DataFrame(schema={"item": pl.String, "price": pl.Int32, "ts": pl.Int64}))
    engine.finish()
    moment = pl.Datetime("us")
    assert best.results().schema == {
        "item": pl.String(),
        "best": pl.Int32(),
        "window_start": moment,
        "window_end": moment,
    }
    assert best.results().height == 0


def test_finishing_twice_is_finishing_once(engine: LocalEngine) -> None:
    best = engine.sql(BEST)
    engine.push("bids", [bid(1)])
    engine.finish()
    engine.finish()
    assert best.results().height == 1


def test_what_is_pushed_after_the_end_is_late(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price FROM bids")
    engine.finish()
    engine.push("bids", [bid(1, 60)])
    assert query.results().height == 0
    assert engine.counts("bids").late == 1
    [aside] = engine.rejected_rows
    assert (aside.stream, aside.reason) == ("bids", Reason.LATE)
    assert aside.rows.get_column("price").to_list() == [1]


def test_an_engine_without_anything_finishes() -> None:
    engine = LocalEngine()
    assert engine.sql("") is None
    engine.finish()
    assert engine.queries == []
    assert list(engine.read_files()) == []


# --- rows that do not fit -----------------------------------------------------------------------


def test_rows_that_do_not_fit_are_set_aside_with_the_reason(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price FROM bids")
    engine.push(
        "bids",
        [
            bid(1),
            {"item": "lamp", "price": "much", "ts": NOON},
            {"item": "lamp", "price": 2.5, "ts": NOON},
            {"item": "lamp", "price": 2, "ts": None},
            {"item": "lamp", "price": 10**12, "ts": NOON},
            {"item": None, "price": None, "ts": NOON},
        ],
    )
    assert query.results().get_column("price").to_list() == [1, None]
    counts = engine.counts("bids")
    assert (counts.rows, counts.late, counts.malformed) == (2, 0, 4)
    reasons = [row["reason"] for aside in engine.rejected_rows for row in aside.rows.to_dicts()]
    assert reasons == [
        "price: 'much' is not a valid INT",
        "price: 2.5 is not a valid INT",
        "price: 1000000000000 is not a valid INT",
        "ts: None is not a valid time",
    ]


def test_rows_with_other_columns_are_an_error_and_nothing_is_pushed(engine: LocalEngine) -> None:
    query = engine.sql("SELECT price FROM bids")
    with pytest.raises(
        MalformedRow, match="no column `price` and an unknown column `prize`"
    ) as refused:
        engine.push("bids", [{"item": "lamp", "prize": 1, "ts": NOON}])
    assert "did you mean `price`?" in str(refused.value)
    assert (query.rows, engine.counts("bids").rows) == (0, 0)


@pytest.mark.parametrize("use", ["push", "punctuate", "counts"])
def test_an_unknown_stream_is_named_with_the_nearest_one(engine: LocalEngine, use: str) -> None:
    arguments = {"push": ([],), "punctuate": (0,), "counts": ()}[use]
    with pytest.raises(UnknownName, match="no stream `bid`") as refused:
        getattr(engine, use)("bid", *arguments)
    assert "did you mean `bids`?" in str(refused.value)


def test_a_query_is_no_stream_to_push_into(engine: LocalEngine) -> None:
    engine.sql("CREATE QUERY q AS SELECT price FROM bids")
    with pytest.raises(UnknownName, match="no stream `q`"):
        engine.push("q", [{"price": 1}])


def test_rows_of_a_query_can_be_iterated_over_once() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT) LATENT")
    query = engine.sql("SELECT v FROM s WHERE v > 1")
    engine.push("s", [{"v": 1}, {"v": 2}])
    engine.push("s", [{"v": 3}])
    assert list(query) == [{"v": 2}, {"v": 3}]
    assert list(query) == []


def test_times_beyond_those_of_python_are_text_in_results() -> None:
    engine = LocalEngine()
    query = engine.sql("CREATE STREAM s (ms BIGINT); SELECT timestamp_millis(ms) AS ts, ms FROM s")
    engine.push("s", [{"ms": 253_402_300_800_000}, {"ms": -62_167_219_200_000}])
    expected = ["+10000-01-01 00:00:00", "0000-01-01 00:00:00"]
    assert [row["ts"] for row in query.results().to_dicts()] == expected
    assert query.to_arrow().schema.field("ts").type == pa.timestamp("us", tz=None)
    assert query.to_polars()["ts"].dtype == pl.Datetime("us")
    assert [row["ts"] for row in query.fetch().rows(named=True)] == expected
    engine.push("s", [{"ms": 0}])
    assert query.fetch()["ts"].dtype == pl.Datetime("us")
