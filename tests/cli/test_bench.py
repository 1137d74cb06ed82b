"""`penstock bench`, on small benchmarks written for the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.shared.arguments import checkout

runner = CliRunner()

SUMS = '''
"""Adding numbers: a loop against Polars.

More about it.
"""
import polars as pl
from penstock.lab.benchmarking import Case
from _numbers import numbers

def cases(quick):
    data = numbers(10 if quick else 1000)
    yield Case(
        "all [of them]",
        ours=lambda: pl.DataFrame({"total": [sum(data)]}),
        rival=lambda: pl.DataFrame({"total": data}).sum(),
        rival_name="polars",
        repeats=3,
        extra={"rows": len(data), "samples": [list(data)]},
    )
'''
WRONG = '''
"""A wrong answer."""
from penstock.lab.benchmarking import Case

def cases(quick):
    yield Case("right", ours=lambda: 1, rival=lambda: 1, rival_name="one", repeats=1)
    yield Case("wrong", ours=lambda: 1, rival=lambda: 2, rival_name="two", repeats=1)
'''
FILES = '''
"""Files."""
from penstock.lab.benchmarking import Case, Timed

def cases(quick):
    for name, io in (("a", "csv"), ("b", "csv"), ("c", "memory"), ("d", "")):
        yield Case(
            name,
            ours=lambda: 1,
            rival=lambda: Timed(1, 61.0),
            rival_name="one",
            repeats=3,
            warm_up=0,
            once_above=60,
            ours_io=io and f"{io} → memory",
            rival_io=io and f"{io} by Spark → parquet",
        )
'''
THREADS = '''
"""Threads."""
ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}
import polars as pl
from penstock.lab.benchmarking import Case

def cases(quick):
    yield Case("threads", ours=pl.thread_pool_size, rival=lambda: 1, rival_name="one", repeats=1)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "_numbers.py").write_text("def numbers(n): return list(range(n))\n")
    for name, text in {"files": FILES, "sums": SUMS, "wrong": WRONG, "threads": THREADS}.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_alone_it_lists_names_and_first_lines(folder: Path) -> None:
    done = runner.invoke(app, ["bench", "--from", str(folder)])
    assert [line.split(None, 1) for line in done.stdout.splitlines()] == [
        ["files", "Files."],
        ["sums", "Adding numbers: a loop against Polars."],
        ["threads", "Threads."],
        ["wrong", "A wrong answer."],
    ]


def test_it_prints_a_table_and_writes_the_result(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "sums.json"
    done = runner.invoke(app, ["bench", "sums", "--from", str(folder), "--json", str(path)])
    assert done.exit_code == 0, done.output
    assert "all [of them]" in done.stdout
    written = json.loads(path.read_text())
    assert written["name"] == "sums"
    assert written["quick"] is False
    assert set(written["machine"]) == {"cores", "memory", "cpu", "platform"}
    assert set(written["versions"]) >= {"python", "penstock", "polars"}
    (result,) = written["results"]
    assert (result["case"], result["rival"]) == ("all [of them]", "polars")
    assert result["equal"] is True
    assert result["rows"] == 1000
    assert len(result["samples"][0]) == 1000
    assert "samples" not in done.stdout  # more than a value has no place in a table
    assert len(result["ours_runs_s"]) == len(result["rival_runs_s"]) == 3
    assert result["ratio"] == result["rival_s"] / result["ours_s"]


def test_below_the_table_stands_how_both_sides_read_and_write(folder: Path) -> None:
    done = runner.invoke(app, ["bench", "files", "--from", str(folder)])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-6:] == [
        "a, b",
        "  ours:  csv → memory",
        "  rival: csv by Spark → parquet",
        "c",
        "  ours:  memory → memory",
        "  rival: memory by Spark → parquet",
    ]


def test_where_all_cases_say_nothing_nothing_stands_there(folder: Path) -> None:
    done = runner.invoke(app, ["bench", "sums", "--from", str(folder)])
    assert "ours:" not in done.stdout


def test_the_table_says_how_many_runs_count(folder: Path) -> None:
    done = runner.invoke(app, ["bench", "files", "--from", str(folder)])
    assert "3, rival 1" in done.stdout


def test_a_chart_stands_beside_the_result_or_where_it_is_wanted(
    folder: Path, tmp_path: Path
) -> None:
    command = ["bench", "sums", "--from", str(folder), "--json", str(tmp_path / "sums.json")]
    runner.invoke(app, command)
    assert (tmp_path / "sums.png").exists()
    runner.invoke(app, [*command, "--chart", str(tmp_path / "new" / "bars.svg")])
    assert "all [of them]" in (tmp_path / "new" / "bars.svg").read_text()


def test_a_case_can_be_run_alone(folder: Path) -> None:
    done = runner.invoke(app, ["bench", "wrong", "--from", str(folder), "--case", "right"])
    assert (done.exit_code, "two" in done.stdout) == (0, False)
    done = runner.invoke(app, ["bench", "wrong", "--from", str(folder), "--case", "left"])
    assert (done.exit_code, "no such case: left" in done.stderr) == (2, True)


def test_quick_reaches_the_benchmark(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "sums.json"
    runner.invoke(app, ["bench", "sums", "--quick", "--from", str(folder), "--json", str(path)])
    written = json.loads(path.read_text())
    assert written["quick"] is True
    assert written["results"][0]["rows"] == 10


def test_progress_goes_to_stderr(folder: Path) -> None:
    done = runner.invoke(app, ["bench", "sums", "--from", str(folder)])
    assert "sums: all [of them], run 1 of 4" in done.stderr
    assert "run 1 of 4" not in done.stdout


def test_answers_that_differ_fail_and_are_still_written(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    done = runner.invoke(app, ["bench", "wrong", "--from", str(folder), "--json", str(path)])
    assert done.exit_code == 1
    assert "case wrong: answers differ: ours 1, the rival's 2" in done.stderr
    assert "case right" not in done.stderr
    assert [result["equal"] for result in json.loads(path.read_text())["results"]] == [True, False]


def test_a_benchmarks_environment_is_set_before_it_imports(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "threads.json"
    command = ["bench", "threads", "--from", str(folder), "--json", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *command],
        env={**os.environ, "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(path.read_text())["environment"] == {"POLARS_MAX_THREADS": "1"}


def test_an_unknown_name_lists_the_known_ones(folder: Path) -> None:
    done = runner.invoke(app, ["bench", "sum", "--from", str(folder)], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "no benchmark `sum`; there are: files, sums, threads, wrong" in done.stderr


def test_a_result_without_a_benchmark_is_wrong_usage(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    done = runner.invoke(app, ["bench", "--from", str(folder), "--json", str(path)])
    assert done.exit_code == 2
    assert not path.exists()


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    done = runner.invoke(app, ["bench", "--from", str(tmp_path)])
    assert (done.stdout, done.exit_code) == ("no benchmarks yet\n", 0)


def test_our_own_benchmarks_can_be_listed() -> None:
    done = runner.invoke(app, ["bench"])
    files = sorted(
        path.stem.replace("_", "-") for path in (checkout() / "benchmarks").glob("[!_]*.py")
    )
    shown = [line.split()[0] for line in done.stdout.splitlines()]
    assert shown == files or (not files and done.stdout == "no benchmarks yet\n")


def test_cases_that_there_is_no_time_for_are_named(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "files.json"
    command = ["bench", "files", "--from", str(folder), "--json", str(path), "--minutes", "0"]
    done = runner.invoke(app, command)
    assert done.exit_code == 0
    assert "left out, because there was no time: b, c, d" in done.stdout
    written = json.loads(path.read_text())
    assert [each["case"] for each in written["results"]] == ["a"]
    assert written["left_out"] == ["b", "c", "d"]
