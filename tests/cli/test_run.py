"""`penstock run` and `explain` in this process: what they print, and how they refuse."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.run import run, seconds_in, streams_to_run
from penstock.cli.shared import logs
from penstock.errors import HostError
from penstock.local.engine import LocalEngine
from penstock.runtime.status import QueryStatus
from penstock.spark.jvm import SHORT
from penstock.spark.session import settings_of
from penstock.spark.state.remembered import remember

STREAM = (
    "CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) FROM csv '{folder}' "
    "TIMESTAMP BY ts SLACK 5 SECONDS;"
)
ROWS = """k,v,ts
a,1,2026-01-01 00:00:01
b,two,2026-01-01 00:00:02
a,3,2026-01-01 00:00:30
a,4,2026-01-01 00:00:03
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text(ROWS)
    file = tmp_path / "run.sql"
    file.write_text(
        STREAM.format(folder=tmp_path / "in")
        + "CREATE QUERY sums AS SELECT k, sum(v) AS total FROM s [RANGE 1 MINUTE] GROUP BY k"
    )
    return file


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_answers_are_shown_and_what_did_not_go_in_is_counted(script: Path) -> None:
    code, said = call("run", "--local", str(script))
    assert code == 0
    assert "sums: 1 row\n" in said
    assert (
        "s: 2 rows in, rejected: 1 late, 1 malformed\n"
        "  late up to 27 seconds behind the newest before them: "
        "SLACK 27 SECONDS would have accepted all of them\n"
        "  1 × v is not a valid INT\n"
        """    v: 'two' is not a valid INT: {"k": "b", "v": "two", "ts": "2026-01-01 00:00:02"}\n"""
    ) in said


def test_a_long_run_says_how_far_it_is_in_lines_of_text_or_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logs, "EVERY", 0.0)
    (tmp_path / "in.csv").write_text("k,ts\n" + "1,2026-01-01 00:00:00\n" * 7 + "x,y\n")
    file = tmp_path / "run.sql"
    file.write_text(
        f"CREATE STREAM s (k INT, ts TIMESTAMP) FROM csv '{tmp_path / 'in.csv'}' TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT k, ts FROM s"
    )
    run(file, local=True)
    said = capsys.readouterr().err
    assert "7 rows, " in said and "1 malformed, 7 results, watermark 2026-01-01" in said
    run(file, local=True, log_format=logs.LogFormat.JSON)
    [line] = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["rows"], line["malformed"], line["results"], line["late"]) == (7, 1, 7, 0)
    assert line["level"] == "info" and line["lag_seconds"] > 0 and line["batch"] is None


def test_everything_is_there_as_json(script: Path) -> None:
    result = CliRunner().invoke(app, ["run", "--local", "--json", str(script)])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    [row] = found["queries"]["sums"]["results"]
    assert (row["k"], row["total"]) == ("a", 4)
    text = '{"k": "b", "v": "two", "ts": "2026-01-01 00:00:02"}'
    sums = found["queries"]["sums"]
    assert (sums["state"], sums["rows"], sums["kept"], sums["dropped"]) == ("stopped", 1, 1, 0)
    assert sums["blockers"]["summary"] == "waits for nothing: all inputs have ended"
    assert sums.keys() == {each.name for each in fields(QueryStatus)} | {"results"}
    assert {"name", "queries", "rows_in"} < found["operators"][0].keys()
    assert found["streams"]["s"] == {
        "bound": "end",
        "last_arrival": found["streams"]["s"]["last_arrival"],
        "rows": 2,
        "late": 1,
        "late_passed": 0,
        "late_closed": 0,
        "malformed": 1,
        "ahead": 0,
        "lateness": 27_000_000,
        "suggested_slack": "27 SECONDS",
        "total": {"rows": 2, "late": 1, "late_passed": 0, "malformed": 1},
        "rejected": {
            "reasons": {"v is not a valid INT": 1},
            "samples": [{"reason": "v: 'two' is not a valid INT", "row_text": text}],
        },
        "rejected_kept": 2,
        "rejected_dropped": 0,
        "unreadable": {},
    }
    assert found["notices"] == []


@pytest.mark.parametrize("command", [("run", "--local"), ("explain",)])
@pytest.mark.parametrize(
    ("text", "notice"),
    [
        ("", "note: there are no statements"),
        ("-- later\n", "note: there are no statements"),
        ("CREATE STREAM s (v INT) LATENT", "note: no query is declared"),
        (
            "CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts;"
            "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 5 SECONDS, SLIDE 10 SECONDS]",
            "note: query `q`: SLIDE 10 seconds is longer than RANGE 5 seconds: rows between",
        ),
    ],
)
def test_what_is_probably_not_meant_gets_a_word(
    tmp_path: Path, command: tuple[str, ...], text: str, notice: str
) -> None:
    (tmp_path / "file.sql").write_text(text)
    code, said = call(*command, str(tmp_path / "file.sql"))
    assert code == 0
    assert notice in said


