"""The command line as a whole: what it prints, where, and with which exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli.app import Commands, app, penstock
from penstock.cli.shared.arguments import checkout
from penstock.errors import Position, QueryError
from penstock.version import __version__

runner = CliRunner()


def failing_app() -> typer.Typer:
    """Our command line with one command, which meets an error of ours."""

    def fail() -> None:
        text = "SELECT pric FROM bids"
        raise QueryError("no column `pric`", position=Position(text, 7, 11), hint="try `price`")

    failing = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
    failing.callback()(penstock)
    failing.command()(fail)
    return failing


def test_version_is_the_packages() -> None:
    done = runner.invoke(app, ["--version"])
    assert (done.stdout, done.exit_code) == (f"penstock {__version__}\n", 0)


def test_help_lists_every_command() -> None:
    commands = {info.callback.__name__ for info in app.registered_commands if info.callback}
    assert commands >= {"bench", "test"}
    shown = runner.invoke(app, ["--help"]).stdout
    assert [name for name in commands if name not in shown] == []


def test_the_installed_package_lists_the_commands_that_it_has(tmp_path: Path) -> None:
    shutil.copytree(checkout() / "src" / "penstock", tmp_path / "penstock")
    shutil.copy(checkout() / "examples" / "demo.sql", tmp_path / "penstock" / "cli")

    def python(*arguments: str) -> str:
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    names = "[each.callback.__name__ for each in app.registered_commands]"
    listed = python("-c", f"from penstock.cli.app import app; print(*{names})")
    assert listed.split() == ["demo", "run", "status", "explain", "verify", "calibrate"]
    found = python("-c", "from penstock.cli.demo import SCRIPT; print(SCRIPT.read_text())")
    assert "CREATE STREAM" in found


def test_an_error_of_ours_is_text_on_stderr_and_exit_code_1() -> None:
    done = runner.invoke(failing_app(), ["fail"])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr == (
        "no column `pric`\n  SELECT pric FROM bids\n         ^^^^\n  try `price`\n"
    )


def test_debug_shows_where_an_error_came_from() -> None:
    done = runner.invoke(failing_app(), ["--debug", "fail"])
    assert isinstance(done.exception, QueryError)


@pytest.mark.parametrize("arguments", [["no-such-command"], ["bench", "--no-such-option"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert runner.invoke(app, arguments).exit_code == 2


def test_help_does_not_wait_for_heavy_packages() -> None:
    source = (
        "import sys, penstock.cli.app\n"
        "print([m for m in ('polars', 'pyarrow', 'numpy', 'sqlglot') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_files_of_the_callers_directory_hide_no_package(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise SystemExit('the wrong typer')\n")
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"penstock {__version__}\n", done.stderr
