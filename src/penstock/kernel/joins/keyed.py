"""Bounds on single keys of a join: what one input says of a key holds for its partners.

Rows that join have equal keys. So a bound on the rows of some key on one input tells when stored
rows *of that key* on the other can be forgotten, and what results of that key can still come. A
pattern that names anything but keys says nothing about a partner, and is left out.

They are kept by *key pattern*: the place of the equality instead of a column of either side, as
JSON, so that both sides speak of the same thing.  Spec: window-queries 1.2 (group-wise linear).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from penstock.kernel.joins.purge import keep_from
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.progress.patterns import below
from penstock.kernel.segments import Mask
from penstock.model.punctuation import Punctuation, Where, from_json, to_json
from penstock.model.timestamps import BEGINNING

if TYPE_CHECKING:
    from penstock.kernel.joins.pair_inputs import PairInputs

#: So many bounds on keys are waited for before more stored rows than that are looked through.
SWEEP, LITTLE = 32, 4096


class KeyBounds:
    """The bounds of inputs on single keys, and what follows from them."""

    def __init__(self, spec: JoinSpec, inputs: PairInputs) -> None:
        self._inputs = inputs
        self._spec = spec
        self._unswept = [0, 0]  # bounds on keys of which stored rows do not know yet
        # Where types differ, a value of one side need not be one of the other.
        alike = [mine.type is theirs.type for mine, theirs in zip(*spec.match.keys, strict=True)]
        places = [place for place in range(len(spec.equalities)) if alike[place]]
        # A side's columns as rows come; of two equalities of one column the first counts.
        self._places = [
            {spec.equalities[place][side]: place for place in reversed(places)} for side in (0, 1)
        ]

    def note(self, port: int, punctuation: Punctuation) -> Iterator[pl.DataFrame | Punctuation]:
        """A bound on some rows of an input; rows of their keys on the other can go earlier."""
        key = self._key(port, punctuation.where)
        if key is None or punctuation.on != self._inputs.on[port]:
            return
        if punctuation.bound <= self._bound(port, key):
            return
        self._inputs.state.keyed[port][key] = punctuation.bound
        yield from self._purge(1 - port)
        yield from self._punctuate(key)

    def follow(self, port: int) -> Iterator[Punctuation]:
        """An input has a new bound on all rows, and so on those of each key."""
        state = self._inputs.state
        for side, (kept, least) in enumerate(zip(state.keyed, state.bounds, strict=True)):
            state.keyed[side] = {key: bound for key, bound in kept.items() if bound > least}
        for key in state.keyed[1 - port]:
            yield from self._punctuate(key)
        for side, (said, least) in enumerate(zip(state.keyed_sent, state.sent, strict=True)):
            state.keyed_sent[side] = {key: bound for key, bound in said.items() if bound > least}

    def over(self, side: int, rows: pl.DataFrame) -> Mask:
        """Whether rows of a side can find no partner any more, by bounds on their keys."""
        bounds = (
            (self._where(side, key), keep_from(self._spec.band, side, bound))
            for key, bound in self._inputs.state.keyed[1 - side].items()
        )
        found: Mask = below(rows, self._inputs.times[side], bounds).to_numpy()
        return found

    def _purge(self, side: int) -> Iterator[pl.DataFrame]:
        """Forget rows of a side by the bounds on their keys.

        That is looking through all that is stored; where nobody waits for it and much is stored,
        several bounds are waited for.
        """
        self._unswept[side] += 1
        much = LITTLE if self._unswept[side] < SWEEP else None
        alone = self._inputs.purge_where(side, lambda rows: self.over(side, rows), much=much)
        if alone is not None:
            self._unswept[side] = 0
            yield from alone

    def _punctuate(self, key: str) -> Iterator[Punctuation]:
        inputs = self._inputs
        bounds = [self._bound(side, key) for side in (0, 1)]
        for side in inputs.progressing:
            bound, said = inputs.reach.output_bound(side, bounds), inputs.state.keyed_sent[side]
            if bound > max(inputs.state.sent[side], said.get(key, BEGINNING)):
                said[key] = bound
                # Results may go on with the key's column of either side.
                for named in inputs.progressing:
                    yield Punctuation(inputs.times[side], bound, self._where(named, key))

    def _bound(self, side: int, key: str) -> int:
        """The bound of an input on a key."""
        state = self._inputs.state
        return max(state.bounds[side], state.keyed[side].get(key, BEGINNING))

    def _key(self, side: int, where: Where) -> str | None:
        """The key pattern of a pattern over a side's columns; None: it is about something else."""
        places = self._places[side]
        if any(name not in places for name, _ in where):
            return None
        return json.dumps(sorted([places[name], pattern] for name, pattern in to_json(where)))

    def _where(self, side: int, key: str) -> Where:
        """A key pattern over a side's columns, as the join calls them."""
        column, names = self._spec.sides[side].column, self._spec.equalities
        return from_json((column(names[place][side]), p) for place, p in json.loads(key))
