"""What a measurement ran on: a number means little without it."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from penstock.version import __version__

PACKAGES = ("duckdb", "numpy", "pandas", "polars", "pyarrow", "pyspark", "sqlglot")


def machine() -> dict[str, object]:
    """Cores that we may use, memory in bytes, the CPU's name, the operating system."""
    return {
        "cores": cores(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cpu": cpu(),
        "platform": platform.platform(),
    }


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # Linux: fewer than there are, in a container
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu() -> str:
    """The CPU's name in the words of its maker, as far as the system tells it."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        found = re.search(r"^model name\s*: (.*)$", information.read_text(), re.MULTILINE)
        if found:
            return found[1]
    elif platform.system() == "Darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Python, Penstock, and those of the packages a benchmark may use that are here."""
    found = {"python": platform.python_version(), "penstock": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
