"""What a partition group reports of a micro-batch, and what all of them report as one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.releases import Releases
from penstock.runtime.counts import Tally
from penstock.runtime.migrations import Migration, in_all_groups
from penstock.runtime.status import OperatorStatus
from penstock.spark.delivery.delivery import BatchReport
from penstock.spark.delivery.operator_figures import operators_of


@dataclass(frozen=True)
class GroupReport:
    """The report of one group; maps are by stream, where nothing else is said.

    `bounds` are the bounds so far, and `own` those without what the ends of runs have closed.
    `newest`: the newest timestamps. `on_time_from`: the times from which rows are on time, whatever
    else they hold. `awaited`: the streams that something is held for. `releases`: by query, what
    lets its next row out. `operators`: rows in and out of operators with this batch, and their
    state. `joins`: what was measured of joins, as JSON. `changed`: plans that were chosen anew, as
    JSON; `handed`: by query that was altered, the fingerprint of the plan that it runs by;
    `changing`: queries whose operators are just taking over. `migrations` began or ended with this
    batch. `rows` were read of each stream, and `tallies` counted.
    """

    bounds: Mapping[str, int] = field(default_factory=dict)
    own: Mapping[str, int] = field(default_factory=dict)
    newest: Mapping[str, int] = field(default_factory=dict)
    on_time_from: Mapping[str, int] = field(default_factory=dict)
    awaited: Sequence[str] = ()
    releases: Mapping[str, Releases] = field(default_factory=dict)
    operators: Sequence[OperatorStatus] = ()
    joins: Mapping[str, Any] = field(default_factory=dict)
    changed: Mapping[str, Any] = field(default_factory=dict)
    handed: Mapping[str, str] = field(default_factory=dict)
    changing: Sequence[str] = ()
    migrations: Sequence[Migration] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    tallies: Mapping[str, Tally] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        plain = {name: value for name, value in vars(self).items() if name not in _CODED}
        coded = {
            "releases": {name: each.as_json() for name, each in self.releases.items()},
            "operators": [[*vars(each).values()] for each in self.operators],
            "migrations": [each.as_json() for each in self.migrations],
            "tallies": {name: each.facts() for name, each in self.tallies.items()},
        }
        return json.dumps({**plain, **coded}).encode()

    @classmethod
    def of(cls, data: bytes) -> GroupReport:
        found = json.loads(data)
        coded = {
            "releases": {n: Releases.from_json(each) for n, each in found["releases"].items()},
            "operators": [
                OperatorStatus(name, tuple(queries), *figures)
                for name, queries, *figures in found["operators"]
            ],
            "migrations": [Migration.from_json(each) for each in found["migrations"]],
            "tallies": {name: Tally(**facts) for name, facts in found["tallies"].items()},
        }
        return cls(**{**found, **coded})


#: Fields that are no JSON as they are.
_CODED = ("releases", "operators", "migrations", "tallies")


def report_of(batch: int, groups: Sequence[GroupReport]) -> BatchReport:
    """The report on a batch, by what each group says of it."""
    # How far whole streams have come, every group says alike.
    whole = groups[0] if groups else GroupReport()
    return BatchReport(
        batch,
        whole.rows,
        whole.bounds,
        whole.newest,
        {name for group in groups for name in group.awaited},
        releases_of(group.releases for group in groups),
        tallies_of([group.tallies for group in groups], whole.rows),
        operators=operators_of(group.operators for group in groups),
        changed=[group.changed for group in groups if group.changed],
        migrations=in_all_groups(each for group in groups for each in group.migrations),
        own=whole.own,
        changing={query for group in groups for query in group.changing},
        joins=[group.joins for group in groups if group.joins],
    )


def releases_of(groups: Iterable[Mapping[str, Releases]]) -> dict[str, Releases]:
    """By query, what any group waits for."""
    found: dict[str, list[Releases]] = {}
    for group in groups:
        for query, said in group.items():
            found.setdefault(query, []).append(said)
    return {query: Releases.of_all(parts) for query, parts in found.items()}


def tallies_of(groups: Iterable[Mapping[str, Tally]], rows: Mapping[str, int]) -> dict[str, Tally]:
    """By stream, what all groups have counted; `rows` of the streams were read."""
    found = {name: Tally() for name in rows}
    for group in groups:
        for name, tally in group.items():
            found[name].add(tally)
    for name, tally in found.items():
        tally.read = rows[name]
    return found
