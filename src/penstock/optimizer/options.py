"""Options: what a user has said about how queries are to be computed.

One frozen value goes from `SET` (`catalog/settings.py`) through the optimizer to the hosts and into
checkpoints. Whatever is set, answers stay the same; they come in another order at most.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.model.sizes import bytes_of, size_text
from penstock.model.timestamps import format_duration, ticks_of

#: The choice that leaves it to the optimizer.
AUTO = "auto"
UNLIMITED = "unlimited"
#: The order of joins that is written.
WRITTEN = "written"
_TWO_LEVEL = ("aggregation", "two_level")


def setting(default: Any, doc: str, *words: str, **others: Any) -> Any:
    """A field that SET can change: what it decides, the words it can be, and what else is known of
    it (`catalog.settings.Setting`)."""
    return field(default=default, metadata={"doc": doc, "words": words, **others})


def cores(value: object) -> float | None:
    """A number of cores; None: it is none.

    >>> cores(2), cores(0), cores("2")
    (2.0, None, None)
    """
    if not isinstance(value, int | float) or not 0 < value < float("inf"):
        return None
    return float(value)


def size(value: object) -> str | None:
    """A size of memory, written in one way; None: it is none.

    >>> size("'1024 MB'"), size("much")
    ('1 GB', None)
    """
    found = bytes_of(value.strip("'\"")) if isinstance(value, str) else None
    return None if found is None else size_text(found)


def duration(value: object) -> str | None:
    """A duration, written in one way; None: it is none.

    >>> duration("'36 HOURS'"), duration("soon")
    ('36 hours', None)
    """
    ticks = ticks_of(str(value).strip("'\""))
    return None if ticks is None else format_duration(ticks)


@dataclass(frozen=True)
class Options:
    """Everything that decides between operators, and how they take turns."""

    union: str = setting(
        AUTO,
        "whether unions pass rows on at once (`meld`), or wait to keep them in order (`merge`). "
        "`auto` is `meld`, or with `mode = iop` `merge`",
        AUTO,
        "meld",
        "merge",
    )
    strategy: str = setting(
        "dfs",
        "which operator runs next",
        "dfs",
        "bfs",
        "round_robin",
        "batched",
        of_engine=True,
    )
    rows_per_step: int | None = setting(
        None,
        "how many rows an operator processes in one step",
        UNLIMITED,
        number=int,
        of_engine=True,
    )
    aggregation: str = setting(
        AUTO,
        "how sliding windows are computed. `wid`: each row updates all its windows. "
        "`paned`: each row updates one pane, and windows are merged from panes. `adapt`, or with "
        "panes `adapt_paned`: each group is stored as partial aggregates or as rows, whichever "
        "takes less memory. `two_level`: a table of fixed size reduces the rows first. `auto` "
        "takes `wid` or `paned`, whichever is estimated to be faster",
        AUTO,
        "wid",
        "paned",
        "adapt",
        "adapt_paned",
        "two_level",
    )
    table_size: int = setting(
        4096,
        "number of slots in the table of `two_level`; a group whose slot is taken evicts the "
        "other group",
        number=int,
        needs=_TWO_LEVEL,
    )
    flush: str = setting(
        "slow",
        "what else is evicted from that table. `lazy`: aggregates that are overdue. `slow`: also "
        "one aggregate of a closed window for every `flush_rows` rows",
        "slow",
        "lazy",
        needs=_TWO_LEVEL,
    )
    flush_windows: int = setting(
        2,
        "after how many windows an aggregate is overdue; results are at most that much later",
        number=int,
        needs=_TWO_LEVEL,
    )
    flush_rows: int = setting(
        160,
        "with `flush = slow`: one aggregate is evicted for every so many rows",
        number=int,
        needs=_TWO_LEVEL,
    )
    join: str = setting(
        AUTO,
        "how window joins are computed. `oa`: results leave at once, in no order. `sync_filter`, "
        "`filter_order`, `adaptive`, `tsm`: in the order of the latest timestamp; inputs must be "
        "in order. `opob`, `opib`: in the order of the left timestamp. `mjoin`: as `oa`, but "
        "three or more inputs are joined at once and not two by two. `auto` is `oa`, or with "
        "`mode = iop` `filter_order` where inputs are in order",
        AUTO,
        "oa",
        "sync_filter",
        "filter_order",
        "adaptive",
        "tsm",
        "opob",
        "opib",
        "mjoin",
    )
    join_order: str = setting(
        AUTO,
        "in which order the inputs of an inner join meet, and how many at once: `'((a, b), c, d)'` "
        "joins `a` and `b`, and their results, `c` and `d` at once. Names are those of FROM; one "
        "that is not a plain word stands in backquotes. "
        "`written`: two by two, in the order of FROM. `auto` is what is estimated to take least, "
        "by rates and selectivities that were measured, with left joins last where that takes "
        "less; `written` where nothing is known; or all inputs at once with `join = mjoin` and "
        "where results are to come in order",
        AUTO,
        WRITTEN,
        text="a tree of inputs such as '((a, b), c)'",
    )
    join_alpha: float = setting(
        0.05,
        "the share of time spent joining at which `join = adaptive` switches from Sync-Filter to "
        "Filter-Order. It is measured by the clock (time to join a row, times rows per second of "
        "the faster stream; c w l1 l2 in the analysis), so it means the same for integer time "
        "columns. Below it at most join_alpha / (1 + join_alpha) of the response time is lost; "
        "with 0 it switches at once",
        number=float,
        needs=("join", "adaptive"),
    )
    cpu_limit: float | str = setting(
        AUTO,
        "how many cores the joins of a query may keep busy, by estimate. A join of three inputs "
        "and more is computed in the shape that takes least processor time within both limits, or "
        "least memory where that is scarcer: if all inputs at once take more of `memory_limit`, "
        "and at least a quarter, than joins of two take of `cpu_limit`. If no shape is within "
        "both, the one is taken that exceeds them least, and EXPLAIN says so. `auto` is all cores "
        "of the machine, on a cluster 2 cores",
        AUTO,
        text="a number of cores such as 1.5",
        reads=cores,
    )
    memory_limit: str = setting(
        AUTO,
        "how much memory the stored rows of a query's joins may take, by estimate; see "
        "`cpu_limit`. `auto` is half the memory of the machine, on a cluster 4 GB",
        AUTO,
        text="a size such as '4 GB'",
        reads=size,
    )
    adapt: str = setting(
        "advise",
        "whether joins of three and more inputs can give way to others while they run. With "
        "`advise` and `on` they keep rows for as long as any of the inputs may need them, so that "
        "every other shape finds what it needs. With `off` a join of two forgets rows when its "
        "own partner needs them no more, which takes less memory while an input lags behind. `on`: "
        "they change by themselves when another shape pays by what is measured. `advise`: EXPLAIN "
        "LIVE and the log say which, and why",
        "off",
        "advise",
        "on",
    )
    migration: str = setting(
        AUTO,
        "how joins give way to others when a running query is altered. `ms` (moving state): the "
        "new ones get the stored rows and compute the rest, and nothing comes out meanwhile. `pt` "
        "(parallel track): the new ones begin empty beside the old ones, which answer until none "
        "of their rows is needed, for about a window. `pt_published`: until none of their rows "
        "is stored, as it was published, which takes about two windows. `auto` is `ms`, or `pt` "
        "where rows were forgotten that `ms` needs. Joins that keep an order always move their "
        "state. The same decides how `group_by` changes: with `ms` and `auto` aggregates go below "
        "joins at once, where the stored rows can be grouped; otherwise with a window that has no "
        "old rows; with `pt_published` windows are put together of what both say",
        AUTO,
        "ms",
        "pt",
        "pt_published",
    )
    group_by: str = setting(
        "above",
        "where rows of joins are aggregated. With `below`, rows of one input are aggregated before "
        "they are joined, and the results once more, where a query counts, sums or takes extremes "
        "of one input's columns over a join of rows in the same window (RANGE TUMBLING): the join "
        "stores a row for each key and window. It finds them when the window has ended",
        "above",
        "below",
    )
    mode: str = setting(
        "oop",
        "`oop`: rows are processed in any order. `iop`: order is kept everywhere: streams that "
        "may be out of order are sorted after their source, joins give their results in order "
        "(left, right, semi and anti joins by a sort after them, full joins not), and unions "
        "merge. The results are the same; `EXPLAIN` and the state show what order "
        "costs",
        "oop",
        "iop",
    )
    late: str = setting(
        "keep",
        "what happens to late rows, which are always counted. `keep`: they are rejected, and can "
        "be looked at. `drop`: they are dropped. `fail`: they are an error. `generous`: sliding "
        "windows that are still open use them. `consistent`: the same, but only if none of the "
        "row's windows is closed",
        "keep",
        "drop",
        "fail",
        "consistent",
        "generous",
        of_engine=True,
    )
    max_jump: str | None = setting(
        "3652 days",
        "how far a row may lie ahead: one that is further ahead of the newest row and of the clock "
        "(on Spark: of the clock of its micro-batch) is a future row, which is rejected and "
        "counted: it would make all others late. For streams whose time is a TIMESTAMP and that do "
        "not declare MAX AHEAD. The default is 10 years",
        UNLIMITED,
        text="a duration such as 90 DAYS",
        reads=duration,
        of_engine=True,
    )
    ets_by: str = setting(
        "rows",
        "how enabling timestamps travel: as punctuation through all operators (`rows`), or "
        "directly to the operator that waits (`arcs`)",
        "rows",
        "arcs",
        of_engine=True,
    )

    @property
    def merges(self) -> bool:
        """Whether unions keep order."""
        return self.union == "merge" or (self.union == AUTO and self.mode == "iop")

    @property
    def adapts(self) -> bool:
        """Whether joins keep what they need to give way to others."""
        return self.adapt != "off"

    @property
    def jump(self) -> int | None:
        """How far ahead a row may lie, in ticks; None: as far as it may be."""
        return None if self.max_jump is None else ticks_of(self.max_jump)

    @property
    def uses_late_rows(self) -> bool:
        """Whether late rows go on to windows that are not closed yet."""
        return self.late in ("consistent", "generous")
