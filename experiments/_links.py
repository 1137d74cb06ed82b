"""Joins of united links in this process, in order (IOP) and without it (OOP): rows held at most.

In order means that unions merge and the join keeps order: rows wait in front of both until every
input has come as far. Without, unions meld and the join holds what it needs. Rows held are
those in queues and in states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from _times import with_times

from penstock.lab.experimenting import Check, Plot, Table
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND

COLUMNS = "srcIP INT, destIP INT, ts TIMESTAMP"
#: The two architectures, and the settings of each.
ARCHITECTURES = {"IOP": ("merge", "sync_filter"), "OOP": ("meld", "oa")}


@dataclass(frozen=True)
class Held:
    """The most rows held under each delay of some links, by architecture."""

    axis: str  # what the delay is called
    delays: Sequence[int]  # in seconds
    most: Mapping[str, list[int]]
    results: frozenset[int]  # how many results came: one number, if all agree

    def growth(self, architecture: str) -> int:
        return self.most[architecture][-1] - self.most[architecture][0]

    def table(self, title: str) -> Table:
        rows = tuple(
            (delay, *(held[place] for held in self.most.values()))
            for place, delay in enumerate(self.delays)
        )
        return Table(title, (self.axis, *self.most), rows)

    def agreement(self, under: str) -> Check:
        """That order makes no difference to the answer, however much the links are delayed."""
        name = f"both give as many results, {under}"
        return Check(name, len(self.results) == 1, str(sorted(self.results)))

    def plot(self, title: str, what: str) -> Plot:
        lines = {
            name: list(zip(self.delays, held, strict=True)) for name, held in self.most.items()
        }
        return Plot(title, self.axis, what, lines)


def packets(rate: float, seconds: int, seed: int, link: int, hosts: int) -> pl.DataFrame:
    """An ordered link between so many pairs of hosts; links of a seed are told apart by numbers."""
    draw = np.random.default_rng([seed, link])
    times = np.sort(draw.integers(0, seconds * SECOND, int(rate * seconds)))
    source = draw.integers(0, hosts, len(times))
    schema = {"srcIP": pl.Int32, "destIP": pl.Int32, "ts": pl.Int64}
    return pl.DataFrame({"srcIP": source, "destIP": source, "ts": times}, schema=schema)


def links_and_a_quiet_one(
    rate: float, seconds: int, seed: int, hosts: int = 1000
) -> dict[str, pl.DataFrame]:
    """M1 and M2, which are busy, and C, which is nearly silent."""
    rates = {"M1": rate, "M2": rate, "C": 0.5}
    return {
        name: packets(each, seconds, seed, number, hosts)
        for number, (name, each) in enumerate(rates.items())
    }


def rows_held(
    query: str, links: Mapping[str, tuple[pl.DataFrame, int]], settings: tuple[str, str]
) -> tuple[int, int]:
    """The most rows held at once, and the number of results; each link comes late by its skew."""
    engine = LocalEngine()
    engine.sql("SET union = {}; SET join = {}; SET ets = none".format(*settings))
    step = SECOND
    for name in links:
        engine.sql(f"CREATE STREAM {name} ({COLUMNS}) TIMESTAMP BY ts ORDERED")
    answer = engine.sql(query)
    end = max(int(rows.get_column("ts")[-1]) + skew for rows, skew in links.values()) + step
    most = 0
    for now in range(0, end, step):
        for name, (rows, skew) in links.items():
            due = rows.filter(pl.col("ts").is_between(now - skew, now - skew + step, closed="left"))
            if due.height:
                engine.push(name, with_times(due))
            elif now - skew >= 0:
                engine.punctuate(name, now - skew)
        most = max(most, _held(engine))
    engine.finish()
    return most, answer.results().height


def held_under(
    query: str, links: Mapping[str, pl.DataFrame], late: str, delays: Sequence[int], axis: str
) -> Held:
    """What is held in order and without, when the links in `late` come late."""
    most: dict[str, list[int]] = {name: [] for name in ARCHITECTURES}
    results: set[int] = set()
    for delay in delays:
        delayed = {
            n: (rows, delay * SECOND if n in late.split() else 0) for n, rows in links.items()
        }
        for name, settings in ARCHITECTURES.items():
            held, count = rows_held(query, delayed, settings)
            most[name].append(held)
            results.add(count)
    return Held(axis, delays, most, frozenset(results))


def _held(engine: LocalEngine) -> int:
    states = sum(rows for *_, rows, _ in engine.state())
    return states + engine.queued_rows()
