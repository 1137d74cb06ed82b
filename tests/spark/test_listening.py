"""A local Spark is reached from this machine only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

#: Loopback addresses as the kernel writes them: of IPv4, of IPv6, and of the former in the latter.
LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
LISTENS = "0A"


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="sockets are read from /proc")
def test_a_local_spark_listens_on_loopback_only(spark: SparkSession) -> None:
    machine: Any = spark.sparkContext._jvm
    process = machine.java.lang.ProcessHandle.current().pid()
    addresses = listening(process)
    assert addresses
    assert set(addresses) <= set(LOOPBACK)


def listening(process: int) -> list[str]:
    """The addresses that a process listens on."""
    mine = set()
    for handle in Path(f"/proc/{process}/fd").iterdir():
        try:
            mine.add(os.readlink(handle))
        except OSError:  # closed meanwhile
            continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and f"socket:[{fields[9]}]" in mine:
                found.append(fields[1].split(":")[0])
    return found
