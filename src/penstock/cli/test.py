"""`penstock test`: pytest over the whole suite, in which linting and typing are tests too."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.checkout import checkout

# Said aloud, because pytest looks for settings near the files it is given.
OUR_SETTINGS = ("-c", "pyproject.toml", "--rootdir", ".")
#: The whole suite is shared out to two processes, a test at a time: some take milliseconds, those
#: on Spark seconds. Each of the two has a Spark session of its own.
TWO_WORKERS = ("-n", "2", "--dist", "loadgroup")
PASS_ON_THE_REST = {"allow_extra_args": True, "ignore_unknown_options": True}


def test(
    ctx: typer.Context,
    slow: Annotated[bool, typer.Option("--slow", help="Run the slow tests as well.")] = False,
) -> None:
    """Run the test suite. Whatever else is given goes to pytest: `test tests/cli -k bench`."""
    root = checkout()
    arguments = pytest_arguments(ctx.args, slow, here=Path.cwd(), root=root)
    os.chdir(root)
    # In our place, not below us: pytest has the last word, the exit code and Ctrl-C.
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *OUR_SETTINGS, *arguments])


def pytest_arguments(given: Sequence[str], slow: bool, here: Path, root: Path) -> list[str]:
    """What to tell pytest, which runs in `root` while paths were meant from `here`.

    >>> pytest_arguments(["-k", "bench"], slow=True, here=Path("/"), root=Path("/"))
    ['-m', 'slow or not slow', '-k', 'bench']
    >>> pytest_arguments([], slow=False, here=Path("/"), root=Path("/"))
    ['-n', '2', '--dist', 'loadgroup']
    """
    everything = ["-m", "slow or not slow"] if slow else []
    workers = [] if given else TWO_WORKERS
    return [*workers, *everything, *(seen_from(root, here, argument) for argument in given)]


def seen_from(root: Path, here: Path, argument: str) -> str:
    path, colons, test_name = argument.partition("::")
    meant = here / path
    if path.startswith("-") or (root / path).exists() or not meant.exists():
        return argument
    return f"{meant}{colons}{test_name}"
