"""Streams made of nothing but a seed, for demos, tests and experiments.

    workload     rows                                                  its own options
    poisson      keys and values                                       keys, skew, value
    packets      packets on a link                                     link, keys, skew
    rfid         tags that pass readers                                tags, readers, repeats
    bids         bids of an auction house in the manner of NEXMark     -
    auctions     its auctions                                          -
    persons      its sellers and bidders                               -
    densities    groups of very different sizes, DS1 to DS5            dataset

    option       for                 such as                   meaning
    rate         all                 '4000'                    rows per second outside of lulls
    start        all                 '2026-01-01 10:00:00'     when the first row may come; or ticks
    rows         all                 '1000000'                 the stream ends after so many
    seed         all                 '42'                      other rows of the same kind
    lull, every  all but densities   '10 seconds', '1 minute'  silence at the end of each period
    burst        all but densities   '20'                      so many rows come together
    disorder     all but densities   '5 seconds'               rows are late by up to that
    block        all but densities   '1 minute'                rows come in shuffled blocks
    lag          all but densities   '3 seconds'               rows are late by exactly that

Every workload is a function from row numbers to rows (`workload`): no clock, no file, no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from penstock.errors import UnknownName
from penstock.model.schema import suggest
from penstock.workloads.auctions import Auctions
from penstock.workloads.bids import Bids
from penstock.workloads.densities import Densities
from penstock.workloads.options import WorkloadOptions
from penstock.workloads.packets import Packets
from penstock.workloads.persons import Persons
from penstock.workloads.poisson import Poisson
from penstock.workloads.rfid import Rfid
from penstock.workloads.workload import Workload

WORKLOADS: Mapping[str, type[Workload]] = MappingProxyType(
    {kind.name: kind for kind in (Poisson, Packets, Rfid, Bids, Auctions, Persons, Densities)}
)


def workload(name: str, options: Mapping[str, str] | None = None, seed: int = 0) -> Workload:
    """The workload of that name; the option `seed` goes before the argument.

    >>> packets = workload("packets", {"link": "quiet", "disorder": "5 seconds"})
    >>> packets.slack, packets.rows(first=7, count=2).height
    (5000000, 2)
    """
    kind = WORKLOADS.get(name.lower())
    if kind is None:
        raise UnknownName(f"no workload `{name}`", hint=suggest(name.lower(), WORKLOADS))
    given = WorkloadOptions(kind.name, options or {})
    made = kind.from_options(given, given.whole("seed", seed))
    given.refuse_unread()
    return made


__all__ = ["WORKLOADS", "Workload", "workload"]
