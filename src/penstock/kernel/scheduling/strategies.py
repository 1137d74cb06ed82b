"""The strategies by the names people give them."""

from __future__ import annotations

import re

from penstock.errors import BadSetting
from penstock.kernel.scheduling.batched import batched
from penstock.kernel.scheduling.breadth_first import BREADTH_FIRST
from penstock.kernel.scheduling.depth_first import DEPTH_FIRST
from penstock.kernel.scheduling.round_robin import ROUND_ROBIN
from penstock.kernel.scheduling.strategy import Strategy

_NAMED = {strategy.name: strategy for strategy in (DEPTH_FIRST, BREADTH_FIRST, ROUND_ROBIN)}

#: Rows a batch, where none are named.
BATCH = 100


def strategy_named(name: str) -> Strategy:
    """The strategy of that name, in any spelling of case and blanks.

    >>> str(strategy_named("Round_Robin")), str(strategy_named("batched 100"))
    ('round robin', 'batched 100')
    """
    plain = re.sub(r"[\s_]+|-(?=[a-z])", " ", name.strip().lower())
    if plain in _NAMED:
        return _NAMED[plain]
    sized = re.fullmatch(r"batched ?(\d*)", plain)
    if sized:
        return batched(int(sized[1] or BATCH))
    raise BadSetting(
        f"no scheduling strategy `{name}`",
        hint=f"there are: {', '.join(_NAMED)}, batched N (N rows a batch, by default {BATCH})",
    )
