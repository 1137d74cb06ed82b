"""`penstock test`: pytest over the whole suite, in two processes."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.shared.arguments import checkout

# Said aloud, because pytest looks for settings near the files it is given.
OUR_SETTINGS = ("-c", "pyproject.toml", "--rootdir", ".")
#: The whole suite is shared out to two processes: the tests with a Spark session go to one of
#: them as a whole (`tests/conftest.py`), all others one by one to whoever is free.
TWO_WORKERS = ("-n", "2", "--dist", "loadscope")
PASS_ON_THE_REST = {"allow_extra_args": True, "ignore_unknown_options": True}


def test(
    ctx: typer.Context,
    slow: Annotated[
        bool, typer.Option("--slow", help="Run the slow tests as well, with random cases.")
    ] = False,
) -> None:
    """Run the test suite. Whatever else is given goes to pytest: `test tests/cli -k bench`."""
    root = checkout()
    seed = random.randrange(1 << 32) if slow else None
    arguments = pytest_arguments(ctx.args, seed, here=Path.cwd(), root=root)
    os.chdir(root)
    # Tests start dozens of Pythons, of which each would compile all of us.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # In our place, not below us: pytest has the last word, the exit code and Ctrl-C.
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *OUR_SETTINGS, *arguments])


def pytest_arguments(given: Sequence[str], seed: int | None, here: Path, root: Path) -> list[str]:
    """What to tell pytest, which runs in `root` while paths were meant from `here`.

    With a seed everything runs, the slow tests too, on cases drawn from it.

    >>> pytest_arguments(["-k", "bench"], seed=7, here=Path("/"), root=Path("/"))
    ['-m', 'slow or not slow', '--hypothesis-seed=7', '-k', 'bench']
    >>> pytest_arguments([], seed=None, here=Path("/"), root=Path("/"))
    ['-n', '2', '--dist', 'loadscope']
    """
    everything = [] if seed is None else ["-m", "slow or not slow", f"--hypothesis-seed={seed}"]
    workers = [] if given else TWO_WORKERS
    return [*workers, *everything, *(seen_from(root, here, argument) for argument in given)]


def seen_from(root: Path, here: Path, argument: str) -> str:
    path, colons, test_name = argument.partition("::")
    meant = here / path
    if path.startswith("-") or (root / path).exists() or not meant.exists():
        return argument
    return f"{meant}{colons}{test_name}"
