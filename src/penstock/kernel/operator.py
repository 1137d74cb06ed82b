"""Operator: two paragraphs, rows and promises.

What to do with rows is `on_batch`, what to do with a promise is `on_punctuation`; both write to
`out`. A *step* takes at most `limit` rows off one input and hands them over: with a limit of 1 this
is the tuple-at-a-time model, without one it is vectorised. The same operator code serves both.

An ordinary operator can always consume what is there. Operators that must know the time on all
inputs before they move (idle-waiting-prone) override `more`, `starved` and `step`.
Spec: execution-model 1, 2, 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation


class Output(Protocol):
    """Where an operator's results go."""

    def batch(self, block: Block) -> None: ...

    def punctuation(self, punctuation: Punctuation) -> None: ...


class Operator:
    """Root of all operators; `ports` is the number of inputs."""

    ports: int = 1
    state: State

    def __init__(self) -> None:
        self.state = State()

    @property
    def name(self) -> str:
        return type(self).__name__

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        raise NotImplementedError

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        raise NotImplementedError

    def more(self, inputs: Sequence[Cursor]) -> bool:
        """Whether a step would consume something."""
        return any(not cursor.empty for cursor in inputs)

    def starved(self, inputs: Sequence[Cursor]) -> int:
        """The input to go back to for more: one that is empty."""
        return next((port for port, cursor in enumerate(inputs) if cursor.empty), 0)

    def step(self, inputs: Sequence[Cursor], out: Output, limit: int | None) -> int:
        """Consume once; gives the number of rows consumed."""
        port = next(port for port, cursor in enumerate(inputs) if not cursor.empty)
        item = inputs[port].take(limit)
        if isinstance(item, Punctuation):
            self.on_punctuation(port, item, out)
            return 0
        self.on_batch(port, item, out)
        return len(item)
