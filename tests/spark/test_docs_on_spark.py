"""Python on the pages that needs Spark runs."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.pages import Program, programs

PYTHON = [each for each in programs() if each.on_spark]


@pytest.mark.parametrize("program", PYTHON, ids=lambda program: program.page)
def test_python_on_a_page_runs_on_spark(spark: SparkSession, program: Program) -> None:
    program.run()
