"""How far apart in time the partners of a join can lie.

`find_pairing` asks the four ways in which a query can say it, in the order that `bind_join` lists.
Where the left side is itself a join, the new input must be near every row in it: one pair of
timestamps becomes the band, which bounds the state, and the others become conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from penstock.errors import CannotJoin, NotExecutable
from penstock.model.distances import Distance, bound_of
from penstock.model.distances import within as within_
from penstock.model.expressions import Call, Expression
from penstock.model.schema import ROW_NUM
from penstock.plan.row_windows import numbered_by
from penstock.sql.bind.context import Context
from penstock.sql.bind.from_ import Input
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.bind.window.window import attribute_of, check_unit, default_attribute
from penstock.sql.parse.durations import resolve_length
from penstock.sql.parse.syntax import AnyLength, Length, WindowClause
from penstock.windows import Band, JoinBand, TumblingBand, sliding_band

_WAY_OUT = (
    "write a [RANGE 3 MINUTES], b [RANGE 2 MINUTES], or JOIN b ON … WITHIN 5 SECONDS, "
    "or a condition on both timestamps"
)
_UNRELATED = (
    "streams number their rows independently of each other, so equal numbers do not mean that rows "
    "came together"
)
_IN_TIME = "say how far apart in time they may be: FROM a JOIN b ON a.key = b.key WITHIN 1 MINUTE"


@dataclass(frozen=True)
class TimePairing:
    """A band on two timestamps, the conditions it stands for, and those it adds."""

    on: tuple[str, str]
    band: JoinBand
    used: tuple[Expression, ...] = ()
    residual: tuple[Expression, ...] = ()


def find_pairing(
    left: Sequence[Input],
    right: Input,
    both: Scope,
    conditions: list[Expression],
    within: AnyLength | None,
    inputs: list[Input],
    absent: frozenset[str],
    context: Context,
) -> TimePairing:
    """The band between what is joined already and the next input.

    `absent` are the inputs of which there may be no row: outer joins leave NULL in their place.
    """
    finder = _Finder(left, right, both, absent, context)
    windowed = [input_ for input_ in inputs if input_.clause is not None]
    if within is not None:
        if windowed:
            _refuse("the join has both WITHIN and a window", windowed[0], context, "keep one")
        return finder.within(within)
    if any(input_.clause.tumbling for input_ in windowed if input_.clause):
        return finder.tumbling(inputs)
    if right.clause is not None or any(input_.clause for input_ in left):
        return finder.sliding()
    return finder.from_conditions(conditions)


@dataclass(frozen=True)
class _Finder:
    left: Sequence[Input]
    right: Input
    both: Scope
    absent: frozenset[str]
    context: Context

    def within(self, length: AnyLength) -> TimePairing:
        distance = resolve_length(length, self.context)
        with self.context.located(distance.span):
            band = sliding_band(distance.value, distance.value)
            *ends, mine = (
                default_attribute(distance.unit, input_.scope, self.context, within=True)
                for input_ in (*self.left, self.right)
            )
            for input_, field in zip((*self.left, self.right), (*ends, mine), strict=True):
                _refuse_row_count(field, input_)
        return self._pairing([(end, band) for end in ends], mine)

    def sliding(self) -> TimePairing:
        """RANGE on both sides: how long a row of its own side stays joinable."""
        if self.right.clause is None:
            self._lonely(self.right)
        mine, length = self._range(self.right)
        bands = []
        for input_ in self.left:
            if input_.clause is not None:
                field, theirs = self._range(input_)
                with self.context.located(input_.clause.span):
                    bands.append((field, sliding_band(theirs.value, length.value)))
        if not bands:
            self._lonely(self.left[-1])
        return self._pairing(bands, mine)

    def tumbling(self, inputs: list[Input]) -> TimePairing:
        """One bracket for all inputs, written behind the last."""
        clause = inputs[-1].clause
        for other in inputs[:-1]:
            if other.clause is not None:
                _refuse(
                    "a tumbling join has one window for all inputs",
                    other,
                    self.context,
                    "write it once, after the last input",
                )
        ends = [self._range(input_, clause)[0] for input_ in self.left]
        mine, width = self._range(self.right, clause)
        with self.context.located(width.span):
            band = TumblingBand(width.value, origin=1 if mine.name == ROW_NUM else 0)
        # To lie in one window with the first is to lie in one with all.
        return self._pairing([(ends[0], band)], mine)

    def from_conditions(self, conditions: list[Expression]) -> TimePairing:
        """Bounds that ON and WHERE put on the distance of two timestamps."""
        mine = {f.column for f in self.both.fields if self._is_right(f) and f.progresses}
        theirs = {f.column for f in self.both.fields if not self._is_right(f) and f.progresses}
        found: dict[tuple[str, str], Distance] = {}
        used: dict[tuple[str, str], list[Expression]] = {}
        unrelated: tuple[str, str] | None = None
        for condition in conditions:
            bound = bound_of(condition)
            if bound is not None and bound.first in mine:
                bound = bound.mirrored()
            if bound is None or bound.first not in theirs or bound.second not in mine:
                continue
            key = (bound.first, bound.second)
            if self._is_of_other_rows(*key):
                unrelated = key
                continue
            found[key] = found[key].narrowed(bound) if key in found else bound
            used.setdefault(key, []).append(condition)
        for key, bound in found.items():
            if bound.low is not None and bound.high is not None:
                return TimePairing(key, Band(bound.low, bound.high), tuple(used[key]))
        names = " and ".join(f"`{input_.name}`" for input_ in (*self.left, self.right))
        if unrelated is not None:
            raise CannotJoin(
                f"cannot join {names} by `{unrelated[0]}` and `{unrelated[1]}`: {_UNRELATED}",
                hint=_IN_TIME,
            )
        if found:
            (first, second), bound = next(iter(found.items()))
            missing = "later" if bound.high is None else "earlier"
            raise CannotJoin(
                f"cannot join {names}: nothing bounds how much {missing} than `{first}` `{second}` "
                "can be, so rows would have to be stored for ever",
                hint="bound it on both sides: a.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts",
            )
        raise CannotJoin(
            f"cannot join {names}: nothing bounds how far apart in time partners can be, so rows "
            "would have to be stored for ever",
            hint=_WAY_OUT,
        )

    def _is_of_other_rows(self, left: str, right: str) -> bool:
        """Whether a column is the number of a row, and the other not one of the same stream's."""
        sides = []
        for column in (left, right):
            [field] = (field for field in self.both.fields if field.column == column)
            [of] = (i for i in (*self.left, self.right) if i.name == field.qualifier)
            sides.append(set(numbered_by(of.node, of.scope.resolve(field.name).column)))
        return sides[0] != sides[1]

    def _is_right(self, field: Field) -> bool:
        return field.qualifier == self.right.name

    def _pairing(self, bands: Sequence[tuple[Field, JoinBand]], mine: Field) -> TimePairing:
        """The first pair as the band, the others as conditions."""
        right = self.both.resolve(mine.name, mine.qualifier)
        lefts = [self.both.resolve(field.name, field.qualifier) for field, _ in bands]
        for left in lefts:
            if left.type.is_time != right.type.is_time:
                raise CannotJoin(
                    f"cannot join on `{left}` ({left.type}) and `{right}` ({right.type})",
                    hint="the windows of both inputs must be on columns of the same kind",
                )
        residual = [
            condition
            for left, (_, band) in zip(lefts[1:], bands[1:], strict=True)
            for condition in _conditions(left, right, band, left.qualifier in self.absent)
        ]
        return TimePairing((lefts[0].column, right.column), bands[0][1], residual=tuple(residual))

    def _range(self, input_: Input, clause: WindowClause | None = None) -> tuple[Field, Length]:
        """The attribute and length of an input's window, which may stand behind another input."""
        clause = clause or input_.clause
        assert clause is not None
        with self.context.located(clause.span):
            return _range_of(clause, input_, self.context)

    def _lonely(self, input_: Input) -> NoReturn:
        _refuse(
            f"cannot join: `{input_.name}` has no RANGE, and the other side has one",
            input_,
            self.context,
            "RANGE says how long a row of its own side stays joinable: give one to each",
        )


