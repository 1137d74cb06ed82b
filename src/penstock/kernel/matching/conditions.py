"""Conditions of variables: what holds of rows whatever the match, and what depends on it.

A condition is cut at its ANDs. Parts that speak of a row and those before it in its partition are
computed for all rows at once; each row then has a *mask*, with a bit for every variable that it can
be of as far as these parts say. The others are asked when a row is tried (`threads`).
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.expressions import compile_expression, project
from penstock.kernel.matching.automaton import Automaton
from penstock.kernel.matching.lazy_dfa import Ints
from penstock.kernel.matching.sorted_rows import SortedRows
from penstock.model.expressions import Expression, Ref, conjunction, conjuncts
from penstock.model.match import (
    MatchDefinition,
    Navigation,
    is_of_rows,
    leaves,
    replaced,
)


class VariableConditions:
    """The conditions of a match by the numbers of its variables."""

    def __init__(self, match: MatchDefinition) -> None:
        defined = dict(match.define)
        parts = [[*conjuncts(defined[v])] if v in defined else [] for v in match.variables]
        self._earlier: dict[Navigation, str] = {}
        self._of_rows = [conjunction(filter(is_of_rows, of)) for of in parts]
        self._compiled = [
            None if each is None else compile_expression(replaced(each, self._column))
            for each in self._of_rows
        ]
        #: What depends on the match; None: nothing does.
        self.dependent = [conjunction(e for e in of if not is_of_rows(e)) for of in parts]

    @property
    def depend_on_match(self) -> bool:
        return any(each is not None for each in self.dependent)

    @property
    def rows_back(self) -> int:
        """How many rows before a row are looked at for its mask."""
        return max((leaf.back for leaf in self._earlier), default=0)

    def _column(self, leaf: Expression) -> Expression:
        """What a row has itself, or a column with what an earlier one has."""
        assert isinstance(leaf, Navigation)
        if not leaf.back:
            return leaf.value
        return Ref(self._earlier.setdefault(leaf, f"__earlier{len(self._earlier)}"), leaf.type)

    def masks(self, rows: SortedRows) -> Ints:
        """The variables that each row can be of, as bits."""
        frame = rows.rows
        if self._earlier:
            ranks = pl.Series("__rank", rows.ranks)
            frame = frame.with_columns(ranks).with_columns(
                earlier(leaf.value, leaf.back).alias(name) for leaf, name in self._earlier.items()
            )
        whole = pl.lit(0, dtype=pl.Int64)
        for number, condition in enumerate(self._compiled):
            bit = pl.lit(1 << number, dtype=pl.Int64)
            if condition is not None:
                bit = pl.when(condition.fill_null(False)).then(bit).otherwise(0)
            whole = whole | bit
        return project(frame, [whole.alias("__mask")]).to_series().to_numpy()


def earlier(value: Expression, back: int) -> pl.Expr:
    """A value of so many rows before, where the partition has them; needs the column `__rank`."""
    return pl.when(pl.col("__rank") >= back).then(compile_expression(value).shift(back))


def rows_looked_back(match: MatchDefinition, automaton: Automaton) -> int:
    """How many rows before the first of a match may be asked for.

    A variable that cannot be the first row of a match need not look so far.
    """
    depth = dict.fromkeys(match.variables, len(automaton.of))
    for place, rows in enumerate(automaton.depths):
        variable = automaton.variables[automaton.of[place]]
        depth[variable] = min(depth[variable], rows)
    least = match.pattern.least_rows - 1
    far = [0]
    for variable, condition in match.define:
        far += (_back(leaf, depth[variable]) for leaf in leaves(condition))
    far += (_back(leaf, least) for measure in match.measures for leaf in leaves(measure))
    return max(far)


def _back(leaf: Expression, depth: int) -> int:
    """How far before the match a leaf looks that is asked of a row with so many before it."""
    if not isinstance(leaf, Navigation) or not leaf.back:
        return 0
    return max(0, leaf.back - depth) if leaf.is_of_current_row else leaf.back
