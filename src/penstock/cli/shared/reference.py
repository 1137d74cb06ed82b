"""Reference results, straight from the definition, with all rows at hand.

For each window, take the rows of its extent and aggregate them: no buckets, no partial aggregates,
no bounds. Far too slow for a stream, and easy to believe; the demo checks a run's results with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from penstock.errors import NotExecutable
from penstock.kernel.expressions import compile_columns, compile_expression
from penstock.kernel.types import polars_type
from penstock.model.schema import ROW_NUM, WINDOW_END, WINDOW_START
from penstock.optimizer.rules.adapt_union_inputs import adapt
from penstock.plan import nodes
from penstock.plan.row_windows import counted_rows
from penstock.windows import Sliding
from penstock.windows.sliding import wid_bounds


def answer(plan: nodes.Node, rows: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What a query answers over these rows of its streams; times are ticks."""
    match plan:
        case nodes.Source():
            return _source(plan, rows[plan.stream.name])
        case nodes.Select():
            return answer(plan.input, rows).filter(compile_expression(plan.predicate))
        case nodes.Ordered():
            return answer(plan.input, rows).sort(plan.on)
        case nodes.Project():
            return compile_columns(plan.columns)(answer(plan.input, rows))
        case nodes.Union():
            return pl.concat([answer(adapt(part, plan), rows) for part in plan.parts])
        case nodes.WindowAggregate(
            window=Sliding() as window, emit=None, has_several_windows=False
        ):
            found = _aggregate(plan, window, answer(plan.input, rows))
            counted = counted_rows(plan)
            if counted is None:
                return found
            # Windows over rows end with the rows.
            return found.filter(pl.col(WINDOW_END) - window.slide <= answer(counted, rows).height)
    raise NotExecutable(f"no reference implementation of {type(plan).__name__}")


def _source(plan: nodes.Source, rows: pl.DataFrame) -> pl.DataFrame:
    """A stream's rows in its own columns, numbered as they stand if they are not numbered yet."""
    if ROW_NUM not in rows.columns:
        rows = rows.with_columns(pl.int_range(1, rows.height + 1, dtype=pl.Int64).alias(ROW_NUM))
    return rows.select(plan.schema.names)


def _aggregate(plan: nodes.WindowAggregate, window: Sliding, rows: pl.DataFrame) -> pl.DataFrame:
    rows = rows.drop_nulls(window.on)
    times = rows.get_column(window.on).cast(pl.Int64)
    answers = [pl.DataFrame(schema={c.name: polars_type(c.type) for c in plan.schema})]
    first, behind = wid_bounds(times.to_numpy(), window.range, window.slide, window.origin)
    spans = set(zip(first.tolist(), behind.tolist(), strict=True))
    for wid in sorted({wid for span in spans for wid in range(*span)}):
        start, end = window.bounds(wid)
        extent = rows.filter(times.is_between(start, end, closed="left"))
        answers.append(_one_window(plan, extent, start, end))
    return pl.concat(answers)


def _one_window(
    plan: nodes.WindowAggregate, extent: pl.DataFrame, start: int, end: int
) -> pl.DataFrame:
    # Arguments become columns first: a constant is as long as the extent.
    arguments = {
        f"__{r.name}": compile_expression(r.aggregate.argument)
        for r in plan.results
        if r.aggregate.argument is not None
    }
    extent = extent.with_columns(**arguments)
    values = [_value(r).alias(r.name) for r in plan.results]
    groups = extent.group_by(plan.groups).agg(values) if plan.groups else extent.select(values)
    bounds = (pl.lit(start).alias(WINDOW_START), pl.lit(end).alias(WINDOW_END))
    return groups.with_columns(bounds).select(
        pl.col(c.name).cast(polars_type(c.type)) for c in plan.schema
    )


def _value(result: nodes.Result) -> pl.Expr:
    if result.aggregate.argument is None:
        return pl.len()
    values = pl.col(f"__{result.name}").drop_nulls()
    function = result.aggregate.function
    if function == "sum":
        # In the type of the sum, which is wider than that of its values.
        wide = values.cast(polars_type(result.aggregate.type))
        return pl.when(values.len() > 0).then(wide.sum())
    if function not in _FUNCTIONS:
        raise NotExecutable(f"no reference implementation of {result.aggregate}")
    return _FUNCTIONS[function](values)


_FUNCTIONS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "count": pl.Expr.len,
    "min": pl.Expr.min,
    "max": pl.Expr.max,
    "avg": pl.Expr.mean,
    "var_samp": pl.Expr.var,
    "var_pop": lambda values: values.var(ddof=0),
    "stddev_samp": pl.Expr.std,
    "stddev_pop": lambda values: values.std(ddof=0),
}
