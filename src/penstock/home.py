"""Where lies what set-up has made, and what was measured of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def home(environ: Mapping[str, str], prefix: Path) -> Path:
    """The folder where `./penstock` keeps what it has made, for a Python of that prefix.

    >>> home({"PENSTOCK_HOME": "/srv/penstock"}, Path("/usr")).as_posix()
    '/srv/penstock'
    >>> home({"XDG_CACHE_HOME": "/home/me/.cache"}, Path("/usr")).as_posix()
    '/home/me/.cache/penstock'
    """
    if home := environ.get("PENSTOCK_HOME"):
        return Path(home)
    if (prefix / "made-with").is_file():  # set-up has made this environment (penstock_setup)
        return prefix.parent
    return Path(environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "penstock"
