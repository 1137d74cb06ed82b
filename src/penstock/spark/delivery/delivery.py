"""What a pipeline hands over: rows of a micro-batch, and how far things have come."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from penstock.kernel.stacks import stacked, stacks, unstacked
from penstock.kernel.state import from_ipc
from penstock.model.releases import Releases
from penstock.runtime.counts import Tally
from penstock.runtime.migrations import Migration
from penstock.runtime.status import OperatorStatus

#: What the lines are that groups put out, besides rejected rows (`Reason`): results, those of
#: several queries as one table, the files that results were staged in, and how far things are.
RESULT, SEVERAL, STAGED, PROGRESS = "result", "results", "staged", "progress"


#: Rows that a micro-batch put out: (group, query or stream, kind, rows).
OutputRows: TypeAlias = tuple[int, str, str, pl.DataFrame]


def in_stacks(results: Mapping[str, pl.DataFrame]) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Results by query as lines: name, kind and rows; small ones that are alike are one line."""
    for names in stacks(results):
        if len(names) == 1:
            yield names[0], RESULT, results[names[0]]
        else:
            heights = [results[name].height for name in names]
            yield json.dumps([names, heights]), SEVERAL, stacked([results[name] for name in names])


def output_rows(group: int, name: str, kind: str, payload: bytes) -> Iterator[OutputRows]:
    """What a line of a group has: the rows of one, or of several queries."""
    rows = from_ipc(payload)
    if kind != SEVERAL:
        yield group, name, kind, rows
        return
    names, heights = json.loads(name)
    for each, part in zip(names, unstacked(rows, heights), strict=True):
        yield group, each, RESULT, part


@dataclass(frozen=True)
class BatchReport:
    """What became known about one micro-batch."""

    batch: int
    rows: Mapping[str, int]  # of each stream
    bounds: Mapping[str, int]  # of each stream
    newest: Mapping[str, int]  # timestamp of each stream so far
    awaited: Collection[str]  # streams that something is held for
    #: query -> what lets its next row out; a query that is not here has not said
    releases: Mapping[str, Releases] = field(default_factory=dict)
    tallies: Mapping[str, Tally] = field(default_factory=dict)  # of each stream
    operators: tuple[OperatorStatus, ...] = ()
    #: plans that were chosen anew while queries run, of each group that has such, as JSON
    changed: Sequence[Mapping[str, Any]] = ()
    #: changes of joins that began or ended with it, in all groups
    migrations: tuple[Migration, ...] = ()
    #: queries whose operators are just changing in some group
    changing: Collection[str] = ()
    #: the bound of each stream, but for what the ends of runs have closed
    own: Mapping[str, int] = field(default_factory=dict)
    #: what each group says of its joins, as JSON (`join_cells`)
    joins: Sequence[Mapping[str, Any]] = ()
