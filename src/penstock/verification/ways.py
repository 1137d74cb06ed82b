"""Ways to compute a query that must all give the same answer.

    here      in this process: strategies, steps, blocks of any size, changes in mid-run
    groups    Spark's host without Spark: partition groups, tasks, workers that are lost, replays
    spark     on Spark itself, with a restart

Under each of them every algorithm that SET can choose. A query that refuses one gets what the file
says, so it never makes a difference whether a way is there.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from penstock.catalog.settings import SETTINGS
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.verification.script import Planned

Host = Literal["here", "groups", "spark"]


@dataclass(frozen=True)
class Way:
    """One way; `seed` decides what is left to chance on it."""

    host: Host
    settings: Mapping[str, str] = field(default_factory=dict)  # instead of what the file says
    seed: int = 0
    strategy: str = "dfs"
    rows_per_step: int | None = None  # None: unlimited
    ets_by: str = "rows"  # of groups
    rows_per_block: int | None = None  # pushed at a time; None: all of a batch
    changes: bool = False  # strategies and other queries come and go in mid-run
    groups: int = 1
    loses_workers: bool = False  # groups move between workers, and attempts fail
    restarts: bool = False
    faults: bool = False  # on Spark, a task fails or does a step twice

    def __str__(self) -> str:
        return ", ".join([_HOSTS[self.host], *self._details()])

    def _details(self) -> Iterator[str]:
        if self.host != "spark":
            yield f"strategy {self.strategy}"
            if self.rows_per_step is not None:
                yield f"{self.rows_per_step} rows a step"
        if self.host == "here":
            if self.rows_per_block is not None:
                yield f"{self.rows_per_block} rows a push"
            if self.changes:
                yield "changes while running"
        if self.host == "groups":
            yield f"{self.groups} partition group{'s' if self.groups > 1 else ''}"
            if self.ets_by != "rows":
                yield f"timestamps by {self.ets_by}"
            if self.loses_workers:
                yield "faults and lost workers"
        if self.restarts:
            yield "a restart"
        if self.faults:
            yield "a fault"
        yield from (f"SET {name} = {value}" for name, value in self.settings.items())

    def simpler(self) -> Iterator[Way]:
        """Ways that are easier to understand, simplest first."""
        if self.host == "spark":
            yield Way("groups", self.settings, self.seed)
            yield Way("groups", self.settings, self.seed, groups=2, loses_workers=True)
        plain = Way(self.host)
        yield plain
        for name in self.settings:
            rest = {key: value for key, value in self.settings.items() if key != name}
            yield replace(self, settings=rest)
        for name in ("changes", "loses_workers", "restarts", "faults", "groups", "rows_per_block"):
            yield replace(self, **{name: getattr(plain, name)})
        yield replace(
            self,
            strategy=plain.strategy,
            rows_per_step=plain.rows_per_step,
            ets_by=plain.ets_by,
        )


_HOSTS = {
    "here": "in this process",
    "groups": "on Spark's host, without Spark",
    "spark": "on Spark",
}


def alternatives(planned: Sequence[Planned]) -> list[dict[str, str]]:
    """Settings that choose other operators for these queries than the file does."""
    if any(each.options.uses_late_rows for each in planned):
        return []  # only some operators can take late rows, and they are chosen already
    kinds = {type(node) for each in planned for node in walk(each.plan)}
    found: list[dict[str, str]] = []
    if nodes.WindowAggregate in kinds:
        found += [
            {"aggregation": name} for name in SETTINGS["aggregation"].words if name != "two_level"
        ]
        found += [
            {
                "aggregation": "two_level",
                "table_size": size,
                "flush": flush,
                "flush_windows": "2",
                "flush_rows": "5",
            }
            for size, flush in (("1", "slow"), ("3", "lazy"), ("100", "slow"))
        ]
    if nodes.Join in kinds:
        found += [{"join": name} for name in SETTINGS["join"].words]
    if {nodes.Join, nodes.WindowAggregate} <= kinds:
        found.append({"group_by": "below"})
    if nodes.Union in kinds:
        found += [{"union": name} for name in ("meld", "merge")]
    return [*found, {"mode": "iop"}]


def ways(
    chance: random.Random, others: Sequence[Mapping[str, str]], seed: int, hosts: Container[Host]
) -> list[Way]:
    """Ways to try one case: both hosts as the file has it, and each with something else."""
    some = chance.sample(list(others), min(3, len(others)))
    found = [
        Way("here", seed=seed),
        *(_some(chance, "here", settings, seed) for settings in ({}, *some)),
        Way("groups", seed=seed, groups=chance.choice((1, 2))),
        *(_some(chance, "groups", settings, seed) for settings in ({}, *some)),
    ]
    return [way for way in found if way.host in hosts]


def _some(chance: random.Random, host: Host, settings: Mapping[str, str], seed: int) -> Way:
    way = Way(
        host,
        settings,
        seed,
        strategy=chance.choice(SETTINGS["strategy"].words),
        rows_per_step=chance.choice((None, 7, 1)),
    )
    if host == "here":
        blocks = chance.choice((None, 1, 3, 10))
        return replace(way, rows_per_block=blocks, changes=chance.random() < 0.3)
    return replace(
        way,
        ets_by=chance.choice(SETTINGS["ets_by"].words),
        groups=chance.choice((1, 2, 3)),
        loses_workers=chance.random() < 0.8,
    )
