"""One aggregate call: its argument, DISTINCT, FILTER, and the constants behind the argument.

count(*) FILTER (WHERE c)    count(CASE WHEN c THEN 1 END): what is not counted is NULL
count(DISTINCT x)            a function of the set of values
percentile(x, 0.9)           constants: shares between 0 and 1, or how many
first(x), last(x)            x where the window's attribute is least, or greatest
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import NotExecutable, SyntaxFault
from penstock.model.aggregates import AGGREGATES, DISTINCT, PLACED, Aggregate
from penstock.model.expressions import Case, Expression, Literal, Ref
from penstock.model.types import Type
from penstock.sql.bind.expression import ExpressionBinder

#: Function -> how a call is written, for those that take more than one argument.
_WRITTEN = {
    "percentile": "percentile(column, 0.9)",
    "approx_percentile": "approx_percentile(column, 0.9)",
    "percentile_approx": "percentile_approx(column, 0.9)",
    "top_k": "top_k(column, 10)",
    "heavy_hitters": "heavy_hitters(column, 0.05)",
    "min_by": "min_by(column, by)",
    "max_by": "max_by(column, by)",
}


def bind_aggregate_call(
    call: exp.Expr, condition: exp.Expr | None, on: Ref, below: ExpressionBinder
) -> Aggregate:
    """The aggregate of a call over the input; `on` is the window's attribute."""
    name = call.name.lower()
    arguments = list(call.expressions)
    wanted = 2 if name in _WRITTEN else 1
    if len(arguments) != wanted:
        count = "one argument" if wanted == 1 else "two arguments"
        written = _WRITTEN.get(name, f"{call.name}(column)")
        raise SyntaxFault(f"{call.name} takes {count}", hint=f"write {written}")
    function = AGGREGATES[name]
    argument, function = _argument(call, arguments[0], function, below)
    if condition is not None:
        value = Literal(1, Type.INT) if argument is None else argument
        argument = Case(((below.bind(condition), value),))
    if wanted == 1:
        parameters = (0.5,) if name == "median" else ()
        return Aggregate(function, argument, on if function in PLACED else None, parameters)
    if name in ("min_by", "max_by"):
        return Aggregate(function, argument, below.bind(arguments[1]))
    constant = _constant(name, arguments[1], below)
    return Aggregate(function, argument, parameters=(constant,))


def _argument(
    call: exp.Expr, tree: exp.Expr, function: str, below: ExpressionBinder
) -> tuple[Expression | None, str]:
    """What the function is of, and which function it is if DISTINCT makes it another."""
    if isinstance(tree, exp.Star):
        below.context.only(tree)
        return None, function
    if not isinstance(tree, exp.Distinct):
        return below.bind(tree), function
    if function not in DISTINCT:
        raise NotExecutable(
            f"{call.name}(DISTINCT …) cannot be run in this release",
            hint="aggregate twice: first GROUP BY the column, then aggregate the groups",
        )
    if len(tree.expressions) != 1:
        raise NotExecutable(
            f"{call.name}(DISTINCT …) is of one column",
            hint="put several together: concat_ws('|', a, b)",
        )
    return below.bind(tree.expressions[0]), DISTINCT[function]


def _constant(name: str, tree: exp.Expr, below: ExpressionBinder) -> float:
    with below.context.located(tree):
        bound = below.bind(tree)
        value = bound.value if isinstance(bound, Literal) and bound.type.is_numeric else None
        if name == "top_k":
            if not isinstance(value, int) or value < 1:
                raise SyntaxFault("top_k needs to know how many", hint=f"write {_WRITTEN[name]}")
            return value
        if value is None or not 0 <= value <= 1:
            raise SyntaxFault(
                f"{name} needs a share between 0 and 1", hint=f"write {_WRITTEN[name]}"
            )
        return float(value)
