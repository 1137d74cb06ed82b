"""Which queries Spark can compute by itself, and the DataFrame that does.

A query qualifies if it is one sliding or tumbling aggregate over event time, with selections and
projections below and above it. For tumbling windows Spark's own aggregation is as good as any:
there is no row to copy into several windows. Sliding ones are put together from panes (`sliding`).

What stays ours is progress (`watermark`), and reading files (`folding`).

Spark counts in milliseconds, so times of windows and slack must be whole ones. And of rows that it
reads itself it judges lateness by windows: one below the bound is still taken in while its window
is open. So only streams that are folded run here unless that is asked for (`choice`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import PenstockBug
from penstock.model.expressions import Expression
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import MILLISECOND
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.plan.graph import below, walk
from penstock.spark.native import expressions, sliding
from penstock.spark.native.times import TIME
from penstock.spark.sources.sources import in_ticks
from penstock.windows import Sliding

#: Types that leave a query as they are, or as ticks.
_SHOWN = frozenset(Type) - {Type.INTERVAL, Type.NULL, Type.BINARY, Type.TIMESTAMP_NTZ}


def objection(plan: nodes.Node) -> str | None:
    """Why a query cannot run as Spark SQL alone; None: it can."""
    aggregates = [node for node in walk(plan) if isinstance(node, nodes.WindowAggregate)]
    if len(aggregates) != 1:
        return "only a query with one window aggregate runs as Spark SQL alone"
    for column in plan.schema:
        if column.type not in _SHOWN:
            return f"`{column.name}` is {column.type}, which only the kernel can output"
    found = next(filter(None, map(_objection_to, walk(plan))), None)
    [node] = aggregates
    if found is None and not _is_event_time(node.input, node.window.on):
        return f"`{node.window.on}` is not the time its streams are declared with"
    return found


def slides(plan: nodes.Node) -> bool:
    """Whether its windows overlap, of a plan that has no objection."""
    window = aggregate_of(plan).window
    return isinstance(window, Sliding) and not window.is_tumbling


def _objection_to(node: nodes.Node) -> str | None:
    match node:
        case nodes.Source():
            return _objection_to_stream(node.stream)
        case nodes.Select():
            return _objection_to_terms(node.predicate)
        case nodes.Project():
            return _objection_to_terms(*(c.value for c in node.columns))
        case nodes.Union():
            return None
        case nodes.WindowAggregate():
            return _objection_to_aggregate(node)
        case nodes.Explode():
            return "arrays and maps are exploded in the kernel"
        case nodes.Numbered():
            return "rows are numbered in the kernel"
        case nodes.Ordered():
            return "ORDER BY runs in the kernel"
        case nodes.MatchRecognize():
            return "MATCH_RECOGNIZE runs in the kernel"
        case nodes.Join() | nodes.TableJoin():
            return "joins run in the kernel"
        case nodes.Sequence():
            return "sequences run in the kernel"
    raise nodes.unknown(node)


def _objection_to_stream(stream: Stream) -> str | None:
    if stream.kind is not TimestampKind.EXTERNAL or stream.timestamp is None:
        return f"`{stream.name}` has no event time"
    if stream.further:
        return f"`{stream.name}` has several time columns, and Spark SQL has one watermark"
    if stream.schema[stream.timestamp].type is not Type.TIMESTAMP:
        return f"the time of `{stream.name}` is not a TIMESTAMP"
    if stream.slack is None or stream.slack % MILLISECOND:
        return f"the slack of `{stream.name}` is not a number of milliseconds"
    if stream.timing.max_ahead is not None:
        return f"the kernel rejects rows of `{stream.name}` from the future; Spark SQL would not"
    return None


def _objection_to_terms(*terms: Expression) -> str | None:
    if any(ROW_NUM in term.refs for term in terms):
        return "rows are numbered in the kernel"
    return next((found for term in terms if (found := expressions.objection(term))), None)


def _objection_to_aggregate(node: nodes.WindowAggregate) -> str | None:
    window = node.window
    if node.has_several_windows:
        return "several windows in one query run in the kernel"
    if node.emit is not None:
        return f"{node.emit} runs in the kernel: Spark SQL does not mark revisions"
    if not isinstance(window, Sliding) or window.unit != "time":
        return f"{window} is computed in the kernel: Spark would copy or store every row"
    if window.slide > window.range:
        return f"{window} has gaps between windows, which Spark SQL cannot"
    if sliding.pane_length(window) % MILLISECOND:
        return f"{window} is finer than Spark's milliseconds"
    for result in node.results:
        aggregate = result.aggregate
        form = None if aggregate.user else aggregate.definition.native
        if form is None:
            return f"`{aggregate.function}` is computed in the kernel"
        if aggregate.argument is not None and aggregate.argument.type not in form.of:
            given = aggregate.argument.type
            return (
                f"`{aggregate}` is computed in the kernel: Spark's function does not take {given}"
            )
        if not window.is_tumbling and not form.in_parts:
            return f"`{aggregate.function}` of sliding windows is computed in the kernel"
        if aggregate.argument is not None:
            found = _objection_to_terms(aggregate.argument)
            if found is not None:
                return found
    return None


def _is_event_time(node: nodes.Node, name: str) -> bool:
    """Whether a column is, in every stream below, the one that its bounds are about."""
    if isinstance(node, nodes.Source):
        return node.stream.timestamp == name
    found = below(node, name)
    return bool(found) and all(_is_event_time(*each) for each in found)


def aggregate_of(plan: nodes.Node) -> nodes.WindowAggregate:
    """The one aggregate of a plan that has no objection."""
    return next(node for node in walk(plan) if isinstance(node, nodes.WindowAggregate))


def lowered(plan: nodes.Node, aggregated: DataFrame) -> DataFrame:
    """What is above the aggregate, over its results; times come out as ticks."""
    frame = _lowered(plan, {aggregate_of(plan): aggregated})
    return frame.select(*map(in_ticks, plan.schema))


def aggregated_rows(node: nodes.WindowAggregate, streams: Mapping[str, DataFrame]) -> DataFrame:
    """The aggregate, with what is below it, over streams that `punctuated` has prepared."""
    sources = [each for each in walk(node) if isinstance(each, nodes.Source)]
    known: dict[nodes.Node, DataFrame] = {each: streams[each.stream.name] for each in sources}
    return sliding.aggregated(node, _lowered(node.input, known, TIME), folded=False)


def _lowered(node: nodes.Node, known: Mapping[nodes.Node, DataFrame], *time: str) -> DataFrame:
    """A node over the frames that are known; `time` names the column that Spark watches there."""
    if node in known:
        return known[node]
    match node:
        case nodes.Select():
            condition = expressions.column(node.predicate)
            for each in time:
                # It looks at the time as well, or Spark would filter before it has seen how far the
                # stream has come, and throw out punctuation.
                condition |= F.col(each) < F.timestamp_micros(F.lit(0))
            return _lowered(node.input, known, *time).where(condition)
        case nodes.Project():
            columns = map(expressions.column, node.columns)
            return _lowered(node.input, known, *time).select(*columns, *time)
        case nodes.Union():
            return reduce(DataFrame.union, (_part(node, part, known) for part in node.parts))
    raise PenstockBug(f"{type(node).__name__} was let through")


def _part(union: nodes.Union, part: nodes.Node, known: Mapping[nodes.Node, DataFrame]) -> DataFrame:
    columns = []
    for mine, *others in zip(union.schema, *(p.schema for p in union.parts), strict=True):
        if any(other.name == ROW_NUM for other in others):
            continue  # rows have no numbers here, and nobody looks at them
        theirs = others[union.parts.index(part)]
        columns.append(F.col(f"`{theirs.name}`").cast(str(mine.type)).alias(mine.name))
    return _lowered(part, known, TIME).select(*columns, TIME)
