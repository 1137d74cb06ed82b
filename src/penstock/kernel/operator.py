"""Operator: what to do with rows, and what to do with punctuation.

Rows come to `on_batch`, punctuation to `on_punctuation`; both write to `out`. A *step* takes at
most `limit` rows off one input and hands them over: with a limit of 1 this is the tuple-at-a-time
model, without one it is vectorised. The same operator code serves both.

An ordinary operator can always consume what is there, and does nothing with punctuation but
`translate` it. One that needs bounds to move is *idle-waiting-prone*: rows or results wait in it
until the time on its inputs is known. If it also must not consume before that, it overrides `more`,
`starved` and `step`.  Spec: execution-model 1, 2, 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.progress.grain import UNUSED, Grain
from penstock.kernel.progress.release import Needs, NotKnown, Times, Waiting
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


class Output(Protocol):
    """Where an operator's results go."""

    def batch(self, block: Block) -> None: ...

    def punctuation(self, punctuation: Punctuation) -> None: ...


class Operator:
    """Root of all operators; `ports` is the number of inputs."""

    ports: int = 1
    state: State
    #: Whether it does more with punctuation than translate it; then it has TSM registers.
    idle_waiting_prone: bool = True

    def __init__(self) -> None:
        self.state = State()

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def ended_attempts(self) -> int | None:
        """How often a limit on rows has ended what could have gone on; None: there is no limit."""
        return None

    def begin(self) -> None:
        """Start where the operators that it reads from are now.

        A host calls it once state is restored, of every operator that none was kept for: it comes
        beside others that have run already.
        """

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        raise NotImplementedError

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        for translated in self.translate(punctuation):
            out.punctuation(translated)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """Punctuation for some rows only; who has no use for it lets it end here."""
        if not self.idle_waiting_prone:
            self.on_punctuation(port, punctuation, out)

    def translate(self, punctuation: Punctuation) -> Iterable[Punctuation]:
        """What punctuation of the input says about the output, for one that keeps no rows."""
        raise NotImplementedError

    def rest(self, out: Output) -> None:
        """A run ends: let out what is over already and was only waiting for its turn."""

    def reopen(self) -> None:
        """A run has ended: let rows in again where no answer has used them yet.

        Called of inputs before consumers. Whoever takes rows below a bound anyway need do nothing.
        """

    def set_register(self, port: int, punctuation: Punctuation) -> None:
        """Set the register of an input by an arc; what follows from it is for later steps."""

    def useful(self) -> frozenset[str] | None:
        """The attributes whose bounds are of use here; None: all. `grain` may say it better."""
        return None

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        """How finely bounds on an attribute are of use here; `behind` says it of the output.

        None: every bound counts.
        """
        useful = self.useful()
        return None if useful is None or on in useful else UNUSED

    def waits(self, inputs: Sequence[Cursor]) -> bool:
        """Whether it holds something that a bound on some input would set free."""
        if not self.idle_waiting_prone:
            return False
        if self.state.holds_rows():
            return True
        return any(cursor.rows for cursor in inputs) and not self.more(inputs)

    # -- what it waits for (`progress/release.py`) --------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        """What waits here, and which bounds let it out; of rows that wait alike the first."""
        if self.waits(inputs):
            raise NotKnown
        return ()

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        """What becomes of a row that comes in with these times."""
        raise NotKnown

    def needed(self, on: str, bound: int) -> Needs | None:
        """The bounds on inputs that give this one on the output; None: there are none."""
        raise NotKnown

    def known(self, port: int, on: str) -> int:
        """The bound of an input, as far as it is noted here."""
        return BEGINNING

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
            (self.on_pattern if item.where else self.on_punctuation)(port, item, out)
            return 0
        self.on_batch(port, item, out)
        return len(item)
