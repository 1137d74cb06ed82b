"""The four lines of the timestamp experiments, simulated once for all that is measured.

    A   internal timestamps, no enabling timestamps
    B   internal, periodic ones in the quiet stream, 0.1 to 1000 a second
    C   internal, on demand
    D   latent timestamps

Two streams, a 95 % selection on each, a union; Poisson arrivals at 50/s and 0.05/s.
Spec: timestamps 4.
"""

from __future__ import annotations

from functools import cache

from _streams import poisson, two_streams, virtual_host

from penstock.local.simulation import Report, simulate
from penstock.model.ets import NO_ETS, ON_DEMAND
from penstock.model.timestamps import SECOND

RATES = {"a": 50.0, "b": 0.05}
PERIODIC = (0.1, 1.0, 10.0, 100.0, 1000.0)


#: How long a full run is, and how long A always is: it costs little, and in less time the quiet
#: stream may come by chance before thousands wait.
LONG, SHORT = 200, 60


@cache
def lines(quick: bool, seed: int) -> dict[str, Report]:
    """What was measured, by line; B by its rate, as in `B 10/s`."""
    length = SHORT if quick else LONG
    arrivals = poisson(RATES, length, seed)
    until = length * SECOND
    found = {"A": simulate(two_streams(virtual_host(NO_ETS)), poisson(RATES, LONG, seed))}
    for rate in PERIODIC:
        host = two_streams(virtual_host(NO_ETS), heartbeat=round(SECOND / rate))
        found[f"B {rate:g}/s"] = simulate(host, arrivals, until=until)
    found["C"] = simulate(two_streams(virtual_host(ON_DEMAND)), arrivals)
    found["D"] = simulate(two_streams(virtual_host(NO_ETS), latent=True), arrivals)
    return found
