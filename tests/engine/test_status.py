"""What a query's handle and an engine say of themselves."""

from __future__ import annotations

import logging
import re
from datetime import datetime

import polars as pl
import pytest

import penstock
from penstock import LocalEngine, Query, Status, errors
from penstock.errors import DuplicateName, IncompleteResults, NotExecutable
from tests.engine.bids import BIDS, bid, prices

COUNTS = "CREATE QUERY n AS SELECT count(*) AS n FROM bids [RANGE 1 DAY]"


def test_a_status_says_what_became_of_rows_and_what_is_kept_and_waited_for() -> None:
    engine = LocalEngine()
    engine.sql(f"{BIDS}; CREATE QUERY cheap AS SELECT price FROM bids WHERE price < 10; {COUNTS}")
    engine.push("bids", [bid(5), bid(50), bid(7)])
    engine.push("bids", [{**bid(6), "ts": datetime(2025, 1, 1)}, {**bid(0), "price": "dear"}])
    status = engine.status()
    assert isinstance(status, Status)
    stream = status.streams["bids"]
    assert (stream.counts.rows, stream.counts.late, stream.counts.malformed) == (3, 1, 1)
    assert (stream.rejected_kept, stream.rejected_dropped) == (2, 0)
    cheap, n = status.queries["cheap"], status.queries["n"]
    assert (cheap.state, cheap.rows, cheap.kept, cheap.dropped) == ("running", 3, 3, 0)
    assert (n.rows, n.state_rows) == (0, 1)
    assert n.state_bytes > 0 and n.bounds == {"bids": stream.bound}
    assert n.blockers.summary == engine.why("n").summary == engine.query("n").why().summary
    select = next(each for each in status.operators if each.name.startswith("Select"))
    assert (select.queries, select.rows_in, select.rows_out) == (("cheap",), 4, 3)
    assert status.as_json()["queries"]["n"]["blockers"]["query"] == "n"
    engine.finish()


def test_a_query_is_active_until_it_or_its_engine_is_stopped() -> None:
    with LocalEngine() as engine:
        engine.sql(BIDS)
        first, second = (engine.sql(f"CREATE QUERY {n} AS SELECT price FROM bids") for n in "ab")
        assert isinstance(first, Query) and first.isActive and not first.awaitTermination(0)
        first.stop()
        first.stop()
        assert (first.isActive, second.isActive) == (False, True)
        assert [query.name for query in engine.queries] == ["b"]
        engine.push("bids", [bid(1)])
        assert [each["penstock"]["results"] for each in second.recentProgress] == [1]
    assert not second.isActive and second.awaitTermination() and second.exception() is None
    assert second.status.state == "stopped"
    assert prices(second) == [1]  # what came out stays


def test_an_engine_that_was_stopped_takes_nothing_more() -> None:
    engine = LocalEngine()
    query = engine.sql(f"{BIDS}; SELECT price FROM bids")
    engine.push("bids", [bid(1)])
    engine.stop()
    for attempt in (
        lambda: engine.push("bids", [bid(2)]),
        lambda: engine.punctuate("bids", datetime(2027, 1, 1)),
        engine.advance,
        engine.finish,
        lambda: engine.sql("SELECT item FROM bids"),
    ):
        with pytest.raises(NotExecutable, match=r"(?s)has been stopped.*a new LocalEngine\(\)"):
            attempt()
    assert (query.rows, engine.counts("bids").rows, len(engine.queries)) == (1, 1, 1)


def test_a_query_without_results_still_has_its_columns() -> None:
    engine = LocalEngine()
    query = engine.sql(f"{BIDS}; SELECT price, ts FROM bids")
    for rows in (query.results(), query.fetch()):
        assert rows.schema == {"price": pl.Int32(), "ts": pl.Datetime("us")}


def test_an_engine_stops_its_queries_where_the_block_fails() -> None:
    with pytest.raises(DuplicateName), LocalEngine() as engine:
        query = engine.sql(f"{BIDS}; SELECT price FROM bids")
        engine.sql(BIDS)
    assert not query.isActive


