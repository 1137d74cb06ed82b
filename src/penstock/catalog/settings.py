"""Settings, and the parameters of queries: what `SET name = value` changes.

    setting         values                               default
    union           meld | merge                         meld      whether unions wait to keep order
    aggregation     auto | wid | paned | adapt | adapt_paned | buffering |
                    buffering_incremental | two_level    auto      how sliding windows are computed
    table_size      n                                    4096      slots of the two levels' table
    flush           slow | lazy | in_order               slow      how it lets go what is over:
    flush_windows   m                                    2         at the latest so many windows on,
    flush_rows      i                                    160       slowly one for so many rows
    join            auto | oa | sync_filter | filter_order | adaptive | opob | opib | mjoin
                                                         auto      how window joins are computed
    strategy        dfs | bfs | round_robin | batched    dfs       who runs next
    rows_per_step   unlimited | n                        unlimited how many rows a step may take
    mode            oop | iop                            oop       whether order is kept everywhere
    late            keep | drop | fail | consistent | generous  keep   what happens to late rows
    ets             on demand | periodic length | none   on demand when silent streams give the time
    ets_by          rows | arcs                          rows      how that travels
    lowering        auto | native | kernel               auto      who computes a query on Spark

Any other name holds a *parameter*: a duration or an integer that queries use as a length, as in
`[RANGE n]`. A name that looks like a misspelt setting is refused, so that a typo never becomes a
parameter that nobody reads. Whatever can be set gives the same answers, in another order at most;
algorithms that do not (`optimizer/lower_join.py` marks them) are for experiments, which build them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TypeAlias

from penstock.errors import BadSetting
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets
from penstock.model.timestamps import format_duration
from penstock.optimizer.options import Options


@dataclass(frozen=True)
class Duration:
    """A length of time, in ticks."""

    ticks: int

    def __str__(self) -> str:
        return format_duration(self.ticks)


Value: TypeAlias = str | int | Duration | Ets
"""What SET can assign: a word, a number, a length of time, or a way to make timestamps."""

#: Setting -> the words it can be.
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "union": ("meld", "merge"),
        "aggregation": (
            "auto",
            "wid",
            "paned",
            "adapt",
            "adapt_paned",
            "buffering",
            "buffering_incremental",
            "two_level",
        ),
        "table_size": (),
        "flush": ("slow", "lazy", "in_order"),
        "flush_windows": (),
        "flush_rows": (),
        "join": (
            "auto",
            "oa",
            "sync_filter",
            "filter_order",
            "adaptive",
            "opob",
            "opib",
            "mjoin",
        ),
        "strategy": ("dfs", "bfs", "round_robin", "batched"),
        "rows_per_step": ("unlimited",),
        "mode": ("oop", "iop"),
        "late": ("keep", "drop", "fail", "consistent", "generous"),
        "ets": ("on_demand", "none"),
        "ets_by": ("rows", "arcs"),
        "lowering": ("auto", "native", "kernel"),
    }
)


@dataclass(frozen=True)
class Settings:
    """All settings and parameters at one moment; `with_value` gives the next moment's."""

    union: str = "meld"
    join: str = "auto"
    join_alpha: float = 0.05
    aggregation: str = "auto"
    table_size: int = 4096
    flush: str = "slow"
    flush_windows: int = 2
    flush_rows: int = 160
    strategy: str = "dfs"
    rows_per_step: int | None = None  # None: unlimited
    mode: str = "oop"
    late: str = "keep"
    ets: Ets = ON_DEMAND
    ets_by: str = "rows"
    lowering: str = "auto"
    parameters: Mapping[str, int | Duration] = field(default_factory=dict)

    @property
    def uses_late_rows(self) -> bool:
        """Whether late rows go on to windows that are not closed yet."""
        return self.late in ("consistent", "generous")

    @property
    def options(self) -> Options:
        """Those that decide between operators."""
        return Options(**{f.name: getattr(self, f.name) for f in fields(Options)})

    @property
    def algorithm(self) -> str:
        """How windows are aggregated, with the parameters of the algorithm behind its name.

        >>> Settings(aggregation="two_level").algorithm
        'two_level 4096 slow 2 160'
        """
        if self.aggregation != "two_level":
            return self.aggregation
        parameters = (self.table_size, self.flush, self.flush_windows, self.flush_rows)
        return " ".join(["two_level", *map(str, parameters)])

    def with_value(self, name: str, value: Value) -> Settings:
        """These settings with one changed; BadSetting if the value does not fit.

        >>> Settings().with_value("union", "merge").union
        'merge'
        >>> Settings().with_value("n", Duration(3_000_000)).parameters["n"].ticks
        3000000
        """
        key = name.lower()
        if key == "rows_per_step":
            return replace(self, rows_per_step=_count(key, value))
        if key == "table_size":
            return replace(self, table_size=_number(key, value))
        if key == "flush_windows":
            return replace(self, flush_windows=_number(key, value))
        if key == "flush_rows":
            return replace(self, flush_rows=_number(key, value))
        if key == "flush":
            return replace(self, flush=_choice(key, value))
        if key == "union":
            return replace(self, union=_choice(key, value))
        if key == "aggregation":
            return replace(self, aggregation=_choice(key, value))
        if key == "join":
            return replace(self, join=_choice(key, value))
        if key == "strategy":
            return replace(self, strategy=_choice(key, value))
        if key == "mode":
            mode = _choice(key, value)
            return replace(self, mode=mode, union="merge" if mode == "iop" else "meld")
        if key == "late":
            return replace(self, late=_choice(key, value))
        if key == "ets_by":
            return replace(self, ets_by=_choice(key, value))
        if key == "ets":
            return replace(self, ets=_ets(value))
        if key == "lowering":
            return replace(self, lowering=_choice(key, value))
        near = difflib.get_close_matches(key, CHOICES, n=1, cutoff=0.7)
        if near:
            raise BadSetting(
                f"no setting `{name}`",
                hint=f"did you mean `{near[0]}`? parameters need a name that is less like it",
            )
        if isinstance(value, str | Ets):
            raise BadSetting(
                f"no setting `{name}`, and a parameter cannot be `{value}`",
                hint=f"settings are: {', '.join(CHOICES)}; "
                f"a parameter is a duration or an integer: SET {name} = 3 SECONDS",
            )
        return replace(self, parameters={**self.parameters, key: value})

    def parameter(self, name: str) -> int | Duration | None:
        """The value of a parameter, or None."""
        return self.parameters.get(name.lower())


