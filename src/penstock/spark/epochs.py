"""Epochs: the programs of a running pipeline, one after the other.

A program holds from some batch on, for all tasks of it, and is in the checkpoint's log before that
batch begins. While Spark hands batch N over, no later batch has begun; so what is logged then, or
between two batches, for the batch behind the last one that has begun cannot come too late. A batch
that is under way ends by the program it began with.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from pyspark import SparkContext

from penstock.optimizer.physical import Program
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.shipped_programs import ShippedProgram, ship, take_back
from penstock.spark.state.checkpoint import Checkpoint


@dataclass(frozen=True)
class Epoch:
    """A program, what tasks that read compute of each stream, and how tasks find both."""

    program: Program
    early: Mapping[str, Preaggregation]
    shipped: str = ""  # the name that tasks are told; empty: it came with their code


class Epochs:
    """Which program each batch runs; `early` gives what tasks that read compute for a program."""

    def __init__(
        self,
        context: SparkContext,
        checkpoint: Checkpoint,
        program: Program,
        early: Callable[[Program], Mapping[str, Preaggregation]],
    ) -> None:
        self._context = context
        self._checkpoint = checkpoint
        self._early = early
        #: Held by whoever changes the program, from looking at what it was on.
        self.changing = threading.RLock()
        self._begun = checkpoint.finished
        self.first = Epoch(program, early(program))
        #: By the batch from which on they hold, in their order.
        self._epochs = {0: self.first}

    def begin(self, batch: int) -> Epoch:
        """A batch begins, perhaps again; gives what it runs."""
        with self.changing:
            self._begun = max(self._begun, batch)
            since = max(number for number in self._epochs if number <= batch)
            if since > min(self._epochs):
                # Spark repeats the last batch only.
                gone = [self._epochs.pop(number) for number in list(self._epochs) if number < since]
                self._take_back(gone)
                self._checkpoint.log.forget(batch - 1)
            return self._epochs[since]

    def end(self) -> None:
        """No batch begins any more."""
        with self.changing:
            self._take_back(self._epochs.values())

    def _take_back(self, epochs: Iterable[Epoch]) -> None:
        for name in filter(None, (each.shipped for each in epochs)):
            take_back(self._context, name)

    @property
    def program(self) -> Program:
        """What runs in the end."""
        with self.changing:
            return self._epochs[max(self._epochs)].program

    def change(
        self,
        program: Program,
        sinks: Mapping[str, Mapping[str, str]],
        then: Callable[[int], None],
    ) -> int:
        """Have another program run as soon as can be; gives the batch from which on it does.

        `sinks` are where its results go; `then` is told of it before that batch can begin.
        """
        with self.changing:
            batch = self._begun + 1
            epoch = Epoch(program, self._early(program), f"penstock-program-{uuid4().hex}")
            ship(self._context, epoch.shipped, ShippedProgram(program, epoch.early))
            self._checkpoint.change(program, batch, sinks)
            if batch in self._epochs:
                self._take_back([self._epochs[batch]])  # of a batch that will never run it
            self._epochs[batch] = epoch
            then(batch)
            return batch
