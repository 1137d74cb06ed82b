"""Epochs: the programs of a running pipeline, one after the other.

A program holds from some batch on, for all tasks of it, and is in the checkpoint's log before that
batch begins. While Spark hands batch N over, no later batch has begun; so what is asked for then,
or between two batches, for the batch behind the last one that has begun cannot come too late. A
batch that is under way ends by the program it began with.

So does one that is repeated after a crash. Its results may be in a sink that takes no others under
its number, and the next program might put out other ones. A new process runs the last program of
the log; so that gets a change only when the batch before it is committed: at once if Spark waits
for rows, else as soon as Spark has committed the batch, before it begins the next.
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


@dataclass(frozen=True)
class _Change:
    """A program that is not in the log yet, and where its results go."""

    batch: int
    program: Program
    sinks: Mapping[str, Mapping[str, str]]


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
        self._begun = checkpoint.begun
        self._unlogged: list[_Change] = []  # in their order
        self._has_ended = False
        self.first = Epoch(program, early(program))
        #: By the batch from which on they hold, in their order.
        self._epochs = {0: self.first}

    def begin(self, batch: int) -> Epoch:
        """A batch begins, perhaps again; gives what it runs."""
        with self.changing:
            if batch > self._begun:
                self._log()  # Spark begins a batch when it has committed the one before
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
            self.is_logged()
            self._has_ended = True
            self._take_back(self._epochs.values())

    def _take_back(self, epochs: Iterable[Epoch]) -> None:
        for name in filter(None, (each.shipped for each in epochs)):
            take_back(self._context, name)

    @property
    def program(self) -> Program:
        """What runs in the end."""
        with self.changing:
            return self._epochs[max(self._epochs)].program

    @property
    def next_change(self) -> int:
        """The number that the next change will have."""
        with self.changing:
            return self._checkpoint.log.next + len(self._unlogged)

    def is_logged(self) -> bool:
        """Whether all changes are in the log; puts them there if they may be."""
        with self.changing:
            is_ours = not self._has_ended  # else another run may have the checkpoint
            if self._unlogged and is_ours and self._checkpoint.is_over(self._begun):
                self._log()
            return not self._unlogged

    def _log(self) -> None:
        if self._unlogged:
            self._checkpoint.check_held()
        while self._unlogged:
            each = self._unlogged[0]
            self._checkpoint.change(each.program, each.batch, each.sinks)
            del self._unlogged[0]

    def change(
        self,
        program: Program,
        sinks: Mapping[str, Mapping[str, str]],
        then: Callable[[int], None],
    ) -> int:
        """Have another program run as soon as can be; gives the batch from which on it does.

        `sinks` are where its results go; `then` is told of it before that batch can begin. It is in
        the log as soon as that may be (`is_logged`).
        """
        with self.changing:
            batch = self._begun + 1
            epoch = Epoch(program, self._early(program), f"penstock-program-{uuid4().hex}")
            ship(self._context, epoch.shipped, ShippedProgram(program, epoch.early))
            self._unlogged.append(_Change(batch, program, sinks))
            try:
                self.is_logged()
            except BaseException:
                self._unlogged.pop()
                self._take_back([epoch])
                raise
            if batch in self._epochs:
                self._take_back([self._epochs[batch]])  # of a batch that will never run it
            self._epochs[batch] = epoch
            then(batch)
            return batch
