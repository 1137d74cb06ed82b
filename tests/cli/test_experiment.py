"""`penstock experiment`, on small experiments written for the test, and on one of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.shared.arguments import checkout

runner = CliRunner()

LINE = '''
"""A straight line.

More about it.
"""
from penstock.lab.experimenting import Check, Outcome, Plot, Table
from _slope import SLOPE

def run(quick, seed):
    points = [(x, SLOPE * x) for x in range(3 if quick else 10)]
    return Outcome(
        (Table("line [of it]", ("x", "y"), tuple(points)),),
        (Plot("The line", "x", "y", {"line": points}),),
        (Check("it rises", points[-1][1] > 0, f"to {points[-1][1]}"),),
    )
'''
WRONG = '''
"""A claim that fails."""
from penstock.lab.experimenting import Check, Outcome

def run(quick, seed):
    return Outcome((), (), (Check("one is two", False, "1"), Check("one is one", True, "1")))
'''


KNOWN = '''
"""A claim that is known to fail."""
from penstock.lab.experimenting import Check, Outcome

def run(quick, seed):
    return Outcome((), (), (
        Check("the seed is even", seed % 2 == 0, str(seed), known="nobody gives an even one"),
        Check("one is one", True, "1"),
    ))
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "experiments"
    folder.mkdir()
    (folder / "_slope.py").write_text("SLOPE = 2\n")
    (folder / "line.py").write_text(LINE)
    (folder / "wrong.py").write_text(WRONG)
    (folder / "known.py").write_text(KNOWN)
    return folder


def test_alone_it_lists_names_and_first_lines(folder: Path) -> None:
    done = runner.invoke(app, ["experiment", "--from", str(folder)])
    assert [line.split(None, 1) for line in done.stdout.splitlines()] == [
        ["known", "A claim that is known to fail."],
        ["line", "A straight line."],
        ["wrong", "A claim that fails."],
    ]


def test_it_prints_tables_writes_the_result_and_draws(folder: Path, tmp_path: Path) -> None:
    path, plots = tmp_path / "new" / "line.json", tmp_path / "plots"
    command = ["experiment", "LINE", "--from", str(folder), "--json", str(path)]
    done = runner.invoke(app, [*command, "--out", str(plots)])
    assert done.exit_code == 0, done.output
    assert "line [of it]" in done.stdout
    assert "holds: it rises (to 18)" in done.stdout
    written = json.loads(path.read_text())
    assert set(written["machine"]) == {"cores", "memory", "cpu", "platform"}
    [one] = written["experiments"]
    assert (one["name"], one["summary"], one["reproduced"]) == ("line", "A straight line.", True)
    assert one["tables"][0]["rows"][-1] == [9, 18]
    assert one["plots"][0]["lines"] == {"line": [[x, 2 * x] for x in range(10)]}
    assert (plots / "line-the-line.png").read_bytes().startswith(b"\x89PNG")


def test_a_claim_that_fails_fails_the_command_and_is_still_written(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "both.json"
    command = ["experiment", "wrong", "line", "--quick", "--from", str(folder)]
    done = runner.invoke(app, [*command, "--json", str(path)])
    assert done.exit_code == 1
    assert "FAILS: one is two (1)" in done.stdout
    assert "WRONG: the published result is NOT reproduced (claims that hold: 1, FAILURES: 1)" in (
        done.stdout
    )
    written = json.loads(path.read_text())
    assert [one["reproduced"] for one in written["experiments"]] == [False, True]
    assert len(written["experiments"][1]["tables"][0]["rows"]) == 3


def test_a_known_failure_is_shown_with_its_reason_and_is_neither_success_nor_error(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "known.json"
    command = ["experiment", "known", "line", "--from", str(folder), "--json", str(path)]
    done = runner.invoke(app, command)
    assert done.exit_code == 3
    assert "KNOWN FAILURE: the seed is even (1)\n    because nobody gives an even" in done.stdout
    assert "KNOWN: the published result is NOT reproduced" in done.stdout
    written = json.loads(path.read_text())
    known, line = written["experiments"]
    assert (known["reproduced"], known["as_expected"]) == (False, True)
    assert known["checks"][0]["verdict"] == "KNOWN FAILURE"
    assert known["checks"][0]["known"] == "nobody gives an even one"
    assert (line["reproduced"], line["as_expected"]) == (True, True)


def test_a_known_failure_that_holds_is_an_error(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    command = ["experiment", "known", "--seed", "4", "--from", str(folder), "--json", str(path)]
    done = runner.invoke(app, command)
    assert done.exit_code == 1
    assert "HOLDS AFTER ALL: the seed is even (4)\n    if it holds on every run, " in done.stdout
    assert "known failures that HOLD: 1" in done.stdout
    written = json.loads(path.read_text())
    assert written["seed"] == 4
    assert written["experiments"][0]["as_expected"] is False


def test_an_unknown_name_lists_the_known_ones(folder: Path) -> None:
    done = runner.invoke(app, ["experiment", "t9", "--from", str(folder)], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "no experiment `t9`; there are: known, line, wrong" in done.stderr


def test_experiments_that_want_different_environments_run_one_by_one(folder: Path) -> None:
    for name, threads in (("one", 1), ("two", 2)):
        (folder / f"{name}.py").write_text(f'ENVIRONMENT = {{"POLARS_MAX_THREADS": "{threads}"}}')
    command = ["experiment", "one", "two", "--from", str(folder)]
    done = runner.invoke(app, command, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "`two` needs POLARS_MAX_THREADS=2, another one 1" in done.stderr


def test_an_experiment_without_a_check_is_refused() -> None:
    from penstock.lab.experimenting import Outcome

    with pytest.raises(ValueError, match="without a check"):
        Outcome(tables=())


def test_one_of_our_own_is_reproduced(tmp_path: Path) -> None:
    done = runner.invoke(app, ["experiment", "X2", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "X2: the published result is reproduced" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == [
        "bursts-by-strategy-latency-of-bursts.png"
    ]


def test_every_experiment_of_ours_says_what_it_is() -> None:
    done = runner.invoke(app, ["experiment"])
    shown = [line.split(None, 1) for line in done.stdout.splitlines()]
    files = sorted(path.stem for path in (checkout() / "experiments").glob("[!_]*.py"))
    assert [name.replace("-", "_") for name, _ in shown] == files
