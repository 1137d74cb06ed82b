"""ALTER QUERY … SET (…): which options of a query may be changed, and to what.

A value is checked as SET checks it. All changes of a statement take effect together, so their order
does not matter. Settings that all queries have in common are nobody's own, and stay SET's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.catalog.settings import (
    OWN,
    SETTINGS,
    Setting,
    Settings,
    nearest,
    refuse_removed,
    spelt,
)
from penstock.errors import BadSetting, positioned
from penstock.model.assignments import OptionChange, Value
from penstock.optimizer.options import Options


def altered_options(query: str, options: Options, changes: Iterable[OptionChange]) -> Options:
    """The options of a query after these changes; BadSetting if they cannot be that."""
    values = {}
    for change in changes:
        with positioned(change.position):
            setting = _own(query, change.name, change.value)
            values[setting.name] = setting.read(change.value)
    found = replace(options, **values)
    together = Settings.of(found)
    together.check_order(say="write")
    together.check_used(say="write")
    return found


def _own(query: str, name: str, value: Value) -> Setting:
    refuse_removed(name.lower())
    found = SETTINGS.get(name.lower())
    if found is None:
        near = nearest(name.lower())
        options = f"options of a query are: {', '.join(each.name for each in OWN)}"
        raise BadSetting(f"no option `{name}`", hint=f"did you mean `{near}`?" if near else options)
    if found.of_engine:
        raise BadSetting(
            f"`{found.name}` is the same for all queries: `{query}` cannot have its own",
            hint=f"SET {found.name} = {spelt(value)} changes it for all of them",
        )
    return found
