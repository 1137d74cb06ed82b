"""Python and commands on the pages that need Spark run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.pages import ROOT, WHOLE, Command, Program, commands, programs

COMMANDS = [each for each in commands() if each.on_spark and each.text != WHOLE]
PYTHON = [each for each in programs() if each.on_spark]


@pytest.mark.parametrize("program", PYTHON, ids=lambda program: program.page)
def test_python_on_a_page_runs_on_spark(spark: SparkSession, program: Program) -> None:
    program.run()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.text)
def test_a_command_prints_what_the_page_shows(
    spark: SparkSession, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command.run_here()
