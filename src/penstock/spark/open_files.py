"""How many files a process may have open: Spark needs more than some shells allow."""

from __future__ import annotations

import resource

from penstock.errors import HostError

#: Spark's jars alone are some 300; every pipeline adds sockets, logs and files of state.
NEEDED = 1024


def allow_open_files() -> None:
    """Raise the limit as far as is needed and may be; HostError if that is not enough."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= NEEDED:
        return
    if hard != resource.RLIM_INFINITY and hard < NEEDED:
        raise HostError(
            f"this process may have {hard} files open (ulimit -n {hard}), and Spark needs "
            f"{NEEDED:,} or more",
            hint=f"raise it in the shell or container that starts this one: ulimit -n {4 * NEEDED}",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (NEEDED, hard))
