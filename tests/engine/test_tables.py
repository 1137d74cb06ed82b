"""Streams joined with static tables: the oracle's answers, at once, in order; what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import CannotJoin, DuplicateName, MalformedRow, NotExecutable, QueryError
from penstock.kernel.joins import table_index
from penstock.kernel.joins.pairs import Pairing
from penstock.kernel.joins.table_index import TableIndex
from penstock.local.engine import LocalEngine
from tests.engine.draw import Draw, Drawn, check_seeds
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.random_tables import TABLE_COLUMNS, table_joins, table_rows
from tests.engine.running import assert_right, feed, how, started
from tests.ticks import push_ticks

BIDS = "CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS"
ITEMS = [{"item": "lamp", "kind": "light"}, {"item": "bed", "kind": "rest"}]


@pytest.fixture
def engine() -> LocalEngine:
    engine = LocalEngine()
    engine.sql(BIDS)
    engine.table("items", ITEMS, columns="item STRING, kind STRING")
    return engine


# --- answers ------------------------------------------------------------------------------------


def a_join_with_a_table_gives_the_oracles_answer(draw: Draw) -> None:
    declared = declarations(draw)
    engine = started(declared, *how(draw))
    engine.table("t", table_rows(draw), columns=TABLE_COLUMNS)
    text = table_joins(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared, blocks=6)
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def test_a_join_with_a_table_gives_the_oracles_answer_over_many_seeds() -> None:
    check_seeds(40, a_join_with_a_table_gives_the_oracles_answer)


@pytest.mark.slow
def test_a_join_with_a_table_gives_the_oracles_answer_over_thousands_of_seeds() -> None:
    check_seeds(2000, a_join_with_a_table_gives_the_oracles_answer)


@pytest.mark.slow
@settings(max_examples=500)
@given(st.data())
def test_a_join_with_a_table_gives_the_oracles_answer_for_hypothesis(data: st.DataObject) -> None:
    a_join_with_a_table_gives_the_oracles_answer(Drawn(data))


def test_candidates_beyond_one_helping_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_index, "CANDIDATES", 3)
    check_seeds(14, a_join_with_a_table_gives_the_oracles_answer)


def test_rows_pass_at_once_in_the_order_they_came_and_nothing_is_kept(engine: LocalEngine) -> None:
    query = engine.sql("SELECT b.price, i.kind FROM bids b LEFT JOIN items i ON b.item = i.item")
    items = ["bed", "sock", "lamp", None, "bed"]
    push_ticks(engine, "bids", [{"item": x, "price": n, "ts": n} for n, x in enumerate(items)])
    assert query.results().rows() == [
        (0, "rest"),
        (1, None),
        (2, "light"),
        (3, None),
        (4, "rest"),
    ]
    assert [rows for *_, rows, _ in engine.state() if rows] == []


def test_a_large_table_is_probed_by_its_index() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.table("t", pl.DataFrame({"k": range(100_000), "v": range(100_000)}))
    query = engine.sql("SELECT s.k, t.v FROM s JOIN t ON s.k = t.k")
    push_ticks(engine, "s", pl.DataFrame({"k": range(50_000, 150_000), "ts": range(100_000)}))
    found = query.results()
    assert found.height == 50_000
    assert (found["k"] == found["v"]).all()


# --- where tables come from ---------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_a_table_is_read_from_files(engine: LocalEngine, tmp_path: Path, format_: str) -> None:
    path = tmp_path / f"items.{format_}"
    frame = pl.DataFrame({"item": ["lamp", "bed"], "weight": [3, 50], "unread": [1, 2]})
    getattr(frame, f"write_{format_}")(path)
    engine.sql(f"CREATE TABLE weights (item STRING, weight INT) FROM {format_} '{path}'")
    query = engine.sql("SELECT b.price * w.weight AS x FROM bids b JOIN weights w ON b.item=w.item")
    push_ticks(engine, "bids", [{"item": "lamp", "price": 7, "ts": 1}])
    assert query.results().rows() == [(21,)]


def test_a_table_and_a_parquet_file_bring_their_own_columns(
    engine: LocalEngine, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"item": ["lamp"], "weight": [3]})
    frame.write_parquet(tmp_path / "w.parquet")
    engine.table("of_file", tmp_path / "w.parquet")
    engine.table("of_polars", frame)
    engine.table("of_pandas", frame.to_pandas())
    engine.table("of_tuples", [("lamp", 3)], columns="item STRING, weight BIGINT")
    found = {name: engine.catalog.relation(name) for name in engine.catalog.relations()}
    schemas = {str(node.schema) for name, node in found.items() if node and name[:3] == "of_"}
    assert schemas == {"item STRING, weight BIGINT"}


def test_a_row_that_does_not_fit_is_an_error_and_nothing_is_declared(engine: LocalEngine) -> None:
    with pytest.raises(
        MalformedRow, match=r"does not conform to table `t`: n: 'x' is not a valid INT"
    ):
        engine.table("t", [{"n": 1}, {"n": "x"}], columns="n INT")
    assert engine.catalog.get("t") is None


def test_a_table_that_is_read_cannot_be_dropped_or_declared_twice(engine: LocalEngine) -> None:
    engine.sql("SELECT b.price FROM bids b SEMI JOIN items i ON b.item = i.item")
    with pytest.raises(QueryError, match="it is read by query `query_1`"):
        engine.sql("DROP TABLE items")
    with pytest.raises(DuplicateName, match="table `items` exists already"):
        engine.table("items", ITEMS, columns="item STRING, kind STRING")
    engine.sql("DROP QUERY query_1; DROP TABLE items")
    assert engine.catalog.get("items") is None


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("SELECT * FROM items", NotExecutable, "a query needs a stream"),
        ("SELECT * FROM (SELECT item FROM items) AS x", NotExecutable, "a query needs a stream"),
        ("SELECT * FROM items UNION bids", NotExecutable, "a query needs a stream"),
        (
            "SELECT * FROM bids b RIGHT JOIN items i ON b.item = i.item",
            CannotJoin,
            "output the rows",
        ),
        (
            "SELECT * FROM bids b FULL JOIN items i ON b.item = i.item",
            CannotJoin,
            "output the rows",
        ),
        (
            "SELECT * FROM items i LEFT JOIN bids b ON b.item = i.item",
            CannotJoin,
            "left join output",
        ),
        (
            "SELECT * FROM items i ANTI JOIN bids b ON b.item = i.item",
            CannotJoin,
            "anti join output",
        ),
        ("SELECT * FROM items i, items j, bids", CannotJoin, "both static tables"),
        ("SELECT * FROM bids b JOIN items i ON true WITHIN 5 SECONDS", CannotJoin, "no time"),
        ("SELECT * FROM bids b, items i [RANGE 5 SECONDS]", CannotJoin, "no time"),
    ],
)
def test_what_could_never_answer_is_refused_with_a_way_out(
    engine: LocalEngine, text: str, error: type[QueryError], reason: str
) -> None:
    with pytest.raises(error, match=reason) as raised:
        engine.sql(text)
    assert raised.value.hint is not None
    assert raised.value.position is not None


@pytest.mark.parametrize(
    ("columns", "reason"),
    [(["v", "V"], "columns `v` and `V`, which are the same name"), (["v", ""], "without a name")],
)
def test_columns_that_no_query_could_tell_apart_are_refused(
    engine: LocalEngine, columns: list[str], reason: str, tmp_path: Path
) -> None:
    frame = pl.DataFrame({name: [1] for name in columns})
    with pytest.raises(DuplicateName, match=reason):
        engine.table("t", frame)
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DuplicateName, match=reason):
        engine.table("t", tmp_path / "t.parquet")
    with pytest.raises(DuplicateName, match="needs a name"):
        engine.table("", ITEMS, columns="item STRING, kind STRING")


def test_a_key_that_is_computed_is_looked_up_and_not_tried_with_every_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = 0
    found = TableIndex.candidates

    def counted(index: TableIndex, hashes: Any) -> Iterator[Any]:
        nonlocal tried
        for new, old in found(index, hashes):
            tried += len(new)
            yield new, old

    monkeypatch.setattr(TableIndex, "candidates", counted)
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.table("t", [{"k": n, "l": -n} for n in range(1000)], columns="k BIGINT, l BIGINT")
    query = engine.sql("SELECT s.a, t.k FROM s JOIN t ON mod(s.a + s.b, 1000) = abs(t.l)")
    push_ticks(engine, "s", [{"a": n, "b": 7, "ts": n} for n in range(500)])
    engine.finish()
    assert query.results().height == tried == 500
    assert "its hash index is probed" in query.explain()


def test_rows_of_streams_find_each_other_by_a_key_that_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[int] = []
    found = Pairing.find

    def counted(pairing: Pairing, port: int, arrived: Any, stored: Any) -> Any:
        other = pairing._sides[1 - port]
        compared.extend(len(new) for _, new, _ in other.store.candidates(stored, arrived.needles))
        return found(pairing, port, arrived, stored)

    monkeypatch.setattr(Pairing, "find", counted)
    engine = LocalEngine()
    for name in ("a", "b"):
        engine.sql(f"CREATE STREAM {name} (v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 DAY")
    query = engine.sql("SELECT a.v, b.v FROM a JOIN b ON a.v + 1 = b.v * 2 WITHIN 1 DAY")
    push_ticks(engine, "a", [{"v": n, "ts": n} for n in range(300)])
    push_ticks(engine, "b", [{"v": n, "ts": n} for n in range(300)])
    engine.finish()
    assert query.results().height == sum(compared) == 150
