"""Engines whose queries are computed by baselines, which nobody can SET."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from penstock.lab.baselines import with_buffering, with_ordered_flush
from penstock.local.engine import LocalEngine
from penstock.optimizer.physical import Plans, Program


class Baseline(NamedTuple):
    """The algorithm that SET is given, and what is put in its place."""

    aggregation: str
    put: Callable[[Plans], Plans]

    def __call__(self, program: Program) -> Program:
        return program.by(self.put(program.plans))


#: Those that answer as soon as the others do.
PROMPT = {
    "buffering": Baseline("wid", with_buffering),
    "buffering_incremental": Baseline("wid", partial(with_buffering, incremental=True)),
}
BASELINES = {**PROMPT, "ordered_flush": Baseline("two_level", with_ordered_flush)}


class BaselineEngine(LocalEngine):
    """An engine that computes each query by the baseline that is chosen when it is declared."""

    baseline: Baseline | None = None

    def choose(self, aggregation: str) -> None:
        """Set an algorithm by its name, or have a baseline."""
        self.baseline = BASELINES.get(aggregation)
        self.sql(f"SET aggregation = {self.baseline.aggregation if self.baseline else aggregation}")

    def _optimized(self, *args: Any, **kwargs: Any) -> Program:
        program = super()._optimized(*args, **kwargs)
        return program if self.baseline is None else self.baseline(program)
