"""What the pages show is true: commands print what is shown, code runs, files exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.catalog.catalog import Catalog
from penstock.errors import NotExecutable
from penstock.optimizer.optimize import optimize
from penstock.runtime.declarations import apply
from penstock.sql.parse.parser import parse
from tests.pages import PAGES, ROOT, WHOLE, Command, Program, blocks, commands, programs

COMMANDS = [each for each in commands() if not each.on_spark]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.text)
def test_a_command_prints_what_the_page_shows(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command.run_here()


def test_a_process_prints_what_the_page_shows() -> None:
    [command] = [each for each in commands() if each.text == WHOLE]
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", *command.arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    command.check(ran.returncode, ran.stdout, ran.stderr)


PYTHON = [each for each in programs() if not each.on_spark]


@pytest.mark.parametrize("program", PYTHON, ids=lambda program: program.page)
def test_python_on_a_page_runs(program: Program) -> None:
    program.run()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_named_on_a_page_exist(page: Path) -> None:
    for name in re.findall(
        r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:py|md|toml|lock|sql))`", page.read_text()
    ):
        if name.startswith(("./", ".penstock")) or "out/" in name:
            continue
        places = (ROOT / name, ROOT / "src" / "penstock" / name, page.parent / name)
        assert any(place.exists() for place in places), f"{page.name} names `{name}`"


def test_the_files_shown_on_the_first_page_are_the_examples() -> None:
    [shown] = blocks(ROOT / "README.md", "sql")
    example = (ROOT / "examples" / "talkers.sql").read_text()
    for statement in shown.split(";\n"):
        assert statement.strip().rstrip(";") in example


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/*.sql")), ids=lambda f: f.name)
def test_examples_bind_and_can_run_unless_they_show_a_mistake(file: Path) -> None:
    catalog = Catalog()
    if file.stem == "misspelt":
        with pytest.raises(Exception, match="did you mean"):
            for statement in parse(file.read_text()):
                apply(statement, catalog)
        return
    for statement in parse(file.read_text()):
        apply(statement, catalog)
    for entry in catalog.queries:
        try:
            optimize({entry.name: entry.plan}, catalog.settings.options)
        except NotExecutable as refusal:
            pytest.fail(str(refusal))
