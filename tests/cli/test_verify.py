"""`penstock verify`: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.windows import Sliding

TEXT = """
    CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) {origin} TIMESTAMP BY ts SLACK 5 SECONDS;
    CREATE QUERY sums INTO csv '{place}/out' AS
      SELECT k, sum(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
"""


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["verify", "--no-spark", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    rows = "".join(f"{'abc'[n % 3]},{n},2026-01-01 00:00:{n:02d}\n" for n in range(50))
    (tmp_path / "in" / "rows.csv").write_text(f"k,v,ts\n{rows}a,many,2026-01-01 00:01:00\n")
    file = tmp_path / "sums.sql"
    file.write_text(TEXT.format(origin=f"FROM csv '{tmp_path}/in'", place=tmp_path))
    return file


def test_queries_that_equal_their_definition_are_told_so(script: Path) -> None:
    code, said = call(str(script), "--seeds", "2", "--rows", "60")
    assert code == 0
    assert "s: up to 50 of the rows of csv" in said
    assert "left out: 1 row" in said
    assert "sums: equals the reference in 20 runs" in said
    assert "not tried: Spark itself" in said
    assert not (script.parent / "out").exists()


def test_rows_that_are_late_on_purpose_are_no_warning(
    script: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script.write_text(script.read_text().replace("SLACK 5 SECONDS", "SLACK 1 SECOND"))
    assert call(str(script), "--seeds", "4", "--rows", "60")[0] == 0
    assert [each for each in caplog.messages if "late" in each] == []


def test_a_difference_is_shown_and_is_the_exit_code(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Sliding.wid_range

    def wrong(window: Sliding, value: Any) -> Any:
        return right(window, value - 1)

    monkeypatch.setattr(Sliding, "wid_range", wrong)
    report = script.parent / "report.json"
    code, said = call(str(script), "--json", str(report))
    assert code == 1
    assert "sums: DIFFERS from the reference" in said
    assert "The smallest difference of `sums`" in said
    assert "expected" in said and "got" in said
    found = json.loads(report.read_text())["difference"]
    [row] = [row for batch in found["batches"] for row in batch["rows"]["s"]]
    assert row["ts"] % 10_000_000 == 0
    again = call(str(script), "--seed", str(found["seed"]))
    assert again[0] == 1


def test_a_file_that_cannot_run_is_refused_as_ever(tmp_path: Path) -> None:
    file = tmp_path / "wrong.sql"
    file.write_text("CREATE STREAM s (k STRING); SELECT kk FROM s")
    code, _ = call(str(file))
    assert code == 1


def test_streams_that_do_not_end_get_rows_of_their_declared_types(tmp_path: Path) -> None:
    file = tmp_path / "kafka.sql"
    file.write_text(TEXT.format(origin="FROM kafka OPTIONS (subscribe 's')", place=tmp_path))
    code, said = call(str(file), "--seeds", "1", "--rows", "20")
    assert code == 0
    assert "s: up to 20 rows made of the declared types (kafka; what is read here: parquet" in said
