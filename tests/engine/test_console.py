"""INTO console: batches as tables on the standard output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine

STREAM = "CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts LATE INTO console;"


def rows(*values: int, second: int = 0) -> list[dict[str, object]]:
    return [{"k": "[red]", "v": v, "ts": f"2026-01-01 00:00:{second + v:02}"} for v in values]


def test_each_batch_is_shown_with_its_number_and_what_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = LocalEngine()
    engine.sql(
        f"{STREAM} CREATE QUERY big INTO console OPTIONS (rows '2') AS "
        "SELECT k, v * 100 AS cents FROM s WHERE v > 1"
    )
    engine.push("s", rows(1, 2, 3, 4, 5))
    engine.push("s", rows(1, second=10))
    engine.push("s", rows(7, second=10))
    assert capsys.readouterr().out.splitlines() == [
        "big, batch 0: 4 rows",
        "k      cents",
        "[red]    200",
        "[red]    300",
        "2 more rows",
        "big, batch 1: 1 row",
        "k      cents",
        "[red]    700",
    ]
    assert engine.query("big").results().height == 0


def test_its_option_has_its_name_in_whatever_case(capsys: pytest.CaptureFixture[str]) -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAM} CREATE QUERY q INTO console OPTIONS (ROWS '0') AS SELECT v FROM s")
    engine.push("s", rows(1, 2))
    assert capsys.readouterr().out.splitlines() == ["q, batch 0: 2 rows", "2 more rows"]


def test_late_rows_are_shown_under_their_stream(capsys: pytest.CaptureFixture[str]) -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAM} SELECT count(*) AS n FROM s [RANGE 5 ROWS]")
    engine.push("s", rows(9))
    engine.push("s", rows(3))
    said = capsys.readouterr().out
    assert "s, batch 0: 1 row" in said
    assert "late" in said


@pytest.mark.parametrize("more", ["'out'", "OPTIONS (rows 'few')", "OPTIONS (colour 'red')"])
def test_what_the_console_cannot_do_is_refused(more: str) -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    with pytest.raises(NotExecutable, match=r"(?s)INTO console cannot be given.*rows '20'"):
        engine.sql(f"CREATE QUERY q INTO console {more} AS SELECT v FROM s")


def test_json_stays_json_while_rows_are_shown(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("v\n1\n2\n")
    script = tmp_path / "run.sql"
    script.write_text(
        f"CREATE STREAM s (v INT) FROM csv '{tmp_path / 'in.csv'}';"
        "CREATE QUERY q INTO console AS SELECT v FROM s"
    )
    ran = CliRunner().invoke(app, ["run", "--local", "--json", str(script)])
    query = json.loads(ran.stdout)["queries"]["q"]
    assert (query["rows"], query["sink"], query["results"]) == (2, "console", None)
    assert "q, batch 0: 2 rows" in ran.stderr
