"""Aggregate functions, one file each, in the form that computes many groups at once."""

from penstock.kernel.aggregates.avg import Avg
from penstock.kernel.aggregates.collect import CollectList
from penstock.kernel.aggregates.count import Count
from penstock.kernel.aggregates.dd_sketch import ApproxPercentile
from penstock.kernel.aggregates.decimal_sum import DecimalAvg, DecimalSum
from penstock.kernel.aggregates.distinct import AvgDistinct, CollectSet, CountDistinct, SumDistinct
from penstock.kernel.aggregates.extremes import Max, Min
from penstock.kernel.aggregates.frequencies import HeavyHitters, Mode
from penstock.kernel.aggregates.function import Function
from penstock.kernel.aggregates.hyper_log_log import ApproxCountDistinct
from penstock.kernel.aggregates.percentile import Percentile
from penstock.kernel.aggregates.picks import MaxBy, MinBy
from penstock.kernel.aggregates.sum import Sum
from penstock.kernel.aggregates.top_k import TopK
from penstock.kernel.aggregates.variance import StddevPop, StddevSamp, VarPop, VarSamp
from penstock.model.types import DecimalType, Type

#: How the functions of `model.aggregate_functions` are computed, in the same order.
FUNCTIONS: dict[str, type[Function]] = {
    "count": Count,
    "count_distinct": CountDistinct,
    "approx_count_distinct": ApproxCountDistinct,
    "sum": Sum,
    "sum_distinct": SumDistinct,
    "avg": Avg,
    "avg_distinct": AvgDistinct,
    "var_samp": VarSamp,
    "var_pop": VarPop,
    "stddev_samp": StddevSamp,
    "stddev_pop": StddevPop,
    "min": Min,
    "max": Max,
    "percentile": Percentile,
    "approx_percentile": ApproxPercentile,
    "min_by": MinBy,
    "max_by": MaxBy,
    "mode": Mode,
    "bool_and": Min,
    "bool_or": Max,
    "collect_list": CollectList,
    "collect_set": CollectSet,
    "top_k": TopK,
    "heavy_hitters": HeavyHitters,
}

#: Those that are computed otherwise of decimals.
_OF_DECIMALS: dict[str, type[Function]] = {"sum": DecimalSum, "avg": DecimalAvg}


def function_of(name: str, of: Type | None) -> type[Function]:
    """How a function of values of a type is computed."""
    if isinstance(of, DecimalType) and name in _OF_DECIMALS:
        return _OF_DECIMALS[name]
    return FUNCTIONS[name]
