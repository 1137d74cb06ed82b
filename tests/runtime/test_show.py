"""SHOW lists what is declared, with what it has come to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.catalog.settings import SETTINGS
from penstock.errors import SyntaxFault
from penstock.local.engine import LocalEngine
from penstock.runtime.show import show
from tests.engine.bids import BEST, BIDS, bid


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
    monkeypatch.chdir(tmp_path)  # so that paths are short, and the same everywhere
    return LocalEngine()


def test_queries_are_shown_with_what_they_read_and_where_their_results_go(
    engine: LocalEngine,
) -> None:
    engine.sql(f"{BIDS}; CREATE QUERY best INTO csv 'out' AS {BEST}")
    engine.sql("CREATE VIEW dear AS SELECT price FROM bids WHERE price > 9; SELECT price FROM dear")
    engine.push("bids", [bid(price) for price in range(2000)])
    assert engine.sql("SHOW QUERIES") == (
        "query    state    streams  into        rows\n"
        "best     running  bids     csv 'out'      0\n"
        "query_1  running  bids     -          1,990"
    )
    engine.finish()
    assert str(engine.sql("show queries")).splitlines()[1] == (
        "best     stopped  bids     csv 'out'      1"
    )


def test_rows_of_earlier_runs_are_shown_where_there_were_any(engine: LocalEngine) -> None:
    engine.sql(f"{BIDS}; CREATE QUERY best AS {BEST}; CREATE QUERY all_bids AS SELECT * FROM bids")
    status = engine.status()
    best = replace(status.queries["best"], rows=10, total_rows=4000)
    known = replace(status, queries={**status.queries, "best": best})
    assert show("queries", engine.catalog, lambda: known) == (
        "query     state    streams  into  rows  since its checkpoint began\n"
        "best      running  bids     -       10                       4,000\n"
        "all_bids  running  bids     -        0                           0"
    )


def test_streams_are_shown_with_their_time_and_what_became_of_their_rows(
    engine: LocalEngine,
) -> None:
    engine.sql(f"{BIDS} SLACK 1 MINUTE; {BEST}")
    engine.sql(
        "CREATE STREAM flows (len INT, ts TIMESTAMP) FROM json 'data/flows' TIMESTAMP BY ts SKEW "
        "2 SECONDS; CREATE STREAM steps (n BIGINT) TIMESTAMP BY n;"
        "CREATE STREAM notes (text STRING)"
    )
    engine.push("bids", [bid(5), bid(50, 3), bid(1, -5), {**bid(1), "price": "dear"}])
    engine.push("steps", [{"n": 7}])
    assert engine.sql("SHOW STREAMS") == (
        "stream  source             event time                      rows  late  malformed  bound\n"
        "bids    push               by ts, slack 1 minute              2     1          1  "
        "2026-01-01 12:02:00\n"
        "flows   json 'data/flows'  by ts, ordered, skew 2 seconds     0     0          0  "
        "nothing yet\n"
        "steps   push               by n, ordered                      1     0          0  7\n"
        "notes   push               latent timestamps                  0     0          0  -"
    )


def test_tables_and_views_are_shown_with_their_columns(engine: LocalEngine) -> None:
    engine.sql(BIDS)
    Path("items.csv").write_text("id,name\n1,lamp\n2,chair\n")
    engine.sql("CREATE TABLE items (id INT, name STRING) FROM csv 'items.csv'")
    engine.sql(
        "CREATE VIEW named AS SELECT b.price, i.name FROM bids b JOIN items i ON b.item = i.name"
    )
    assert engine.sql("SHOW TABLES") == (
        "table  source           rows  columns\nitems  csv 'items.csv'     2  id, name"
    )
    assert engine.sql("SHOW VIEWS") == (
        "view   reads        columns\nnamed  bids, items  price, name"
    )


def test_settings_are_shown_with_all_that_is_said_of_them(engine: LocalEngine) -> None:
    engine.sql("SET union = merge; SET rows_per_step = 7; SET ets = none")
    shown = str(engine.sql("SHOW SETTINGS"))
    lines = shown.splitlines()
    indent = " " * 37
    assert lines[:5] == [
        "setting        value      default    what it decides",
        "union          merge      auto       whether unions pass rows on at once (`meld`), or "
        "wait to keep",
        f"{indent}them in order (`merge`). `auto` is `meld`, or with `mode = iop`",
        f"{indent}`merge`",
        "strategy       dfs        dfs        which operator runs next",
    ]
    assert max(map(len, lines)) <= 100
    words = " ".join(shown.split())
    for each in SETTINGS.values():
        value = each.shown(getattr(engine.catalog.settings, each.name))
        assert f"{each.name} {value} {each.shown(each.default)} {each.doc}" in words


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (
            "QUERIES",
            "no query is declared: SELECT …, or CREATE QUERY name AS SELECT …, declares one",
        ),
        ("STREAMS", "no stream is declared: CREATE STREAM name (column TYPE, …) declares one"),
        (
            "TABLES",
            "no table is declared: CREATE TABLE name (column TYPE, …) FROM format 'path' declares "
            "one",
        ),
        ("VIEWS", "no view is declared: CREATE VIEW name AS SELECT … declares one"),
    ],
)
def test_an_empty_list_is_a_sentence(what: str, said: str) -> None:
    assert LocalEngine().sql(f"SHOW {what}") == said


def test_what_cannot_be_shown_is_refused_with_what_can() -> None:
    with pytest.raises(SyntaxFault) as refused:
        LocalEngine().sql("SHOW EVERYTHING")
    assert str(refused.value) == (
        "expected QUERIES, STREAMS, TABLES, VIEWS, FUNCTIONS or SETTINGS after SHOW, not "
        "`EVERYTHING`\n"
        "  SHOW EVERYTHING\n"
        "       ^^^^^^^^^^\n"
        "  there are: QUERIES, STREAMS, TABLES, VIEWS, FUNCTIONS, SETTINGS"
    )


def test_secrets_of_sources_are_not_shown(engine: LocalEngine) -> None:
    engine.sql("CREATE STREAM s (v INT) FROM kafka 'https://me:hunter2@host/s'")
    assert "hunter2" not in engine.sql("SHOW STREAMS")