def test_the_suggested_slack_keeps_every_row(script: Path) -> None:
    script.write_text(script.read_text().replace("SLACK 5 SECONDS", "SLACK 27 SECONDS"))
    code, said = call("run", "--local", str(script))
    assert code == 0
    assert "s: 3 rows in, rejected: 1 malformed\n" in said


def test_late_rows_are_warned_of_while_it_runs_and_fail_a_strict_run(script: Path) -> None:
    warning = (
        "1 of 3 rows of stream `s` is late and was rejected: "
        "SLACK 30 SECONDS would have accepted all\n"
    )
    result = CliRunner().invoke(app, ["run", "--local", str(script)])
    assert (result.exit_code, result.stderr) == (0, warning)
    result = CliRunner().invoke(app, ["run", "--local", "--strict", str(script)])
    assert result.exit_code == 1
    assert "sums: 1 row\n" in result.stdout  # the results are there
    assert warning in result.stderr and "leave out --strict" in result.stderr
    script.write_text(script.read_text().replace("SLACK 5 SECONDS", "SLACK 30 SECONDS"))
    assert call("run", "--local", "--strict", str(script))[0] == 0


def test_late_rows_that_pass_are_counted_among_those_that_went_in(script: Path) -> None:
    text = script.read_text()
    script.write_text(text[: text.index("CREATE QUERY")] + "SELECT k, v FROM s")
    code, said = call("run", "--local", str(script))
    assert code == 0
    assert "s: 3 rows in, 1 of them late, rejected: 1 malformed\n" in said


def test_times_beyond_the_last_year_are_shown(script: Path, tmp_path: Path) -> None:
    (tmp_path / "in" / "rows.csv").write_text("k,v,ts\na,1,9999-12-31 23:59:58\n")
    script.write_text(
        "SET max_jump = unlimited;\n"
        + STREAM.format(folder=tmp_path / "in")
        + "CREATE QUERY w AS SELECT count(*) AS n FROM s [RANGE 1 DAY];"
        + "CREATE QUERY p AS SELECT ts + INTERVAL 1 DAY AS x, timestamp_micros(-5000 * v) AS y,"
        + f" timestamp_micros({2**63 - 1}) AS z, to_date(ts + INTERVAL 1 DAY) AS d FROM s;"
        + f"CREATE QUERY f INTO csv '{tmp_path / 'out'}' AS SELECT ts + INTERVAL 1 DAY AS x FROM s;"
        + "CREATE QUERY c INTO console AS SELECT ts + INTERVAL 1 DAY AS x FROM s"
    )
    code, said = call("run", "--local", str(script))
    assert code == 0, said
    assert "9999-12-31 00:00:00   +10000-01-01 00:00:00" in said
    assert "+10000-01-01 23:59:58   1969-12-31 23:59:59.995000   NULL   +10000-01-01" in said
    assert "c, batch 0: 1 row\nx                    \n+10000-01-01 23:59:58\n" in said
    [part] = (tmp_path / "out").iterdir()
    assert part.read_text() == "x\n+10000-01-01T23:59:58.000000\n"
    part.unlink()
    code, said = call("run", "--local", "--json", str(script))
    assert '"x": "+10000-01-01 23:59:58"' in said


def test_options_for_spark_are_refused_without_it(script: Path) -> None:
    code, said = call("run", "--local", "--for", "3s", str(script))
    assert code == 2
    assert "--local" in said


