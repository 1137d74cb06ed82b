"""Aggregate rows before they are joined, and what the join finds once more.

    WindowAggregate sum(bv) AS s by ak         WindowAggregate sum(sum(v)) AS s by ak
      Project a.k AS ak, a.ts AS t, b.v AS bv    Project a.k AS ak, a.ts AS t, b.sum(v) AS sum(v)
        Join a, b in the same minute               Join a, b in the same minute
          Source a                                   Source a
          Source b                                   Project k, sum(v), window_start AS ts
                                                       WindowAggregate sum(v) by k [RANGE 1 MINUTE]
                                                         Source b

Rows of `b` that agree in all that the join and the groups look at have the same partners, if these
do not depend on when in the window a row lies: so only joins of rows in the same window qualify,
whose aggregates below have no row in common. Then a join stores one row for each group and window,
and finds as many pairs fewer; but it finds them when the window has ended. With `SET group_by =
below`. Counts, sums, least and greatest values can be put together of those of parts.
Spec: dynamic-optimization 3.6, 8.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Expression, Named, Ref, substituted
from penstock.model.joins import JoinKind, qualified
from penstock.model.schema import ROW_NUM, WINDOW_START
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Queries
from penstock.plan import nodes
from penstock.plan.graph import fold
from penstock.plan.nodes.aggregate import Result
from penstock.windows import Sliding, TumblingBand

BELOW = "below"
#: By function, the one that makes one of parts.
OF_PARTS = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}
#: What the multiplicity of a row does not change.
_EXTREMES = ("min", "max")


def group_below_join(queries: Queries, options: Options) -> Queries:
    """The queries with aggregates below joins of rows in the same window, if that is asked for."""
    if options.group_by != BELOW:
        return queries

    def rebuilt(node: nodes.Node, children: tuple[nodes.Node, ...]) -> nodes.Node:
        node = node.with_children(children)
        grouped = _grouped(node) if isinstance(node, nodes.WindowAggregate) else None
        return grouped or node

    return {name: fold(query, rebuilt) for name, query in queries.items()}


def _grouped(node: nodes.WindowAggregate) -> nodes.Node | None:
    """An aggregate over a join of aggregates; None: that would give something else."""
    asked = _asked(node)
    if asked is None:
        return None
    number = asked.input_to_group()
    return None if number is None else asked.over(number)


@dataclass(frozen=True)
class _Asked:
    """An aggregate over the columns of a join; `columns`: by name, what the join calls them."""

    node: nodes.WindowAggregate
    join: nodes.Join
    columns: Mapping[str, Expression]

    def input_to_group(self) -> int | None:
        """The input whose rows can be aggregated before they are joined; None: there is none."""
        all_of_them = [each.aggregate for each in self.node.results]
        counts = [each for each in all_of_them if each.function not in _EXTREMES]
        owners = {
            self._owner(self._name(each.argument))
            for each in counts or all_of_them
            if each.argument is not None
        }
        # Of an input whose time decides on the window of the result, times have to stay.
        timed = self._owner(self._name_of(self.node.window.on))
        if not self._qualifies() or (counts and (len(owners) > 1 or timed in owners)):
            return None
        inputs = owners if owners else range(len(self.join.inputs))
        return max((each for each in inputs if each != timed), default=None)

    def _qualifies(self) -> bool:
        """Whether rows meet in windows, and nothing else is asked of when they came."""
        bands = {edge.band for edge in self.join.edges}
        arguments = _all(result.aggregate.refs for result in self.node.results)
        looked_at = self._looked_at().union(map(self._name_of, arguments))
        only = len(bands) == 1 and all(isinstance(band, TumblingBand) for band in bands)
        return only and looked_at.isdisjoint(self.join.times) and ROW_NUM not in self.join.on

    def over(self, number: int) -> nodes.Node:
        """The same results of groups of one input's rows."""
        join, name = self.join, self.join.names[number]
        parts: dict[str, Aggregate] = {}
        above: list[Result] = []
        passed: dict[str, Expression] = {}
        for result in self.node.results:
            part = self._part(number, result.aggregate)
            if part is None:  # an extreme of another input's, however many rows it meets
                above.append(result)
                for column in result.aggregate.refs:
                    passed[column] = self.columns[column]
                continue
            called = str(part)
            parts[called] = part
            of_parts = Aggregate(OF_PARTS[part.function], Ref(called, part.type))
            above.append(replace(result, aggregate=of_parts))
            passed[called] = Ref(qualified(name, called), part.type)
        inputs = list(join.inputs)
        inputs[number] = self._groups(number, parts)
        kept = {each: self.columns[each] for each in (*self.node.groups, self.node.window.on)}
        columns = (Named(each, value) for each, value in {**kept, **passed}.items())
        joined = replace(join, inputs=tuple(inputs), orders=())
        project = nodes.Project(joined, tuple(columns))
        return replace(self.node, input=project, results=tuple(above))

    def _part(self, number: int, aggregate: Aggregate) -> Aggregate | None:
        """What is computed of it from one input's rows; None: nothing."""
        if aggregate.argument is None:
            return aggregate
        owner, own = self.join.origin(self._name(aggregate.argument))
        if owner != number:
            return None
        return replace(aggregate, argument=Ref(own, aggregate.argument.type))

    def _groups(self, number: int, parts: Mapping[str, Aggregate]) -> nodes.Node:
        """One input's rows as one for each window and all that others look at."""
        join, on, band = self.join, self.join.on[number], self.join.edges[0].band
        assert isinstance(band, TumblingBand)
        looked_at = {join.origin(column) for column in self._looked_at()}
        names = join.inputs[number].schema.names
        groups = tuple(each for each in names if nodes.ChildColumn(number, each) in looked_at)
        results = tuple(Result(called, part) for called, part in parts.items())
        window = Sliding(on, band.width, band.width, band.origin)
        grouped = nodes.WindowAggregate(join.inputs[number], window, groups, results)
        of = grouped.schema
        columns = [Named(each, Ref(each, of[each].type)) for each in (*groups, *parts)]
        columns.append(Named(on, Ref(WINDOW_START, of[WINDOW_START].type)))
        return nodes.Project(grouped, tuple(columns))

    def _looked_at(self) -> set[str]:
        """The columns that decide which rows meet, and to which group they belong."""
        conditions = (each.refs for each in self.join.conditions)
        groups = map(self._name_of, self.node.groups)
        return {*groups, *_all(conditions), *_all(self.join.equalities)}

    # -- columns ------------------------------------------------------------------------------

    def _name(self, argument: Expression | None) -> str:
        assert isinstance(argument, Ref)
        return self._name_of(argument.name)

    def _name_of(self, column: str) -> str:
        found = self.columns[column]
        assert isinstance(found, Ref)
        return found.name

    def _owner(self, column: str) -> int:
        return self.join.origin(column).child


