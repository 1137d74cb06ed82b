"""State that was written for a batch that was never committed, in checkpoints of the first format.

A batch may fail after its state is on disk: the results have no room, a driver is killed. It is run
again from the state before it, and writes its state once more. In checkpoints of Spark's second
format every attempt has files of its own, and the commit says whose count (`session`). In those of
the first, which earlier releases began, both attempts write the same name, and
the file-system manager keeps the older file; what comes later then builds on what is not there. So
what no commit covers is removed before such a checkpoint goes on.
"""

from __future__ import annotations

import re
from pathlib import Path

#: Files that hold a version of state; those of the second format have an id after the number.
_VERSION = re.compile(r"(\d+)\.(?:changelog|delta|snapshot|zip)")


def remove_uncommitted(folder: Path) -> list[Path]:
    """Remove from Spark's folder the state that no commit covers; gives what was there.

    The state after batch n is version n + 1.
    """
    commits = folder / "commits"
    done = [int(f.name) for f in commits.glob("[0-9]*") if f.name.isdigit()]
    latest = max(done, default=-1) + 1
    removed = []
    for file in sorted((folder / "state").rglob("*")):
        name = _VERSION.fullmatch(file.name)
        if name is not None and int(name[1]) > latest:
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
            file.unlink(missing_ok=True)
            removed.append(file)
    return removed
