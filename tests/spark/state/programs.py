"""Programs for checkpoints to belong to."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.spark.group_host import Program
from penstock.spark.in_memory.micro_batches import program_of
from tests.spark.placement.plans import plan

COUNT = "SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS, SLIDE {s} SECONDS, WA ts] GROUP BY k"


def program(queries: Mapping[str, str], union: str = "meld") -> Program:
    return program_of({name: plan(text) for name, text in queries.items()}, union)


ONE = program({"q": COUNT.format(s=5)})
