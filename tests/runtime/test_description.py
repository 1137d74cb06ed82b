"""DESCRIBE tells all about one stream, table, view or query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import UnknownName
from penstock.local.engine import LocalEngine
from penstock.runtime.description import describe
from tests.engine.bids import BEST, BIDS, bid


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
    monkeypatch.chdir(tmp_path)  # so that paths are short, and the same everywhere
    engine = LocalEngine()
    engine.sql(f"{BIDS} SLACK 1 MINUTE LATE INTO csv 'aside'")
    return engine


def test_a_query_is_described_with_its_columns_its_text_and_its_own_settings(
    engine: LocalEngine,
) -> None:
    engine.sql("SET aggregation = wid; SET late = drop")
    engine.sql(f"CREATE QUERY best INTO csv 'out' AS\n{BEST}")
    engine.sql("SET aggregation = auto; CREATE VIEW dear AS SELECT * FROM best WHERE best > 9")
    engine.push("bids", [bid(5)])
    assert engine.sql("DESCRIBE Best") == (
        "query best\n"
        "  state     running: the next result waits for `bids`\n"
        "  streams   bids\n"
        "  into      csv 'out'\n"
        "  rows      0\n"
        "  settings  aggregation = wid\n"
        "  read by   view dear\n"
        "\n"
        "  column        type\n"
        "  item          STRING\n"
        "  best          INT\n"
        "  window_start  TIMESTAMP  progresses\n"
        "  window_end    TIMESTAMP  progresses\n"
        "\n"
        "  CREATE QUERY best INTO csv 'out' AS\n"
        f"  {BEST}"
    )


def test_a_query_by_itself_is_described_under_its_number(engine: LocalEngine) -> None:
    engine.sql("SELECT price FROM bids")
    engine.push("bids", [bid(5)])
    engine.finish()
    assert engine.sql("DESC query_1") == (
        "query query_1\n"
        "  state     stopped\n"
        "  streams   bids\n"
        "  into      -\n"
        "  rows      1\n"
        "  settings  defaults\n"
        "\n"
        "  column  type\n"
        "  price   INT\n"
        "\n"
        "  SELECT price FROM bids"
    )


def test_a_query_that_has_failed_is_described_with_the_reason(engine: LocalEngine) -> None:
    engine.sql("CREATE QUERY q AS SELECT price FROM bids")
    status = engine.status()
    failed = replace(
        status.queries["q"], state="failed", message="no disk\nat …", rows=1, total_rows=2000
    )
    known = replace(status, queries={"q": failed})
    described = describe(engine.catalog.entry("q"), engine.catalog, known).splitlines()
    assert described[1] == "  state     failed: no disk"
    assert described[4] == "  rows      1 (2,000 since its checkpoint began)"


def test_a_stream_is_described_with_its_time_and_what_became_of_its_rows(
    engine: LocalEngine,
) -> None:
    engine.sql(f"CREATE QUERY best AS {BEST}")
    engine.push("bids", [bid(5), bid(50, 3), bid(1, -5), {**bid(1), "price": "dear"}])
    assert engine.sql("DESCRIBE bids") == (
        "stream bids\n"
        "  source      push\n"
        "  event time  by ts, slack 1 minute\n"
        "  late into   csv 'aside'\n"
        "  rows        2 in, rejected: 1 late, 1 malformed\n"
        "  bound       2026-01-01 12:02:00\n"
        "  read by     query best\n"
        "\n"
        "  column  type\n"
        "  item    STRING\n"
        "  price   INT\n"
        "  ts      TIMESTAMP  progresses"
    )


def test_a_stream_without_time_has_no_bound(engine: LocalEngine) -> None:
    engine.sql("CREATE STREAM notes (text STRING)")
    assert engine.sql("DESCRIBE notes") == (
        "stream notes\n"
        "  source      push\n"
        "  event time  latent timestamps\n"
        "  rows        0 in\n"
        "\n"
        "  column  type\n"
        "  text    STRING"
    )


def test_tables_and_views_are_described(engine: LocalEngine) -> None:
    Path("items.csv").write_text("id,name\n1,lamp\n2,chair\n")
    engine.sql("CREATE TABLE items (id INT, name STRING) FROM csv 'items.csv'")
    engine.sql("CREATE VIEW named AS SELECT b.ts, i.id FROM bids b JOIN items i ON b.item = i.name")
    assert engine.sql("DESCRIBE items") == (
        "table items\n"
        "  source   csv 'items.csv'\n"
        "  rows     2\n"
        "  read by  view named\n"
        "\n"
        "  column  type\n"
        "  id      INT\n"
        "  name    STRING"
    )
    assert engine.sql("DESCRIBE named") == (
        "view named\n"
        "  reads  bids, items\n"
        "\n"
        "  column  type\n"
        "  ts      TIMESTAMP  progresses\n"
        "  id      INT\n"
        "\n"
        "  CREATE VIEW named AS SELECT b.ts, i.id FROM bids b JOIN items i ON b.item = i.name"
    )


def test_what_is_not_there_is_underlined_and_what_is_meant_is_named(engine: LocalEngine) -> None:
    with pytest.raises(UnknownName) as refused:
        engine.sql("DESCRIBE bid")
    assert str(refused.value) == (
        "no stream, table, view or query `bid`\n"
        "  DESCRIBE bid\n"
        "           ^^^\n"
        "  did you mean `bids`? there are: bids"
    )


def test_secrets_in_the_text_of_a_query_are_not_shown(engine: LocalEngine) -> None:
    # Whether it can be written to is asked later than what it is.
    engine._check_sink = lambda sink, schema: None  # type: ignore[method-assign]
    engine.sql(
        "CREATE QUERY q INTO parquet 'out' OPTIONS (password 'hunter2') AS SELECT price FROM bids"
    )
    described = engine.sql("DESCRIBE q")
    assert "hunter2" not in described and "OPTIONS (password '***')" in described