def _choice(key: str, value: Value) -> str:
    """One of the words that the setting can be."""
    if isinstance(value, str) and value.lower() in CHOICES[key]:
        return value.lower()
    raise BadSetting(f"`{key}` cannot be `{value}`", hint=f"it can be: {', '.join(CHOICES[key])}")


def _ets(value: Value) -> Ets:
    """When enabling timestamps are made."""
    if isinstance(value, Ets):
        return value
    named = {str(ets): ets for ets in (ON_DEMAND, NO_ETS)}
    word = value.lower().replace("_", " ") if isinstance(value, str) else None
    if word in named:
        return named[word]
    raise BadSetting(
        f"`ets` cannot be `{value}`", hint="it can be: on demand, periodic 1 SECOND, none"
    )


def _number(key: str, value: Value) -> int:
    """A number of at least 1."""
    if isinstance(value, int) and value >= 1:
        return value
    raise BadSetting(f"`{key}` cannot be `{value}`", hint="it can be: a number of at least 1")


def _count(key: str, value: Value) -> int | None:
    """A number of at least 1; None: as many as there are."""
    if isinstance(value, int) and value >= 1:
        return value
    if isinstance(value, str) and value.lower() in CHOICES[key]:
        return None
    raise BadSetting(
        f"`{key}` cannot be `{value}`", hint="it can be: unlimited, or a number of at least 1"
    )
