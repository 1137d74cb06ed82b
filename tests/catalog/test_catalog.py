"""Names are taken once, found whatever their case, and not pulled away from under their readers."""

from __future__ import annotations

import pytest

from penstock.catalog.catalog import Catalog, QueryEntry, StreamEntry, ViewEntry
from penstock.errors import BadSetting, CyclicView, DuplicateName, QueryError, UnknownName
from penstock.model.assignments import Duration
from penstock.model.streams import Sink
from penstock.plan.nodes import Source
from penstock.runtime.declarations import apply, query_entry
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import CreateQuery


def declare(catalog: Catalog, text: str) -> None:
    for statement in parse(text):
        apply(statement, catalog)


@pytest.fixture
def catalog() -> Catalog:
    catalog = Catalog()
    declare(
        catalog,
        """
        CREATE STREAM packets (src STRING, len INT, ts TIMESTAMP) TIMESTAMP BY ts;
        CREATE VIEW big AS SELECT src, len, ts FROM packets WHERE len > 1000;
        CREATE QUERY talkers INTO parquet 'out' AS
          SELECT src, count(*) AS n FROM big [RANGE 10 MINUTES] GROUP BY src;
        CREATE QUERY top AS SELECT window_end, max(n) FROM talkers GROUP BY window_end;
        """,
    )
    return catalog


def test_what_was_declared_is_there(catalog: Catalog) -> None:
    assert [entry.name for entry in catalog.streams] == ["packets"]
    assert [name for name in catalog.relations() if name == "big"] == ["big"]
    assert [entry.name for entry in catalog.queries] == ["talkers", "top"]
    assert catalog.queries[0].sink == Sink("parquet", "out")
    assert list(catalog.relations()) == ["packets", "big", "talkers", "top"]


def test_names_are_found_whatever_their_case(catalog: Catalog) -> None:
    assert isinstance(catalog.get("PACKETS"), StreamEntry)
    assert isinstance(catalog.get("Big"), ViewEntry)
    assert isinstance(catalog.get("TALKERS"), QueryEntry)
    assert catalog.get("other") is None
    assert catalog.relation("other") is None


def test_a_plan_reaches_down_to_the_streams(catalog: Catalog) -> None:
    plan = catalog.queries[1].plan
    while plan.children:
        [plan] = plan.children
    assert plan == catalog.relation("packets")
    assert isinstance(plan, Source)


def test_readers_are_known_directly(catalog: Catalog) -> None:
    assert [entry.name for entry in catalog.readers_of("Packets")] == ["big"]
    assert [entry.name for entry in catalog.readers_of("big")] == ["talkers"]
    assert catalog.readers_of("top") == []


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM Big (a INT)",
        "CREATE VIEW packets AS SELECT src FROM big",
        "CREATE QUERY TALKERS AS SELECT src FROM big",
    ],
)
def test_a_name_is_taken_once_among_streams_views_and_queries(catalog: Catalog, text: str) -> None:
    with pytest.raises(DuplicateName, match="already"):
        declare(catalog, text)


def test_a_stream_is_not_replaced_by_a_view(catalog: Catalog) -> None:
    declare(catalog, "CREATE STREAM alone (a INT)")
    with pytest.raises(DuplicateName, match="is a stream, and cannot be replaced by a view"):
        declare(catalog, "CREATE OR REPLACE VIEW alone AS SELECT src FROM big")


def test_what_nobody_reads_can_be_replaced(catalog: Catalog) -> None:
    declare(catalog, "CREATE OR REPLACE QUERY top AS SELECT src FROM big")
    assert [entry.name for entry in catalog.readers_of("big")] == ["talkers", "top"]
    assert catalog.readers_of("talkers") == []


@pytest.mark.parametrize(
    ("text", "readers"),
    [
        ("DROP STREAM packets", "view `big`"),
        ("DROP VIEW big", "query `talkers`"),
        ("DROP QUERY talkers", "query `top`"),
        ("CREATE OR REPLACE STREAM packets (a INT)", "view `big`"),
        ("CREATE OR REPLACE VIEW big AS SELECT len FROM packets", "query `talkers`"),
    ],
)
def test_what_others_read_stays(catalog: Catalog, text: str, readers: str) -> None:
    before = list(catalog.relations())
    with pytest.raises(QueryError, match=f"it is read by {readers}"):
        declare(catalog, text)
    assert list(catalog.relations()) == before


def test_everything_can_be_dropped_readers_first(catalog: Catalog) -> None:
    declare(catalog, "DROP QUERY top; DROP QUERY talkers; DROP VIEW big; DROP STREAM packets")
    assert list(catalog.relations()) == []


def test_dropping_what_is_not_there(catalog: Catalog) -> None:
    declare(catalog, "DROP STREAM IF EXISTS other")
    with pytest.raises(UnknownName, match="did you mean `big`"):
        declare(catalog, "DROP VIEW bigg")
    with pytest.raises(UnknownName, match="but a view of that name"):
        declare(catalog, "DROP STREAM IF EXISTS big")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW me AS SELECT src FROM me",
        "CREATE OR REPLACE VIEW big AS SELECT src, len, ts FROM BIG",
        "CREATE OR REPLACE QUERY talkers AS SELECT max(n) [RANGE 1 HOUR, WA window_end] "
        "FROM talkers",
        "CREATE OR REPLACE VIEW big AS SELECT src FROM talkers",
    ],
)
def test_nothing_reads_itself(catalog: Catalog, text: str) -> None:
    with pytest.raises(CyclicView) as caught:
        declare(catalog, text)
    assert caught.value.position is not None


def test_a_name_from_with_may_hide_the_one_being_declared(catalog: Catalog) -> None:
    declare(catalog, "CREATE VIEW x AS WITH x AS (SELECT src FROM big) SELECT src FROM x")
    assert [entry.name for entry in catalog.readers_of("big")] == ["talkers", "x"]


def test_binding_alone_changes_nothing(catalog: Catalog) -> None:
    [statement] = parse("CREATE QUERY another AS SELECT src FROM big")
    assert isinstance(statement, CreateQuery)
    assert query_entry(statement, catalog).reads == {"big"}
    assert catalog.get("another") is None


def test_a_query_that_cannot_be_bound_is_not_declared(catalog: Catalog) -> None:
    with pytest.raises(UnknownName):
        declare(catalog, "CREATE QUERY another AS SELECT nothing FROM big")
    assert catalog.get("another") is None


def test_settings_are_kept_and_errors_show_where(catalog: Catalog) -> None:
    declare(catalog, "SET strategy = bfs; DECLARE n = 5 SECONDS")
    assert catalog.settings.strategy == "bfs"
    assert catalog.parameters["n"] == Duration(5_000_000)
    with pytest.raises(BadSetting) as caught:
        declare(catalog, "SET strategy = fifo")
    assert caught.value.position is not None
