"""Programs for checkpoints to belong to."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from tests.spark.placement.plans import plan

COUNT = "SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS, SLIDE {s} SECONDS, WA ts] GROUP BY k"


def program(queries: Mapping[str, str], union: str = "meld") -> Program:
    return optimize({name: plan(text) for name, text in queries.items()}, Options(union=union))


ONE = program({"q": COUNT.format(s=5)})
