"""Settings and parameters: what `SET name = value` and `DECLARE name = value` change.

Every setting is declared once, as a field of `Settings`: its values, its default, what it decides
and where it applies. Most decide between operators and are fields of `Options` already. `SETTINGS`
is that table; the errors and the table in docs/sql.md follow from it. Where a setting
cannot be honoured it is refused, with the reason; one that does nothing without another is refused
when a query is declared, so that they may be set in any order. A query keeps the settings that it
was declared with, except those that it has in common with all others (`of_engine`): of these the
latest counts. Whatever can be set gives the same answers, in another order at most; the exceptions
are the session's time zone, which says what calendar functions mean, and limits (`match_rows`).
Algorithms that exist to be compared with cannot be set (`removed_settings.py`): experiments build
them (`lab/baselines.py`).

A *parameter* is a length with a name, as in `[RANGE width]`: a duration, a number of rows, or an
integer. It is declared (`DECLARE width = 3 SECONDS`), so that a misspelt setting never becomes a
parameter that nobody reads.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from penstock.catalog.removed_settings import REMOVED, REMOVED_SETTINGS
from penstock.errors import BadSetting, DuplicateName
from penstock.model.assignments import Duration, ParameterValue, Rows, Value, is_parameter
from penstock.model.ets import NO_ETS, ON_DEMAND, Ets
from penstock.model.zones import UTC, zone_named
from penstock.optimizer.joins.named_tree import named_tree, tree_text
from penstock.optimizer.options import UNLIMITED, Options, setting


@dataclass(frozen=True)
class Setting:
    """What can be set, and what it decides; `number` says which numbers it can be besides words."""

    name: str
    default: Any
    doc: str
    words: tuple[str, ...] = ()
    number: type[int] | type[float] | None = None
    needs: tuple[str, str] | None = None  # the setting, and its value, without which it is idle
    of_engine: bool = False  # whether all queries have it in common
    text: str | None = None  # what else it can be, in words
    reads: Callable[[object], Any] | None = None  # what that is; None: it is none

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
        words = ", ".join(self.words)
        return ", or ".join(filter(None, (words, numbers[self.number], self.text)))

    @property
    def holds_for(self) -> str:
        """The queries that a SET is for."""
        return "all queries" if self.of_engine else "queries declared after it"

    @staticmethod
    def shown(value: Any) -> str:
        """A value that `Settings` keeps, as it is set.

        >>> Setting.shown(None)
        'unlimited'
        """
        return UNLIMITED if value is None else str(value)

    def read(self, value: Value) -> Any:
        """The value as `Settings` keeps it; BadSetting if there is no such."""
        if self.name == "ets":
            found = _ETS.get(value.lower().replace("_", " ")) if isinstance(value, str) else value
            if isinstance(found, Ets):
                return found
        elif self.name == "time_zone" and isinstance(value, str):
            return zone_named(value.strip("'\""))
        elif isinstance(value, str) and value.lower() in self.words:
            return None if value.lower() == UNLIMITED else value.lower()
        elif self.name == "join_order" and isinstance(value, str):
            return tree_text(named_tree(value.strip("'\"")))
        elif self.number is int and isinstance(value, int) and 1 <= value <= MOST:
            return value
        elif self.number is float and isinstance(value, int | float) and 0 <= value < 1:
            return float(value)
        elif self.reads is not None and (read := self.reads(value)) is not None:
            return read
        if isinstance(value, str) and (reason := REMOVED.get(f"{self.name} = {value.lower()}")):
            raise BadSetting(
                f"`{self.name}` can no longer be `{value}`: {reason}",
                hint=f"it can be: {self.values}",
            )
        wrong = f"cannot be `{value}`" if value != "" else "has no value"
        raise BadSetting(f"`{self.name}` {wrong}", hint=f"it can be: {self.values}")


MOST = 1_000_000_000
_ETS = {str(ets): ets for ets in (ON_DEMAND, NO_ETS)}


@dataclass(frozen=True)
class Settings(Options):
    """All settings and parameters at one moment; `with_value` gives the next moment's."""

    ets: Ets = setting(  # noqa: RUF009
        ON_DEMAND,
        "when silent streams get a bound from the clock (an enabling timestamp): when an operator "
        "waits for it, periodically, or never",
        "on_demand",
        "periodic 1 SECOND",
        "none",
        of_engine=True,
    )
    time_zone: str = setting(
        UTC,
        "where clocks show what calendar functions, dates and text say of a TIMESTAMP; also "
        "written SET TIME ZONE 'Europe/Zurich'",
        UTC,
        "Europe/Zurich",
    )
    match_rows: int = setting(
        10_000,
        "how many rows an attempt at a match of MATCH_RECOGNIZE takes at most, where conditions of "
        "DEFINE depend on the match so far: every row is then tried with all that came before it. "
        "An attempt that could go on is ended there, and counted; the match is what was found up "
        "to there, if anything",
        number=int,
    )
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)

    @classmethod
    def of(cls, options: Options) -> Settings:
        """These options, and everything else as it is by itself."""
        return cls(**{each.name: getattr(options, each.name) for each in fields(Options)})

    @property
    def options(self) -> Options:
        """Those that decide between operators, and nothing else."""
        return Options(**{each.name: getattr(self, each.name) for each in fields(Options)})

    def options_for(self, declared: Options) -> Options:
        """What a query runs by: the options that it was declared with, and what all have in common.

        >>> found = Settings(late="drop", join="oa").options_for(Options(join="opib"))
        >>> found.late, found.join
        ('drop', 'opib')
        """
        common = [each.name for each in fields(Options) if SETTINGS[each.name].of_engine]
        return replace(declared, **{name: getattr(self, name) for name in common})

    def with_value(self, name: str, value: Value) -> Settings:
        """These settings with one changed; BadSetting if there is none, or it cannot be that.

        >>> Settings().with_value("union", "merge").union
        'merge'
        """
        key = name.lower()
        refuse_removed(key)
        if key not in SETTINGS:
            raise self._unknown(name, value)
        changed = replace(self, **{key: SETTINGS[key].read(value)})
        changed.check_order()
        return changed

    def with_parameter(self, name: str, value: Value, *, replaces: bool = False) -> Settings:
        """These settings with one more parameter; one that is there must be replaced on purpose.

        >>> Settings().with_parameter("n", Duration(3_000_000)).parameters["n"].ticks
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

    def changed(self) -> list[Setting]:
        """Those that are not what they are by themselves."""
        return [each for each in SETTINGS.values() if getattr(self, each.name) != each.default]

    def check_order(self, say: str = "SET") -> None:
        """Refuse to keep order everywhere but in unions; `say` is what to do about it."""
        if self.mode == "iop" and self.union == "meld":
            raise BadSetting(
                "`mode = iop` keeps order everywhere, and `union = meld` does not",
                hint=f"{say} union = auto, which merges in this mode and melds in the other; or "
                f"{say} mode = oop",
            )

    def check_used(self, say: str = "SET") -> None:
        """Refuse what was set and does nothing, now that a query is declared."""
        for each in self.changed():
            if each.needs is not None and getattr(self, each.needs[0]) != each.needs[1]:
                needed = "{} = {}".format(*each.needs)
                by_itself = f"{each.name} = {each.default}"
                raise BadSetting(
                    f"`{each.name} = {getattr(self, each.name)}` does nothing without `{needed}`",
                    hint=f"{say} {needed}, or {say} {by_itself} as it is by itself",
                )

    def _unknown(self, name: str, value: Value) -> BadSetting:
        if name.lower() in self.parameters:
            hint = f"`{name}` is a parameter: DECLARE OR REPLACE {name} = {spelt(value)}"
        elif near := nearest(name.lower()):
            hint = f"did you mean `{near}`?"
        else:
            hint = f"settings are: {', '.join(SETTINGS)}"
            if is_parameter(value):
                hint = f"to declare a parameter: DECLARE {name} = {spelt(value)}; {hint}"
        return BadSetting(f"no setting `{name}`", hint=hint)


#: All settings, by name.
SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        each.name: Setting(each.name, each.default, **each.metadata)
        for each in fields(Settings)
        if each.metadata
    }
)


#: Those that each query has for itself.
OWN = tuple(SETTINGS[each.name] for each in fields(Options) if not SETTINGS[each.name].of_engine)


def own_changes(options: Options) -> dict[str, str]:
    """What a query has for itself that is not as it is by itself, by name.

    >>> own_changes(Options(join="oa", late="drop"))
    {'join': 'oa'}
    """
    changed = Settings.of(options).changed()
    return {each.name: each.shown(getattr(options, each.name)) for each in changed if each in OWN}


def refuse_removed(name: str) -> None:
    """Raise BadSetting if a setting was removed."""
    if reason := REMOVED_SETTINGS.get(name):
        raise BadSetting(f"the setting `{name}` was removed: {reason}", hint=f"leave `{name}` out")


def nearest(name: str) -> str | None:
    """The setting that is meant, if that is plain: one that is spelt alike, or has it for a word.

    >>> nearest("joinalpha"), nearest("alpha"), nearest("size"), nearest("flush_")
    ('join_alpha', 'join_alpha', 'table_size', 'flush')
    """
    alike = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.7)
    having = [each for each in SETTINGS if name in each.split("_")]
    return alike[0] if alike else having[0] if len(having) == 1 else None


def spelt(value: Value) -> str:
    """A value as it is written in SQL.

    >>> spelt(Duration(3_000_000))
    '3 SECONDS'
    """
    return str(value).upper() if isinstance(value, Duration | Rows) else str(value)
