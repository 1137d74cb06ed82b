"""Promises about single keys of a join: what one input says of a key holds for its partners.

Rows that join have equal keys. So a promise about the rows of some key on one input tells when
stored rows *of that key* on the other can be forgotten, and what results of that key can still
come. A pattern that names anything but keys says nothing about a partner, and is left out.

Promises are kept by *key pattern*: the place of the equality instead of a column of either side, as
JSON, so that both sides speak of the same thing.  Spec: window-queries 1.2 (group-wise linear).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from penstock.kernel.joins.spec import JoinSpec
from penstock.model.punctuation import Where, from_json, to_json


class KeyPatterns:
    """Translates patterns between the columns of both sides."""

    def __init__(self, spec: JoinSpec) -> None:
        left, right = spec.keys
        self._columns: tuple[dict[int, str], dict[int, str]] = ({}, {})  # in the join's words
        self._places: tuple[dict[str, int], dict[str, int]] = ({}, {})  # as rows come
        for place, names in enumerate(spec.equalities):
            if left[place].type is not right[place].type:
                continue  # a value of one side need not be one of the other
            for side in (0, 1):
                self._places[side].setdefault(names[side], place)
                self._columns[side][place] = spec.sides[side].column(names[side])

    def key(self, side: int, where: Where) -> str | None:
        """The key pattern of a pattern over a side's columns; None: it is about something else."""
        places = self._places[side]
        if any(name not in places for name, _ in where):
            return None
        return json.dumps(sorted([places[name], pattern] for name, pattern in to_json(where)))

    def where(self, side: int, key: str) -> Where:
        """A key pattern over a side's columns, as the join calls them."""
        columns = self._columns[side]
        return from_json((columns[place], pattern) for place, pattern in json.loads(key))

    def promises(self, side: int, bounds: Mapping[str, int]) -> Iterator[tuple[Where, int]]:
        for key, bound in bounds.items():
            yield self.where(side, key), bound