def test_settings_and_packages_reach_spark(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def refuse(cores: int | None = None, **given: Any) -> None:
        begun.append(given["conf"])
        raise HostError("no Spark here")

    monkeypatch.setattr("penstock.spark.engine.local_session", refuse)
    monkeypatch.setattr("penstock.spark.session.begin_session", lambda **given: None)
    options = ["--packages", "org:name:1", "--conf", "spark.ui.enabled=true", "--conf", "a.b=x=y"]
    code, said = call("run", *options, str(script))
    assert (code, "no Spark here" in said) == (1, True)
    assert begun[0].pop("spark.driver.extraJavaOptions") == SHORT  # the files are small
    assert begun == [
        {"spark.ui.enabled": "true", "a.b": "x=y", "spark.jars.packages": "org:name:1"}
    ]
    assert settings_of(2, conf=begun[0])["spark.ui.enabled"] == "true"
    for wrong in ("novalue", "=x"):
        code, said = call("run", "--conf", wrong, str(script))
        assert (code, "KEY=VALUE" in said) == (2, True)


@pytest.mark.parametrize("text", ["", "3", "s", "3 parsecs"])
def test_a_length_of_time_needs_a_number_and_a_unit(text: str) -> None:
    with pytest.raises(Exception, match="not a duration"):
        seconds_in(text)


def test_plans_are_explained_and_drawn_without_running(script: Path, tmp_path: Path) -> None:
    script.write_text(
        STREAM.format(folder=tmp_path)
        + "SELECT k, max(v) [RANGE 10 ROWS, SLIDE 1 ROW, PA k] AS m FROM s"
    )
    code, said = call("explain", str(script), "--svg", str(tmp_path / "plan.svg"))
    assert code == 0
    assert "WindowAggregate max(v) AS m by k" in said
    assert "Pipeline of query_1\n" in said
    assert ET.parse(tmp_path / "plan.svg").getroot().tag.endswith("svg")


def _join_script(tmp_path: Path, into: str = "") -> Path:
    streams = ""
    for name in "abc":
        (tmp_path / name).mkdir()
        rows = "".join(f"{n % 5},2024-01-01T00:00:{n:02}\n" for n in range(50))
        (tmp_path / name / "rows.csv").write_text(f"k,ts\n{rows}")
        streams += (
            f"CREATE STREAM {name} (k BIGINT, ts TIMESTAMP) FROM csv '{tmp_path / name}' "
            "TIMESTAMP BY ts;"
        )
    inputs = ", ".join(f"{name} [RANGE 10 SECONDS]" for name in "abc")
    query = f"CREATE QUERY q {into} AS SELECT a.k FROM {inputs} WHERE a.k = b.k AND b.k = c.k"
    script = tmp_path / "joins.sql"
    script.write_text(streams + query)
    return script


def test_alternatives_of_a_join_are_measured_and_drawn(tmp_path: Path) -> None:
    script, picture = _join_script(tmp_path), tmp_path / "plans.svg"
    code, said = call(
        "explain", str(script), "--alternatives", "--analyze", "--picture", str(picture)
    )
    assert code == 0
    assert "4 plans were compared (exhaustive)" in said
    assert "measured" in said
    assert "processor" in said
    assert picture.read_text().startswith("<svg")


def test_every_join_of_a_file_is_drawn_with_its_query(tmp_path: Path) -> None:
    script, picture = _join_script(tmp_path), tmp_path / "plans.svg"
    text = script.read_text()
    other = text[text.index("CREATE QUERY q") :].replace("QUERY q ", "QUERY other ")
    script.write_text(f"{text};{other.replace('10 SECONDS', '5 SECONDS')}")
    code, _ = call("explain", str(script), "--picture", str(picture))
    assert code == 0
    root = ET.fromstring(picture.read_text())
    panels = [each for each in root if each.tag.endswith("svg")]
    titles = ["".join(each.itertext()) for each in panels]
    assert ["join of a, b, c in q" in titles[0], "join of a, b, c in other" in titles[1]] == [
        True,
        True,
    ]
    # One begins where the other ends.
    tops, heights = ([int(each.attrib[of]) for each in panels] for of in ("y", "height"))
    assert tops == [0, heights[0]]
    assert int(root.attrib["height"]) == sum(heights)


def test_a_join_is_explained_with_what_is_expected_of_it(tmp_path: Path) -> None:
    code, said = call("explain", str(_join_script(tmp_path)), "--alternatives")
    assert code == 0
    assert "expected of joins" in said
    assert "100 rows/s        guessed" in said
    assert "Alternatives of q\n\nJoin of a, b, c: " in said


@pytest.mark.parametrize("named", [True, False])
def test_joins_are_explained_by_what_a_checkpoint_remembers(tmp_path: Path, named: bool) -> None:
    script = _join_script(tmp_path, "" if named else f"INTO csv '{tmp_path / 'out'}'")
    engine = LocalEngine()
    for statement in script.read_text().split(";"):
        engine.sql(statement.replace(f"INTO csv '{tmp_path / 'out'}'", ""))
    for _ in engine.read_files():
        pass
    place = tmp_path / "checkpoint" / "q" if named else tmp_path / "out" / "_checkpoint"
    place.mkdir(parents=True)
    remember(place, engine._known().joins)
    given = ["--checkpoint", str(tmp_path / "checkpoint")] if named else []
    code, said = call("explain", str(script), "--alternatives", *given)
    assert code == 0, said
    assert "a 1 rows/s remembered 40" in " ".join(said.split())
    assert "by remembered rates and selectivities" in said


def test_files_are_measured_as_if_their_rows_came_now(tmp_path: Path) -> None:
    """However the files are cut, joins store no more than windows hold."""
    script = _join_script(tmp_path)
    for name in "abc":
        minutes = (f"{m // 60:02}:{m % 60:02}" for m in range(600))
        rows = "".join(
            f"{n % 100},2024-01-01T{minute}:{second:02}\n"
            for n, minute in enumerate(minutes)
            for second in range(0, 60, 6)
        )
        (tmp_path / name / "rows.csv").write_text(f"k,ts\n{rows}")
    code, said = call("explain", str(script), "--analyze")
    assert code == 0
    joins = said[said.index("join         operator") :].splitlines()[1:]
    stored = [int(line.split()[-9].replace(",", "")) for line in joins]
    assert len(stored) == 2
    assert max(stored) < 5_000


def test_that_there_are_no_rows_to_measure_is_told(tmp_path: Path) -> None:
    script = tmp_path / "joins.sql"
    script.write_text(
        "CREATE STREAM a (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;CREATE QUERY q AS SELECT * FROM a"
    )
    code, said = call("explain", str(script), "--analyze")
    assert code == 0
    assert "note: no rows were read, so nothing was measured" in said


def test_a_query_with_a_static_table_is_explained_although_the_table_is_not_read(
    script: Path, tmp_path: Path
) -> None:
    script.write_text(
        STREAM.format(folder=tmp_path)
        + "CREATE TABLE t (k STRING, name STRING) FROM csv 'nowhere.csv';"
        + "SELECT name, s.ts FROM s JOIN t ON s.k = t.k"
    )
    code, said = call("explain", str(script))
    assert code == 0, said
    assert "TableJoin s, table t where s.k = t.k" in said
    assert "Pipeline of query_1" in said


def test_a_mistake_is_told_without_a_stack(script: Path) -> None:
    script.write_text(script.read_text().replace("sum(v)", "sum(w)"))
    code, said = call("run", "--local", str(script))
    assert code == 1
    assert "no column `w`" in said
    assert "Traceback" not in said


def test_files_that_are_not_read_for_their_names_are_told(script: Path) -> None:
    (script.parent / "in" / "_later.csv").write_text(ROWS)
    _, said = call("run", "--local", str(script))
    assert "s: 2 rows in" in said
    assert "1 file not read: _later.csv (hidden)" in said


@pytest.mark.parametrize("command", [("run", "--local"), ("explain",), ("verify", "--no-spark")])
def test_a_script_that_is_not_utf_8_is_refused_with_the_way_out(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    script = tmp_path / "latin.sql"
    script.write_bytes("CREATE STREAM straße (v INT)".encode("latin-1"))
    code, said = call(command[0], str(script), *command[1:])
    assert code == 1
    assert "is not UTF-8" in said and "iconv" in said


def test_what_a_file_reads_is_known_before_anything_starts() -> None:
    stream = "CREATE STREAM s (k INT, ts TIMESTAMP) FROM rate TIMESTAMP BY ts;"
    assert streams_to_run(stream) is None
    assert [each.name for each in streams_to_run(f"{stream} SELECT k FROM s") or ()] == ["s"]
    assert streams_to_run(f"{stream} SELECT k FROMM s") is None


def test_all_that_a_file_asks_to_see_is_shown_and_is_among_the_json(script: Path) -> None:
    asked = ";ALTER QUERY sums SET (aggregation = wid); SHOW QUERIES; DESCRIBE sums; EXPLAIN sums"
    script.write_text(script.read_text() + asked)
    result = CliRunner().invoke(app, ["run", "--local", str(script)])
    said = result.stdout
    assert result.exit_code == 0
    assert said.startswith(
        "query  state    streams  into  rows\nsums   running  s        -        0"
    )
    assert "\n\nquery sums\n  state     running: nothing waits\n" in said
    assert said.index("settings  aggregation = wid") < said.index("Bucket > WidAggregate")
    assert said.index("Bucket > WidAggregate") < said.index("sums: 1 row\n")
    result = CliRunner().invoke(app, ["run", "--local", "--json", str(script)])
    shown = json.loads(result.stdout)["shown"]
    assert [text.split()[0] for text in shown] == ["query", "query", "WindowAggregate"]


def test_a_file_that_only_looks_gets_no_word_about_queries(tmp_path: Path) -> None:
    (tmp_path / "look.sql").write_text("SHOW SETTINGS; CREATE STREAM s (v INT)")
    code, said = call("run", "--local", str(tmp_path / "look.sql"))
    assert code == 0
    assert "no query is declared" not in said


def test_plans_are_explained_with_the_options_that_queries_were_altered_to(script: Path) -> None:
    text = script.read_text().replace("[RANGE 1 MINUTE]", "[RANGE 1 MINUTE, SLIDE 10 SECONDS]")
    script.write_text(text + "; SHOW STREAMS; ALTER QUERY sums SET (aggregation = adapt)")
    code, said = call("explain", str(script))
    assert code == 0
    assert "AdaptWid" in said
