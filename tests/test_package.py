"""What `import penstock` gives before anything heavy is loaded."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

import penstock


def test_the_package_says_its_version_and_that_it_is_typed() -> None:
    assert penstock.__version__.count(".") == 2
    assert files("penstock").joinpath("py.typed").is_file()


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "'polars', 'pyspark', 'sqlglot', 'pyarrow', 'numpy'"
    code = f"import sys, penstock; print([m for m in ({heavy}) if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
