"""Settings and parameters: what `SET name = value` and `DECLARE name = value` change.

Every setting is declared once, as a field of `Settings`: its values, its default, what it decides
and where it applies. `SETTINGS` is that table; the parser, the errors, the table in docs/sql.md and
the options of the optimizer follow from it. Where a setting cannot be honoured it is refused, with
the reason. Whatever can be set gives the same answers, in another order at most; algorithms that do
not (`optimizer/lower_join.py` marks them) are for experiments, which build them.

A *parameter* is a length with a name, as in `[RANGE width]`: a duration, a number of rows, or an
integer. It is declared (`DECLARE width = 3 SECONDS`), so that a misspelt setting never becomes a
parameter that nobody reads.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeGuard

from penstock.errors import BadSetting, DuplicateName
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets
from penstock.model.timestamps import END, format_duration
from penstock.optimizer.options import Options


@dataclass(frozen=True)
class Duration:
    """A length of time, in ticks."""

    ticks: int

    def __str__(self) -> str:
        return format_duration(self.ticks)


@dataclass(frozen=True)
class Rows:
    """A number of rows."""

    count: int

    def __str__(self) -> str:
        return f"{self.count} row{'s' * (self.count != 1)}"


ParameterValue: TypeAlias = int | Duration | Rows
"""What a parameter stands for: a length in the unit of an integer column, of time, or in rows."""

Value: TypeAlias = str | float | Ets | ParameterValue
"""What SET can assign: a word, a number, a length, or a way to make timestamps."""


@dataclass(frozen=True)
class Setting:
    """What can be set, and what it decides; `number` says which numbers it can be besides words."""

    name: str
    default: Any
    doc: str
    words: tuple[str, ...] = ()
    number: type[int] | type[float] | None = None
    not_native: str | None = None  # why a query that runs as Spark SQL alone cannot honour it
    only_spark: str | None = None  # the value that needs Spark

    @property
    def values(self) -> str:
        """What it can be, in words.

        >>> print(SETTINGS["rows_per_step"].values)
        unlimited, or a whole number from 1 to 1,000,000,000
        """
        numbers = {
            int: f"a whole number from 1 to {MOST:,}",
            float: "a number from 0 to less than 1",
            None: None,
        }
        return ", or ".join(filter(None, (", ".join(self.words), numbers[self.number])))

    @property
    def where(self) -> str:
        """Where it applies."""
        if self.only_spark is not None:
            return f"Spark; `{self.only_spark}` is refused elsewhere"
        return "every host" if self.not_native is None else "the kernel, on every host"

    def read(self, value: Value) -> Any:
        """The value as `Settings` keeps it; BadSetting if it cannot be had."""
        if self.name == "ets":
            found = _ETS.get(value.lower().replace("_", " ")) if isinstance(value, str) else value
            if isinstance(found, Ets):
                return found
        elif isinstance(value, str) and value.lower() in self.words:
            return None if value.lower() == UNLIMITED else value.lower()
        elif self.number is int and isinstance(value, int) and 1 <= value <= MOST:
            return value
        elif self.number is float and isinstance(value, int | float) and 0 <= value < 1:
            return float(value)
        raise BadSetting(f"`{self.name}` cannot be `{value}`", hint=f"it can be: {self.values}")


UNLIMITED = "unlimited"
MOST = 1_000_000_000
_ETS = {str(ets): ets for ets in (ON_DEMAND, NO_ETS)}
_SPARK_PLANS = "Spark plans and schedules it"


def _setting(default: Any, doc: str, *words: str, **others: Any) -> Any:
    """A field of `Settings` that is a setting."""
    return field(default=default, metadata={"doc": doc, "words": words, **others})


@dataclass(frozen=True)
class Settings:
    """All settings and parameters at one moment; `with_value` gives the next moment's."""

    union: str = _setting(
        "meld",
        "whether unions pass rows on at once (`meld`), or wait to keep them in order (`merge`)",
        "meld",
        "merge",
        not_native="Spark keeps no order",
    )
    strategy: str = _setting(
        "dfs",
        "which operator runs next",
        "dfs",
        "bfs",
        "round_robin",
        "batched",
        not_native=_SPARK_PLANS,
    )
    rows_per_step: int | None = _setting(
        None,
        "how many rows an operator processes in one step",
        UNLIMITED,
        number=int,
        not_native=_SPARK_PLANS,
    )
    aggregation: str = _setting(
        "auto",
        "how the kernel computes sliding windows. `wid`: each row updates all its windows. "
        "`paned`: each row updates one pane, and windows are merged from panes. `adapt`, or with "
        "panes `adapt_paned`: each group is stored as partial aggregates or as rows, whichever "
        "takes less memory. `two_level`: a table of fixed size reduces the rows first. `auto` "
        "takes `wid` or `paned`, whichever is estimated to be faster. `buffering` stores all rows "
        "and computes a window from them when it closes; `buffering_incremental` computes it from "
        "the previous window where the functions allow it. These two are baselines to compare "
        "with",
        "auto",
        "wid",
        "paned",
        "adapt",
        "adapt_paned",
        "buffering",
        "buffering_incremental",
        "two_level",
        not_native="Spark aggregates in its own way",
    )
    table_size: int = _setting(
        4096,
        "number of slots in the table of `two_level`; a group whose slot is taken evicts the "
        "other group",
        number=int,
    )
    flush: str = _setting(
        "slow",
        "what else is evicted from that table. `lazy`: aggregates that are overdue. `slow`: also "
        "one aggregate of a closed window for every `flush_rows` rows. `in_order`: all aggregates "
        "of a closed window before any of a newer window",
        "slow",
        "lazy",
        "in_order",
    )
    flush_windows: int = _setting(
        2,
        "after how many windows an aggregate is overdue; results are at most that much later",
        number=int,
    )
    flush_rows: int = _setting(
        160,
        "with `flush = slow`: one aggregate is evicted for every so many rows",
        number=int,
    )
    join: str = _setting(
        "auto",
        "how window joins are computed. `oa`: results leave at once, in no order. `sync_filter`, "
        "`filter_order`, `adaptive`, `tsm`: in the order of the latest timestamp; inputs must be "
        "in order. `opob`, `opib`: in the order of the left timestamp. `mjoin`: as `oa`, but "
        "three or more inputs are joined at once and not two by two. `auto` is `oa`, or with "
        "`mode = iop` `filter_order` where inputs are in order",
        "auto",
        "oa",
        "sync_filter",
        "filter_order",
        "adaptive",
        "tsm",
        "opob",
        "opib",
        "mjoin",
    )
    join_alpha: float = _setting(
        0.05,
        "the share of time spent joining at which `join = adaptive` switches from Sync-Filter to "
        "Filter-Order. It is measured by the clock (time to join a row, times rows per second of "
        "the faster stream; c w l1 l2 in the analysis), so it means the same for integer time "
        "columns. Below it at most join_alpha / (1 + join_alpha) of the response time is lost; "
        "with 0 it switches at once",
        number=float,
    )
    mode: str = _setting(
        "oop",
        "`oop`: rows are processed in any order. `iop`: order is kept everywhere: streams that "
        "may be out of order are sorted after their source, joins give their results in order, "
        "and unions merge. The results are the same; `EXPLAIN` and the state show what order "
        "costs",
        "oop",
        "iop",
        not_native="Spark keeps no order",
    )
    late: str = _setting(
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
        not_native="Spark drops late rows uncounted",
    )
    ets: Ets = _setting(  # noqa: RUF009
        ON_DEMAND,
        "when silent streams get a bound from the clock (an enabling timestamp): when an operator "
        "waits for it, periodically, or never",
        "on_demand",
        "periodic 1 SECOND",
        "none",
    )
    ets_by: str = _setting(
        "rows",
        "how these bounds travel: as punctuation through all operators (`rows`), or directly to "
        "the operator that waits (`arcs`)",
        "rows",
        "arcs",
        not_native="Spark's watermark travels in its own way",
    )
    lowering: str = _setting(
        "auto",
        "whether a query runs as Spark SQL alone or in the kernel; `auto` takes Spark SQL where "
        "it is as fast, gives the same results and honours all settings. With `native`, late rows "
        "that Spark reads itself (from anything but parquet files) are still accepted while their "
        "window is open",
        "auto",
        "native",
        "kernel",
        only_spark="native",
    )
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)

    @property
    def options(self) -> Options:
        """Those that decide between operators."""
        return Options(**{each.name: getattr(self, each.name) for each in fields(Options)})

    def with_value(self, name: str, value: Value) -> Settings:
        """These settings with one changed; BadSetting if there is none, or it cannot be that.

        >>> Settings().with_value("union", "merge").union
        'merge'
        """
        key = name.lower()
        if key not in SETTINGS:
            raise self._unknown(name, value)
        found = SETTINGS[key].read(value)
        others = {"union": "merge" if found == "iop" else "meld"} if key == "mode" else {}
        return replace(self, **{key: found, **others})

    def with_parameter(self, name: str, value: Value, *, replaces: bool = False) -> Settings:
        """These settings with one more parameter; one that is there must be replaced on purpose.

        >>> Settings().with_parameter("n", Duration(3_000_000)).parameter("N").ticks
        3000000
        """
        key = name.lower()
        if key in SETTINGS:
            raise BadSetting(
                f"`{key}` is a setting and cannot be a parameter as well",
                hint=f"to change it: SET {key} = …; it can be: {SETTINGS[key].values}",
            )
        if not is_parameter(value):
            raise BadSetting(
                f"a parameter cannot be `{value}`",
                hint=f"it is a length: DECLARE {name} = 3 SECONDS, or 100 ROWS, or an integer",
            )
        if key in self.parameters and not replaces:
            raise DuplicateName(
                f"parameter `{name}` exists already",
                hint=f"choose another name, or write DECLARE OR REPLACE {name} = …",
            )
        return replace(self, parameters={**self.parameters, key: value})

    def parameter(self, name: str) -> ParameterValue | None:
        """The value of a parameter, or None."""
        return self.parameters.get(name.lower())

    def changed(self) -> list[Setting]:
        """Those that are not what they are by themselves."""
        return [each for each in SETTINGS.values() if getattr(self, each.name) != each.default]

    def _unknown(self, name: str, value: Value) -> BadSetting:
        if name.lower() in self.parameters:
            hint = f"`{name}` is a parameter: DECLARE OR REPLACE {name} = {_spelt(value)}"
        elif near := _nearest(name.lower()):
            hint = f"did you mean `{near}`?"
        else:
            hint = f"settings are: {', '.join(SETTINGS)}"
            if is_parameter(value):
                hint = f"to declare a parameter: DECLARE {name} = {_spelt(value)}; {hint}"
        return BadSetting(f"no setting `{name}`", hint=hint)


#: All settings, by name.
SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        each.name: Setting(each.name, each.default, **each.metadata)
        for each in fields(Settings)
        if each.metadata
    }
)


def is_parameter(value: Value) -> TypeGuard[ParameterValue]:
    """Whether a parameter can be that."""
    return isinstance(value, Duration | Rows) or (isinstance(value, int) and abs(value) < END)


def _nearest(name: str) -> str | None:
    """The setting that is meant, if that is plain: one that is spelt alike, or has it for a word.

    >>> _nearest("joinalpha"), _nearest("alpha"), _nearest("size"), _nearest("flush_")
    ('join_alpha', 'join_alpha', 'table_size', 'flush')
    """
    alike = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.7)
    having = [each for each in SETTINGS if name in each.split("_")]
    return alike[0] if alike else having[0] if len(having) == 1 else None


def _spelt(value: Value) -> str:
    """A value as it is written in SQL.

    >>> _spelt(Duration(3_000_000))
    '3 SECONDS'
    """
    return str(value).upper() if isinstance(value, Duration | Rows) else str(value)
