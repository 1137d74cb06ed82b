"""What SET could do once and can no longer: what became of it, and what to do instead.

Baselines are algorithms that exist to be compared with. Experiments build them
(`lab/baselines.py`); a query has no use for them.
"""

from __future__ import annotations

#: By setting and value, as SQL has it.
REMOVED = {
    "aggregation = buffering": "it is a baseline, which `./penstock experiment W1` compares with "
    "`wid`; `aggregation = auto` takes what is estimated to be faster",
    "aggregation = buffering_incremental": "it is a baseline, which `./penstock experiment W1` "
    "compares with `wid`; `aggregation = auto` takes what is estimated to be faster",
    "flush = in_order": "it is a baseline, which `./penstock experiment G1` compares with the "
    "others; `aggregation = auto` needs no table",
    "join = global_order": "it is a baseline, which pairs wrong rows where an input is late; "
    "`join = auto` does not",
}

#: Whole settings, by name.
REMOVED_SETTINGS = {
    "lowering": "every query runs in the kernel, which is faster than Spark SQL alone",
}
