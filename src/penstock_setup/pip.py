"""pip, with a few lines where it says hundreds, and its last words only when it fails.

pip writes to a log; while it runs, we look at that log and tell how far it is.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from penstock_setup.places import SetupFailed
from penstock_setup.progress import Progress

TAIL_LINES = 8
TAIL_WIDTH = 200

# What pip's words mean for the person who reads them; the first that matches counts.
REASONS = (
    (r"No space left on device", "the disk is full: free some space, then call again"),
    (
        r"Retrying \(|NewConnectionError|Temporary failure in name resolution|timed out",
        "the package index cannot be reached: check the network, or pip's settings with"
        " `pip config list`, then call again",
    ),
    (
        r"DO NOT MATCH THE HASHES",
        "a package is not the one that was locked: do not use that package index",
    ),
    (
        r"No matching distribution",
        "the package index has no ready-made package for this Python or this machine: name a"
        " Python from 3.10 to 3.14 in PENSTOCK_PYTHON",
    ),
)


def install(
    pip: Sequence[str], arguments: Sequence[str], lock: Path, log: Path, progress: Progress
) -> int:
    """Install exactly what `lock` says; return how many packages that were."""
    command = [
        # `bytecode` compiles, on all cores.
        *(*pip, "install", "--require-hashes", "--no-compile"),
        # Spark is published as source only, and is plain Python and jars: nothing to compile.
        *("--only-binary", ":all:", "--no-binary", "pyspark"),
        *("--disable-pip-version-check", "--no-input", "--progress-bar", "off"),
        *(*arguments, "-r", str(lock)),
    ]
    # A PYTHONPATH is for the user's programs; pip would take it for part of the environment.
    environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environ
        )
        progress.wait_for(process, lambda: state(read(log)))
    said = read(log)
    if process.returncode != 0:
        raise SetupFailed(f"{reason(said)}\n  pip's last words (all of them: {log}):\n{tail(said)}")
    return len(to_install(said))


def read(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def state(said: str) -> str:
    """How far pip is.

    >>> state("Collecting numpy==2.4.6\\n  Using cached ...\\nCollecting polars==2.1.0\\n")
    'fetching package 2, polars'
    >>> state("Collecting numpy==2.4.6\\nInstalling collected packages: numpy, polars\\n")
    'installing 2 packages'
    """
    if packages := to_install(said):
        return f"installing {len(packages)} packages"
    fetched = re.findall(r"^Collecting ([\w.-]+)", said, re.MULTILINE)
    return f"fetching package {len(fetched)}, {fetched[-1]}" if fetched else "asking for packages"


def to_install(said: str) -> list[str]:
    found = re.search(r"^Installing collected packages: (.*)$", said, re.MULTILINE)
    return found[1].split(", ") if found else []


def reason(said: str) -> str:
    """The failure in one sentence.

    >>> reason("ERROR: [Errno 28] No space left on device")
    'the disk is full: free some space, then call again'
    """
    for pattern, sentence in REASONS:
        if re.search(pattern, said):
            return sentence
    return "pip could not install the packages"


def tail(said: str) -> str:
    """The last lines that say something: not those about packages for other Pythons."""
    lines = [line for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith("Ignoring ")]
    return "\n".join(f"    {line[:TAIL_WIDTH]}" for line in telling[-TAIL_LINES:])
