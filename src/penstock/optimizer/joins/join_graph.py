"""JoinGraph: what is known of a join of many inputs: rates, selectivities, windows.

Inputs are the vertices, predicates between two of them the edges. A set of inputs that has been
joined already is a vertex, too (*fused*): its predicates with another set are all those between
their members, and how many rows it has follows from theirs. For a set S

    product(S)    rates of its inputs times selectivities inside it
    rate(S)       results a second
    size(S)       results that are stored for others

Predicates are independent of each other, as everywhere in this field, but for those on one key: if
all inputs of a *class* must have the same key, a row that matches one of them matches them all, and
no other predicate of the class says anything new. It counts that with the least selectivity.
Spec: dynamic-optimization 2.2, 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from penstock.optimizer.cost.runs import merges_of, runs_of, stored_for
from penstock.optimizer.joins.inputs import Inputs, inputs_of, members
from penstock.optimizer.joins.join_windows import JoinWindows

#: What nothing has matched so far may match one day.
LEAST = 1e-12
#: Bytes that a stored row takes besides its columns: its code, and its share of the index.
OVERHEAD = 8.0
#: Bytes of a key.
KEY_BYTES = 8.0


@dataclass(frozen=True)
class JoinGraph:
    """Rates in rows a second of event time; selectivities of pairs (i, j), i < j, that have one.

    `widths` are bytes of a row of each input; without, every stored row counts 1, whatever it is
    made of.
    """

    rates: tuple[float, ...]
    selectivities: Mapping[tuple[int, int], float]
    windows: JoinWindows
    widths: tuple[float, ...] = ()
    classes: tuple[Inputs, ...] = ()  # inputs that are joined by one key
    keyed: frozenset[tuple[int, int]] = frozenset()  # pairs that are joined by keys
    blocks: tuple[float, ...] = ()  # in how many blocks a second inputs come; none: not known
    _products: dict[Inputs, float] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        assert self.windows.count == len(self.rates), "windows of another join"
        assert len(self.widths) in (0, len(self.rates)), "widths of another join"
        assert len(self.blocks) in (0, len(self.rates)), "blocks of another join"
        assert all(i < j for i, j in self.selectivities), f"not pairs: {[*self.selectivities]}"

    @classmethod
    def within(
        cls, rates: tuple[float, ...], selectivities: Mapping[tuple[int, int], float], window: float
    ) -> JoinGraph:
        """All pairs of rows at most `window` seconds apart."""
        return cls(rates, selectivities, JoinWindows.everywhere(len(rates), window))

    def as_json(self) -> dict[str, Any]:
        return {
            "rates": [*map(float, self.rates)],
            "selectivities": [[*pair, float(each)] for pair, each in self.selectivities.items()],
            "windows": self.windows.as_json(),
            "widths": [*map(float, self.widths)],
            "classes": [*self.classes],
            "keyed": sorted(self.keyed),
            "blocks": [*map(float, self.blocks)],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JoinGraph:
        """The graph that was written so; ValueError if a figure is none."""
        rates = _finite(data["rates"])
        pairs = [(i, j) for i, j, _ in data["selectivities"]]
        shares = _finite(share for _, _, share in data["selectivities"])
        return cls(
            rates,
            dict(zip(pairs, shares, strict=True)),
            JoinWindows.from_json(data["windows"], len(rates)),
            _finite(data["widths"]),
            tuple(data["classes"]),
            frozenset((i, j) for i, j in data["keyed"]),
            _finite(data["blocks"]),
        )

    def is_of_same_join(self, other: JoinGraph) -> bool:
        """Whether two differ by nothing but figures: inputs, predicates and windows are alike."""
        return (
            self.windows == other.windows
            and self.selectivities.keys() == other.selectivities.keys()
            and self.classes == other.classes
            and self.keyed == other.keyed
        )

    @property
    def count(self) -> int:
        return len(self.rates)

    @cached_property
    def everything(self) -> Inputs:
        return inputs_of(range(self.count))

    @cached_property
    def independent(self) -> np.ndarray:
        """By two inputs, selectivities of predicates of no class; 1 where there is none."""
        return self._matrix(None)

    @cached_property
    def independent_keys(self) -> np.ndarray:
        """The same of predicates by which rows are looked up."""
        keyed = np.zeros((self.count, self.count), dtype=bool)
        for i, j in self.keyed:
            keyed[i, j] = keyed[j, i] = True
        return np.where(keyed, self.independent, 1.0)

    @cached_property
    def by_class(self) -> tuple[np.ndarray, ...]:
        """For each class, by two inputs, selectivities of its predicates."""
        return tuple(map(self._matrix, self.classes))

    def _matrix(self, of: Inputs | None) -> np.ndarray:
        found = np.ones((self.count, self.count))
        for (i, j), selectivity in self.selectivities.items():
            if of == self._class_of((i, j)):
                found[i, j] = found[j, i] = max(selectivity, LEAST)
        return found

    @cached_property
    def links(self) -> np.ndarray:
        """By two inputs, whether there is a predicate between them."""
        found = np.zeros((self.count, self.count), dtype=bool)
        for i, j in self.selectivities:
            found[i, j] = found[j, i] = True
        return found

    def are_linked(self, one: Inputs, other: Inputs) -> bool:
        """Whether there is a predicate between two sets."""
        return bool(self.links[np.ix_(members(one), members(other))].any())

    def selectivity(self, one: Inputs, other: Inputs) -> float:
        """What share of all pairs of results of two sets match."""
        between = np.ix_(members(one), members(other))
        found = float(self.independent[between].prod())
        for of in self.by_class:
            found *= float(of[between].min())
        return found

    def product(self, inputs: Inputs) -> float:
        """Rates of the inputs times selectivities of the predicates between them."""
        if inputs not in self._products:
            first = inputs & -inputs
            rest = inputs ^ first
            rate = self.rates[first.bit_length() - 1]
            further = self.product(rest) * self.selectivity(first, rest) if rest else 1.0
            self._products[inputs] = rate * further
        return self._products[inputs]

    def rate(self, inputs: Inputs) -> float:
        """Results of joining these a second."""
        return self.product(inputs) * self.windows.together(inputs)

    def size(self, inputs: Inputs, others: Inputs = 0) -> float:
        """Results of joining these that are stored for partners among others (none: all others)."""
        others = others or self.everything & ~inputs
        return self.product(inputs) * self.windows.kept(inputs, others)

    def stored(self, inputs: Sequence[Inputs], stays: np.ndarray) -> np.ndarray:
        """By input of an operator, those, and what is still there although nobody needs it.

        `stays`: for how long what comes to each stays (`JoinWindows.stays`).
        """
        if not self.windows.whole_runs:
            return np.array([self.size(each, sum(inputs) - each) for each in inputs])
        return np.array([*map(self._stored_for, inputs, stays.tolist())])

    def _stored_for(self, inputs: Inputs, stays: float) -> float:
        blocks = self._blocks_below(inputs)
        if not blocks:
            return self.rate(inputs) * stays
        return self.rate(inputs) * stored_for(stays, blocks, inputs.bit_count())

    def runs(self, inputs: Sequence[Inputs], stays: np.ndarray) -> np.ndarray:
        """How many runs an operator keeps of each input; 1 where it is not known how rows come."""
        if not self.blocks or not self.windows.whole_runs:
            return np.ones(len(inputs))
        times = zip(inputs, stays, strict=True)
        return np.array([runs_of(stay * self.blocks_of(each)) for each, stay in times])

    def merges(self, inputs: Sequence[Inputs], stays: np.ndarray) -> np.ndarray:
        """How often an operator merges a row of each input with others before it goes."""
        if not self.blocks or not self.windows.whole_runs:
            return np.zeros(len(inputs))
        times = zip(inputs, stays, strict=True)
        return np.array([merges_of(stay * self.blocks_of(each)) for each, stay in times])

    def blocks_of(self, inputs: Inputs) -> float:
        """In how many blocks a second results of joining these come: with those of theirs that have
        a result, if results fall on blocks by chance."""
        blocks = self._blocks_below(inputs)
        if not blocks or inputs.bit_count() == 1:
            return blocks
        return -blocks * math.expm1(-self.rate(inputs) / blocks)

    def _blocks_below(self, inputs: Inputs) -> float:
        return sum(self.blocks[each] for each in members(inputs)) if self.blocks else 0.0

    def copies(self, inputs: Sequence[Inputs]) -> list[int]:
        """How often a wide operator stores rows of each input: once for each set of keys by which
        others ask it."""
        place = {each: n for n, of in enumerate(inputs) for each in members(of)}
        asked: list[dict[int, set[object]]] = [{} for _ in inputs]
        for pair in self.keyed:
            ends = [place[each] for each in pair if each in place]
            if len({*ends}) == 2:
                for one, other in (ends, ends[::-1]):
                    asked[one].setdefault(other, set()).add(self._class_of(pair) or pair)
        return [max(1, len({*map(frozenset, each.values())})) for each in asked]

    def _class_of(self, pair: tuple[int, int]) -> Inputs | None:
        both = 1 << pair[0] | 1 << pair[1]
        return next((each for each in self.classes if each & both == both), None)

    def width(self, inputs: Inputs) -> float:
        """Bytes of a result of joining these: of two keys that are equal one is read further on."""
        if not self.widths:
            return 1.0
        own = members(inputs)
        inside = sum(inputs >> i & inputs >> j & 1 for i, j in self.keyed)
        dropped = KEY_BYTES * min(inside, len(own) - 1)
        return max(KEY_BYTES, sum(self.widths[each] for each in own) - dropped)

    def stored_width(self, inputs: Inputs) -> float:
        """What a stored one takes."""
        return self.width(inputs) + OVERHEAD if self.widths else 1.0


def _finite(figures: Iterable[Any]) -> tuple[float, ...]:
    found = tuple(map(float, figures))
    if not all(map(math.isfinite, found)):
        raise ValueError(f"not all of these are figures: {found}")
    return found
