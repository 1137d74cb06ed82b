"""Masters: what the address of a Spark tells of it.

local, local[4], local[4,2]        driver and executors are one process of this machine
local-cluster[2,1,1024]            executors are processes of this machine
spark://host:port,…                a standalone cluster
yarn, k8s://…                      clusters of other kinds, which are left to Spark
"""

from __future__ import annotations

import re
import socket

from penstock.errors import HostError

#: Seconds in which a master must answer.
CONNECT = 10.0

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def is_one_process(master: str | None) -> bool:
    """Whether driver and executors are one process.

    >>> is_one_process(None), is_one_process("local[2,4]"), is_one_process("local-cluster[2,1,1]")
    (True, True, False)
    """
    return master is None or re.fullmatch(r"local(\[.*\])?", master) is not None


def is_on_loopback(master: str | None) -> bool:
    """Whether a cluster is one of this machine, by the address of its master.

    >>> is_on_loopback("spark://127.0.0.1:7077"), is_on_loopback("spark://[::1]:7077,host:7077")
    (True, False)
    """
    places = (master or "").removeprefix("spark://").split(",")
    hosts = [place.rpartition(":")[0] for place in places]
    return (master or "").startswith("spark://") and all(host in _LOOPBACK for host in hosts)


def check_reachable(master: str) -> None:
    """Raise unless one of the hosts of `spark://host:port,…` answers; Spark would try for minutes.

    Masters of other kinds are left to Spark.
    """
    if "://" not in master and re.match(r"local(-cluster)?(\[.*\])?$|yarn$", master) is None:
        raise HostError(
            f"`{master}` is not the address of a Spark master",
            hint="such as spark://host:7077, yarn, k8s://https://host:6443, or local[4] for four "
            "cores of this machine",
        )
    if not master.startswith("spark://"):
        return
    reasons = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT):
                return
        except (OSError, ValueError) as cause:
            reasons.append(f"{place}: {cause}")
    raise HostError(
        f"the Spark master `{master}` does not answer: {'; '.join(reasons)}",
        hint="is it running, and reachable from here? Without --master Spark runs on this machine",
    )
