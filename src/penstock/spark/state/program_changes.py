"""ProgramChanges: what is different between the program of a checkpoint and the one declared now.

Both are as the checkpoint describes them (`checkpoint.describe`). Queries may come, go and ask for
something else, if whoever starts them says so: state lies under fingerprints, so what both programs
have in common goes on. Streams may not: Spark knows its sources by their places, and rows of a
stream that is declared otherwise would not be the rows that the state is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.catalog.removed_settings import REMOVED
from penstock.optimizer.options import UNLIMITED, Options
from penstock.optimizer.physical import from_json


@dataclass(frozen=True)
class ProgramChanges:
    """Names of queries; `refused` says what has changed and may not, empty: nothing has."""

    kept: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    refused: str = ""
    asks: tuple[str, ...] = ()  # those of the changed that ask for something else, or are new
    #: The same and more, for whoever accepts no changes: empty if queries were only added.
    differences: str = ""
    #: The changed and dropped ones with operators that run no more: their state is discarded.
    lose_state: tuple[str, ...] = ()

    def as_text(self) -> str:
        """A line for each kind of change that there is.

        >>> print(ProgramChanges(kept=("p", "q"), dropped=("r",)).as_text())
          kept     p, q
          dropped  r
        """
        lines = [
            (word, ", ".join(names))
            for word, names in (
                ("kept", self.kept),
                ("added", self.added),
                ("changed", self.changed),
                ("dropped", self.dropped),
                ("state discarded", self.lose_state),
            )
            if names
        ]
        if self.refused:
            lines.append(("refused", self.refused))
        width = max((len(word) for word, _ in lines), default=0)
        return "\n".join(f"  {word:<{width}}  {names}" for word, names in lines)


def program_changes(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> ProgramChanges:
    """From the program of a checkpoint to another."""
    found: dict[str, list[str]] = {"gone": [], "new": [], "changed": []}
    for kind in ("stream", "table", "function", "query"):
        before, now = theirs.get(kind, {}), mine.get(kind, {})
        found["gone"] += [f"{kind} {name}" for name in before if name not in now]
        found["new"] += [f"{kind} {name}" for name in now if name not in before]
        found["changed"] += [
            f"{kind} {name}" for name in now if name in before and before[name] != now[name]
        ]
    operators, settings = _changed_operators(theirs, mine)
    before, now = theirs["query"], mine["query"]
    changed = [name for name in now if before.get(name, now[name]) != now[name]]
    others = found | {"changed": found["changed"] + [f"operators of query {n}" for n in operators]}
    return ProgramChanges(
        tuple(name for name in now if name in before and name not in (*changed, *operators)),
        tuple(name for name in now if name not in before),
        (*changed, *operators),
        tuple(name for name in before if name not in now),
        _refused(found) or _other_order(theirs, mine),
        tuple(name for name in now if before.get(name) != now[name]),
        _told(others, settings) or _other_order(theirs, mine),
        _losing_state(theirs, mine),
    )


def _losing_state(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> tuple[str, ...]:
    """The queries of a checkpoint with operators that have state and run in no query any more."""
    left = mine["plans"]["operators"].keys()
    return tuple(
        name
        for name, plan in from_json(theirs["plans"]).items()
        if any(each.spec.has_state and each.fingerprint not in left for each in plan.walk())
    )


def _refused(found: Mapping[str, list[str]]) -> str:
    """What may not change, whoever says so."""
    kept = {
        what: [name for name in names if name.startswith("stream ")]
        for what, names in found.items()
    }
    return "; ".join(f"{', '.join(names)} {what}" for what, names in kept.items() if names)


def _told(found: Mapping[str, list[str]], settings: list[str]) -> str:
    """All that has changed; empty: queries have come, and what they need."""
    beside = ("query ", "table ", "function ")
    adds_only_queries = all(name.startswith(beside) for name in found["new"])
    if not found["gone"] and not found["changed"] and adds_only_queries:
        return ""
    differences = [f"{', '.join(names)} {what}" for what, names in found.items() if names]
    return "; ".join(differences + settings)


def _other_order(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    places = [name for name in mine["stream"] if name in theirs["stream"]]
    there = [name for name in theirs["stream"] if name in mine["stream"]]
    return "" if places == there else "the streams are in another order"


def _changed_operators(
    theirs: Mapping[str, Any], mine: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Queries that ask for the same and are to be computed otherwise, and what was set for that."""
    before, now = theirs["plans"]["queries"], mine["plans"]["queries"]
    asked = [name for name in now if theirs["query"].get(name) == mine["query"][name]]
    changed = [name for name in asked if before[name] != now[name]]
    settings = []
    for query in changed:
        was, is_ = settings_of(theirs, query), settings_of(mine, query)
        for name in is_:
            if was[name] != is_[name]:
                settings.append(f"setting {name} was {was[name]} and is {is_[name]}")
                if reason := REMOVED.get(f"{name} = {was[name]}"):
                    settings.append(f"`{name}` can no longer be `{was[name]}`: {reason}")
    return changed, list(dict.fromkeys(settings))


def settings_of(program: Mapping[str, Any], query: str) -> dict[str, Any]:
    """The settings of one of a program's queries, as they are written in SQL."""
    options = own_options(program).get(query, Options(**program["setting"]))
    return {name: UNLIMITED if value is None else value for name, value in asdict(options).items()}


def own_options(program: Mapping[str, Any]) -> dict[str, Options]:
    """The options of queries that have others than the rest of a program."""
    return {name: Options(**each) for name, each in program.get("own", {}).items()}
