"""What Spark computes on the rows that a query puts out, on their way to the sink.

A call that comes from no stream (`computed_columns.py`), over results of aggregates or columns of
both sides of a join, can be computed behind all operators, if nothing stands behind it but
projections and filters. Then these are taken off the plan:

    Project sha2(text, 256) AS h, n         columns    spark_… AS h, n
      Select n > 3 AND soundex(text) = 'X'  condition  spark_… = 'X'
        WindowAggregate …                   computed   spark_… = sha2(text, 256), spark_… = …

                                            Select n > 3
                                              WindowAggregate …

What the kernel knows of these expressions it still computes itself, before or behind Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.errors import NotExecutable
from penstock.model.computed_column import ComputedColumn
from penstock.model.expressions import (
    Expression,
    Literal,
    Named,
    Ref,
    SparkCall,
    conjunction,
    conjuncts,
    substituted,
)
from penstock.model.spark_sql import spark_sql
from penstock.plan.computed_columns import calls_in, outermost, with_computed_columns
from penstock.plan.graph import walk
from penstock.plan.nodes import MatchRecognize, Node, Ordered, Project, Select, Sequence


@dataclass(frozen=True)
class OnResults:
    """What becomes of result rows: Spark adds columns, then the kernel filters and selects."""

    computed: tuple[ComputedColumn, ...]
    condition: Expression | None
    columns: tuple[Named, ...]

    def lines(self) -> list[str]:
        """As EXPLAIN says it."""
        return [str(each) for each in self.computed]


def split_results(plan: Node) -> tuple[Node, OnResults | None]:
    """The plan that the kernel computes, and what is left to do on its rows; None: nothing.

    NotExecutable if some call can be computed neither before nor behind the kernel.
    """
    if not _has_calls(plan):
        return plan, None
    base, columns, conditions = _taken_off(plan)
    if any(_has_calls_itself(node) for node in walk(base)):
        found = with_computed_columns(plan, through_keys=True)
        if found != plan:
            return split_results(found)
        node, call = next((node, call) for node in walk(base) for call in calls_in(node))
        raise _no_place(node, call)
    return _apart(base, columns, conditions, plan)


def _no_place(node: Node, call: SparkCall) -> NotExecutable:
    clauses = {MatchRecognize: "MATCH_RECOGNIZE", Sequence: "SEQ"}
    if type(node) in clauses:
        clause = clauses[type(node)]
        return NotExecutable(
            f"Spark cannot compute `{call}` inside {clause}, which is the kernel's",
            hint="have it as a column of what is read there: CREATE VIEW v AS SELECT *, f(x) AS c "
            "FROM stream; or use it in SELECT, over columns of the result",
        )
    return NotExecutable(
        f"Spark cannot compute `{call}` here: its columns do not come from one stream, and "
        "the kernel uses it before results leave",
        hint="write the inner query INTO files, and read these as a stream; or use the "
        "function where a stream is read, or in the outermost SELECT or HAVING",
    )


def _has_calls(plan: Node) -> bool:
    return any(map(_has_calls_itself, walk(plan)))


def _has_calls_itself(node: Node) -> bool:
    return next(calls_in(node), None) is not None


def _taken_off(plan: Node) -> tuple[Node, tuple[Named, ...], list[Expression]]:
    """What lies below the projections and filters on top, and these over its columns.

    Only as far down as there are calls in them.
    """
    chain: list[Node] = []
    node = plan.input if isinstance(plan, Ordered) else plan
    while isinstance(node, (Project, Select)):
        chain.append(node)
        node = node.input
    while chain and not _has_calls_itself(chain[-1]):
        node = chain.pop()
    columns = {c.name: Ref(c.name, c.type) for c in node.schema}
    values: dict[str, Expression] = dict(columns)
    conditions: list[Expression] = []
    for each in reversed(chain):
        if isinstance(each, Select):
            conditions += conjuncts(_over(each.predicate, values))
        elif isinstance(each, Project):
            values = {c.name: _over(c.value, values) for c in each.columns}
    return node, tuple(Named(name, value) for name, value in values.items()), conditions


def _apart(
    base: Node, columns: tuple[Named, ...], conditions: list[Expression], plan: Node
) -> tuple[Node, OnResults]:
    early = conjunction(c for c in conditions if not any(outermost(c)))
    late = conjunction(c for c in conditions if any(outermost(c)))
    calls = dict.fromkeys(
        call for each in (*columns, *([] if late is None else [late])) for call in outermost(each)
    )
    helpers: dict[Expression, str] = {}
    computed: dict[Expression, ComputedColumn] = {}
    for call in calls:
        for arg in call.args:
            if not isinstance(arg, Ref | Literal) and not any(outermost(arg)):
                helpers.setdefault(arg, f"input_{len(helpers) + 1}")
        own = substituted(call, lambda p: Ref(helpers[p], p.type) if p in helpers else p)
        computed[call] = ComputedColumn.of(spark_sql(own), call.of, call.zone)

    def known(part: Expression) -> Expression:
        found = computed.get(part)
        return part if found is None else Ref(found.name, found.type)

    after = OnResults(
        tuple({each.name: each for each in computed.values()}.values()),
        None if late is None else substituted(late, known),
        tuple(Named(c.name, substituted(c.value, known)) for c in columns),
    )
    node = base if early is None else Select(base, early)
    node = _needed(node, after, calls, helpers)
    if isinstance(plan, Ordered):
        [on] = [column.value for column in columns if column.name == plan.on]
        if not isinstance(on, Ref):
            raise NotExecutable(
                f"results with columns that Spark computes cannot be ordered by `{plan.on}`, which "
                "is computed, too",
                hint="order by the end of the window, or by a column as it is",
            )
        node = Ordered(node, on.name)
    return node, after


def _needed(
    node: Node, after: OnResults, calls: Iterable[SparkCall], helpers: dict[Expression, str]
) -> Node:
    """The node with the columns that are needed behind it, and what tells of its progress."""
    used = set(node.schema.progressing).union(
        *(call.refs for call in calls),
        *(column.refs for column in after.columns),
        () if after.condition is None else after.condition.refs,
    )
    kept = [Named(c.name, Ref(c.name, c.type)) for c in node.schema if c.name in used]
    return Project(node, (*kept, *(Named(name, arg) for arg, name in helpers.items())))


def _over(expression: Expression, values: dict[str, Expression]) -> Expression:
    return substituted(
        expression, lambda part: values[part.name] if isinstance(part, Ref) else part
    )


def without_results(queries: Mapping[str, Node]) -> tuple[dict[str, Node], dict[str, OnResults]]:
    """Queries as the kernel computes them, and by name what is left to do on their rows."""
    found = {name: split_results(plan) for name, plan in queries.items()}
    after = {name: each for name, (_, each) in found.items() if each is not None}
    return {name: plan for name, (plan, _) in found.items()}, after
