"""WindowJoin: rows of several inputs that lie close in time and belong together.

Rows meet the stored rows of the other inputs, and results carry every timestamp. When a bound comes
on one input, stored rows of the others that can find no partner any more are forgotten, and it
becomes a bound on each timestamp of the results: a result needs a row of each input, new or still
stored (on further columns that progress: `carried`; on the greatest of them: `latest`). Where
somebody groups by two timestamps, it also becomes one about the pair (`joint`).

This is the driver: ports, bounds, punctuation. `inputs` stores rows and finds partners, and the
*tactic* says when rows meet and when results leave (`tactics`).
Spec: window-queries 6.1, 6.2, 6.4, Fig 7-1, 7-2; ordered-joins; execution-model 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.carried import Carried
from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.joint import joint
from penstock.kernel.joins.keyed import KeyBounds
from penstock.kernel.joins.latest import Latest
from penstock.kernel.joins.mjoin import MJoin, MJoinSpec
from penstock.kernel.joins.pair_inputs import PairInputs
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.state import JoinState, join_state
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import UNUSED, Grain, both
from penstock.kernel.progress.release import Needs, Times, Waiting
from penstock.model.joins import JoinKind
from penstock.model.punctuation import Punctuation


class WindowJoin(Operator):
    """Joins rows within bands of each other; without a tactic, pairs leave as they are found."""

    state: JoinState
    inputs: Inputs

    def __init__(
        self,
        spec: JoinSpec | MJoinSpec,
        tactic: Tactic | None = None,
        *,
        punctuates_pairs: bool = False,
    ) -> None:
        super().__init__()
        #: Whether somebody behind it has a use for bounds on the pair of timestamps.
        self.punctuates_pairs = punctuates_pairs
        self.spec = spec
        self.tactic = tactic or Tactic()
        self._keys: KeyBounds | None = None
        if isinstance(spec, MJoinSpec):
            self.inputs = MJoin(spec)
        else:
            self.inputs = pair = PairInputs(spec)
            if self.tactic.is_plain:
                self._keys = pair.keys
        self.ports = self.inputs.ports
        sides = spec.inputs if isinstance(spec, MJoinSpec) else spec.sides
        self._carried = Carried(sides, self.inputs, self.tactic)
        #: What else it has bounds on, besides the times.
        self._further: list[Carried | Latest] = [self._carried]
        # A row without a partner comes when all could have come, and its own time is the latest.
        if isinstance(spec, MJoinSpec) or spec.kind is JoinKind.INNER:
            self._further.append(Latest(sides, self.inputs, self.tactic))
        tables = self.inputs.tables() | self.tactic.tables(self.inputs)
        self.inputs.state = self.state = join_state(self.ports, tables)
        self._output = list(self.inputs.output or ())

    @property
    def name(self) -> str:
        several = isinstance(self.inputs, MJoin) and self.tactic.is_plain
        return "MJoin" if several else self.tactic.name

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        if on in self.inputs.on:
            return None
        names = [name for each in self._further for name in each.names(on)]
        return reduce(both, map(behind, names), UNUSED)

    def carried_of(self, port: int) -> Iterable[tuple[str, int]]:
        """The bounds of an input on columns that progress beside its time."""
        return self._carried.of(port)

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        self.put(self.tactic.take(self.inputs, port, block.rows), out)
        if self.tactic.in_order:
            self.advance(port, block.last(self.inputs.on[port]), out)

    def put(self, found: Iterable[pl.DataFrame | Punctuation], out: Output) -> None:
        for each in found:
            if isinstance(each, Punctuation):
                out.punctuation(each)
            elif self.inputs.output is None:
                out.batch(Block(each))
            else:
                out.batch(Block(each[self._output]))

    # -- punctuation --------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if punctuation.on == self.inputs.on[port] and punctuation.bound > self.state.reached[port]:
            self.advance(port, punctuation.bound, out)
            return
        for each in self._further:
            if each.note(port, punctuation):
                self.put(each.follow(self.tactic.complete(self.inputs)), out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """A bound on rows of some keys: rows of these keys on the other side can go earlier."""
        if self._keys is not None:
            self.put(self._keys.note(port, punctuation), out)

    def advance(self, port: int, reached: int, out: Output) -> None:
        """An input has come so far: let out what waited for it, forget, and punctuate."""
        state, reach = self.state, self.inputs.reach
        state.reached[port] = max(state.reached[port], reached)
        self.put(self.tactic.release(self.inputs), out)
        come = self.tactic.come(self.inputs)
        risen = [each for each in range(self.ports) if come[each] > state.bounds[each]]
        for each in risen:
            state.bounds[each] = come[each]
        for each in range(self.ports):
            if any(other != each for other in risen):
                self.put(self.inputs.purge(each, self.inputs.keep_from(each)), out)
        for retained in self.inputs.retained if risen else ():
            retained.follow()
        complete = self.tactic.complete(self.inputs)
        for each in self.inputs.progressing:
            bound = reach.output_bound(each, complete)
            if bound > state.sent[each]:
                state.sent[each] = bound
                out.punctuation(Punctuation(self.inputs.times[each], bound))
        for further in self._further:
            self.put(further.follow(complete), out)
        if any(state.keyed) and self._keys is not None:
            self.put(self._keys.follow(port), out)
        if self.punctuates_pairs and isinstance(self.spec, JoinSpec):
            left, right = self.inputs.times
            self.put(joint(self.spec.band, (left, right), state.bounds, state.sent), out)

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        return map(self._with_carried, self.tactic.held(self.inputs, inputs))

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return map(self._with_carried, self.tactic.passes(self.inputs, port, times))

    def _with_carried(self, waiting: Waiting) -> Waiting:
        return replace(waiting, times=self._carried.beside(waiting.times))

    def needed(self, on: str, bound: int) -> Needs | None:
        port = next((p for p in self.inputs.progressing if self.inputs.times[p] == on), None)
        if port is None:
            found = (each.needed(on, bound) for each in self._further)
            return next((needs for needs in found if needs is not None), None)
        needs = self.inputs.needs(self.tactic.needed(self.inputs, port, bound))
        if self.punctuates_pairs:  # some groups get the bound before the others
            return Needs((needs[port],), certain=False)
        return Needs(needs)

    def known(self, port: int, on: str) -> int:
        if on == self.inputs.on[port]:
            return self.state.reached[port]
        return max(each.known(port, on) for each in self._further)
