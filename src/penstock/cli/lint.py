"""`penstock lint`: the code is clean by the tools that CONTRIBUTING.md names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

from penstock.cli.shared.arguments import checkout

FOLDERS = ("src", "tests", "benchmarks", "experiments")
TOOLS = (("ruff", "check", "-q"), ("ruff", "format", "--check", "-q"), ("mypy",))


def lint() -> None:
    """Check style, format and types of the code."""
    failed = failures(checkout())
    if failed:
        print(f"lint: {', '.join(failed)} failed", file=sys.stderr)
        raise typer.Exit(1)


def failures(root: Path) -> list[str]:
    """The tools that object to the code under `root`; what they say is printed."""
    folders = [name for name in FOLDERS if (root / name).is_dir()]
    failed = []
    for tool, *options in TOOLS:
        if tool == "mypy" and sys.version_info < (3, 11):
            print("lint: no types: they are checked against the packages for Python 3.11 and newer")
            continue
        done = subprocess.run([sys.executable, "-m", tool, *options, *folders], cwd=root)
        if done.returncode != 0:
            failed.append(" ".join([tool, *options[:1]]))
    return failed