def test_results_that_nobody_fetches_are_kept_up_to_a_limit_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = LocalEngine(max_results=3)
    query = engine.sql(f"{BIDS}; SELECT price FROM bids")
    with caplog.at_level(logging.WARNING, logger="penstock"):
        for price in range(10):
            engine.push("bids", [bid(price)])
    for ask in (query.results, query.fetch, query.to_arrow, query.to_pandas, lambda: list(query)):
        with pytest.raises(IncompleteResults, match="7 results of query `query_1` were dropped"):
            ask()
    assert query.results(partial=True)["price"].to_list() == [7, 8, 9]
    assert (query.rows, query.status.kept, query.status.dropped) == (10, 3, 7)
    [said] = caplog.messages
    assert "the latest 3 rows are kept" in said and "max_results" in said
    assert [row["price"] for row in query.iterate(partial=True)] == [7, 8, 9]
    engine.push("bids", [bid(10)])
    assert query.fetch()["price"].to_list() == [10]  # since the last time all rows were kept
    assert query.status.dropped == 7


def test_rejected_rows_are_kept_up_to_a_limit_and_all_are_counted() -> None:
    engine = LocalEngine(max_rejected=2)
    engine.sql(f"{BIDS}; {COUNTS}")
    engine.push("bids", [bid(1)])
    for day in range(1, 6):
        engine.push("bids", [{**bid(day), "ts": datetime(2025, 1, day)}])
    assert [rows["price"][0] for rows in (each.rows for each in engine.rejected_rows)] == [4, 5]
    stream = engine.status().streams["bids"]
    assert (stream.counts.late, stream.rejected_kept, stream.rejected_dropped) == (5, 2, 3)


def test_the_package_gives_engines_handles_and_every_error_that_is_documented() -> None:
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None
    words = re.findall(r"\w+", str(errors.__doc__))
    drawn = {word for word in words if isinstance(getattr(errors, word, None), type)}
    assert len(drawn) > 15 and drawn <= set(penstock.__all__)


def test_results_come_as_tables_of_any_library() -> None:
    engine = LocalEngine()
    query = engine.sql(f"{BIDS}; SELECT price, ts FROM bids")
    engine.push("bids", [bid(1), bid(2)])
    expected = query.results()
    assert query.to_polars().equals(expected)
    assert pl.DataFrame(query.to_arrow()).equals(expected)
    assert query.to_pandas()["price"].tolist() == [1, 2]
    assert [str(column) for column in query.schema] == ["price INT", "ts TIMESTAMP"]


def test_handles_show_what_they_are() -> None:
    engine = LocalEngine()
    query = engine.sql(f"{BIDS}; CREATE QUERY `a<b>` AS SELECT price AS p FROM bids")
    engine.push("bids", [bid(1234)])
    assert repr(engine) == "<LocalEngine: 1 query, 1 stream>"
    assert repr(query) == "<LocalQuery a<b>: running, 1 row>"
    shown = repr(engine.status()).splitlines()
    assert shown[0].split() == [
        "query",
        "state",
        "rows",
        "waiting",
        "dropped",
        "state",
        "rows",
        "state",
        "bytes",
    ]
    assert shown[1].split()[:3] == ["a<b>", "running", "1"]
    for html in (engine._repr_html_(), query._repr_html_(), engine.status()._repr_html_()):
        assert "a&lt;b&gt;" in html and "a<b>" not in html
    assert '<td style="text-align: right">1,234</td>' in query._repr_html_()


def test_bounds_in_json_are_times_or_say_that_there_is_none() -> None:
    engine = LocalEngine()
    query = engine.sql(f"{BIDS}; SELECT price FROM bids")

    def bounds() -> set[object]:
        found = engine.status().as_json()
        of_query = found["queries"][query.name]["bounds"]["bids"]
        progress = query.lastProgress["penstock"]["bounds"]["bids"]
        return {found["streams"]["bids"]["bound"], of_query, progress}

    assert bounds() == {None}
    engine.push("bids", [bid(1)])
    assert bounds() == {engine.status().streams["bids"].bound}
    engine.finish()
    assert bounds() == {"end"}
