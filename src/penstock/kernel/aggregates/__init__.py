"""Aggregate functions, one file each, in the form that computes many groups at once."""

from penstock.kernel.aggregates.avg import Avg
from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.extremes import Max, Min
from penstock.kernel.aggregates.function import Function, Part
from penstock.kernel.aggregates.grouping import Columns, Grouping, Ids, take
from penstock.kernel.aggregates.sum import Sum
from penstock.kernel.aggregates.variance import StddevPop, StddevSamp, VarPop, VarSamp

#: Name as computed (`model.aggregates`) -> how.
FUNCTIONS: dict[str, type[Function]] = {
    "count": Count,
    "sum": Sum,
    "min": Min,
    "max": Max,
    "avg": Avg,
    "var_samp": VarSamp,
    "var_pop": VarPop,
    "stddev_samp": StddevSamp,
    "stddev_pop": StddevPop,
}

__all__ = ["FUNCTIONS", "Columns", "Function", "Grouping", "Ids", "Part", "take"]