def _asked(node: nodes.WindowAggregate) -> _Asked | None:
    """What an aggregate asks of a join; None: of none, or more than its columns."""
    if not isinstance(node.window, Sliding) or node.window.unit != "time":
        return None
    if node.emit is not None or node.has_several_windows:
        return None
    if not all(_can_be_put_together(each.aggregate) for each in node.results):
        return None
    columns: dict[str, Expression] = {
        each: Ref(each, node.input.schema[each].type) for each in node.input.schema.names
    }
    below = node.input
    while isinstance(below, nodes.Project):
        columns = _in_terms_of({each.name: each.value for each in below.columns}, columns)
        below = below.input
    is_join = isinstance(below, nodes.Join) and below.kind is JoinKind.INNER
    read = node.reads(frozenset())[0]
    if not is_join or not all(isinstance(columns[each], Ref) for each in read):
        return None
    assert isinstance(below, nodes.Join)
    return _Asked(node, below, columns)


def _in_terms_of(
    values: Mapping[str, Expression], columns: Mapping[str, Expression]
) -> dict[str, Expression]:
    """Columns over what columns of theirs are computed from."""

    def value(part: Expression) -> Expression:
        return values[part.name] if isinstance(part, Ref) else part

    return {name: substituted(each, value) for name, each in columns.items()}


def _can_be_put_together(aggregate: Aggregate) -> bool:
    """Whether the aggregate of all is one of those of parts, of the same type."""
    of = aggregate.function in OF_PARTS and aggregate.user is None and not aggregate.others
    if not of or aggregate.by is not None or aggregate.parameters:
        return False
    if not isinstance(aggregate.argument, Ref | None):
        return False
    parts = Aggregate(OF_PARTS[aggregate.function], Ref("part", aggregate.type))
    return parts.type is aggregate.type


def _all(columns: Iterable[Iterable[str]]) -> set[str]:
    return {column for each in columns for column in each}
