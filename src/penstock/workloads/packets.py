"""Packets on the links of a network, as in the specification's examples.

    srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP

Hosts hold conversations: a few for each, with a partner and ports that stay the same. A packet
belongs to one of them, and who begins it is skewed: few hosts send most. What goes out on `main1`
is answered on `main2` with source and destination exchanged, so a join of the two finds pairs.

    link     direction   rate     in the specification
    main1    out         4000/s   Main1, M1
    main2    back        4000/s   Main2, M2
    quiet    out         0.5/s    Control, C: almost silent

Links of one seed share hosts and conversations, and nothing else.  Spec: window-queries 2.2, 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
import polars as pl

from penstock.workloads.arrivals import ArrivalPattern
from penstock.workloads.draws import Draws, Integers
from penstock.workloads.keys import KeyDistribution
from penstock.workloads.options import WorkloadOptions, check_choice, check_range
from penstock.workloads.workload import Values, Workload

#: Link -> its usual rate in rows per second.
LINKS = {"main1": 4000.0, "main2": 4000.0, "quiet": 0.5}
HOSTS = 1000
SKEW = 1.0
CONVERSATIONS = 8  # of each host

_SERVICES = np.array([80, 443, 443, 443, 53, 25, 22, 8080], dtype=np.int32)
_FIRST_FREE_PORT, _FREE_PORTS = 1024, 64512
#: As on real links: mostly bare acknowledgements and full packets, and some of every size between.
SIZES = np.concatenate(
    [np.full(52, 40), np.full(26, 1500), np.full(10, 576), np.linspace(41, 1499, 40)]
).astype(np.int32)


@dataclass(frozen=True, kw_only=True)
class Packets(Workload):
    """The packets of one link."""

    arrivals: ArrivalPattern = field(default_factory=lambda: ArrivalPattern(rate=LINKS["main1"]))
    link: str = "main1"
    hosts: KeyDistribution = field(default_factory=lambda: KeyDistribution(HOSTS, SKEW))

    name: ClassVar[str] = "packets"
    declaration: ClassVar[str] = (
        "srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP"
    )

    def __post_init__(self) -> None:
        check_choice("link", self.link, LINKS)
        check_range("keys", self.hosts.count, 2, 1 << 24)  # they talk to others, and need addresses

    @classmethod
    def from_options(cls, options: WorkloadOptions, seed: int) -> Workload:
        link = options.choice("link", LINKS, "main1")
        return cls.with_own(
            options,
            seed,
            rate=LINKS[link],
            link=link,
            hosts=KeyDistribution.from_options(options, count=HOSTS, skew=SKEW),
        )

    @property
    def draws(self) -> Draws:
        return Draws(self.seed, f"{self.name}/{self.link}")

    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        count = len(times)
        client = self.hosts.draw(self.draws, "client", first, count)
        which = self.draws.below(CONVERSATIONS, "conversation", first, count)
        # Asked of all links together, so that each tells the same of a conversation.
        facts = Draws(self.seed, self.name).numbered("conversation", client * CONVERSATIONS + which)
        others = np.uint64(self.hosts.count - 1)
        distance = (facts >> np.uint64(32)) % others + np.uint64(1)
        server = (client + distance.astype(np.int64)) % self.hosts.count
        low = facts.astype(np.uint32)
        client_port = (low >> np.uint32(3)) % np.uint32(_FREE_PORTS) + np.uint32(_FIRST_FREE_PORT)
        service = _SERVICES[low & np.uint32(7)]
        addresses = _addresses(self.hosts.count)
        begun, answered = ("dest", "src") if self.link == "main2" else ("src", "dest")
        return {
            f"{begun}IP": addresses.gather(client),
            f"{begun}Port": client_port,
            f"{answered}IP": addresses.gather(server),
            f"{answered}Port": service,
            "len": SIZES[self.draws.below(len(SIZES), "len", first, count)],
        }


@lru_cache(maxsize=4)
def _addresses(count: int) -> pl.Series:
    """Addresses of the hosts 0 … count - 1.

    >>> _addresses(300).gather([0, 299]).to_list()
    ['10.0.0.0', '10.0.1.43']
    """
    host = pl.int_range(count)
    address = pl.format("10.{}.{}.{}", host // 65536, host // 256 % 256, host % 256)
    return pl.select(address).to_series()
