"""`python -m penstock`."""

from __future__ import annotations

import os
import sys

# `-m` puts the caller's directory before all packages; a polars.py there is not what we need.
if sys.path and sys.path[0] in ("", os.getcwd()):
    del sys.path[0]

from penstock.cli.app import main

if __name__ == "__main__":
    main()