def _range_of(clause: WindowClause, input_: Input, context: Context) -> tuple[Field, Length]:
    if clause.range is None or clause.slide or clause.sattr or clause.partition:
        raise CannotJoin(
            "the window of a join takes only RANGE and WA",
            hint="such as [RANGE 3 MINUTES, WA ts]",
        )
    length = resolve_length(clause.range, context)
    field = attribute_of(clause, length.unit, input_.scope, context)
    check_unit(length, field, context)
    _refuse_row_count(field, input_)
    return field, length


def _refuse_row_count(field: Field, input_: Input) -> None:
    """Refuse a window of a join that counts rows."""
    if any(numbered_by(input_.node, field.column)):
        raise NotExecutable(
            f"a window of a join cannot count rows, as `{field}` does: {_UNRELATED}",
            hint=_IN_TIME,
        )


def _conditions(left: Field, right: Field, band: JoinBand, absent: bool) -> list[Expression]:
    """`low <= right - left <= high` as conditions; a row that is not there is near everything."""
    assert isinstance(band, Band)
    conditions = within_(left.ref, right.ref, band.low, band.high)
    if not absent:
        return list(conditions)
    return [Call("or", (Call("is_null", (left.ref,)), each)) for each in conditions]


def _refuse(message: str, input_: Input, context: Context, hint: str) -> NoReturn:
    place = input_.clause.span if input_.clause else input_.place
    raise CannotJoin(message, position=context.position(place), hint=hint)
