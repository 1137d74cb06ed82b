"""WidAggregate behind Bucket: what it says when, and what it keeps."""

from __future__ import annotations

import math
from datetime import date

import polars as pl
import pytest

from penstock.kernel.segments import MANY
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Call, Literal, Ref
from penstock.model.timestamps import DAY, END, HOUR, MINUTE, SECOND
from penstock.model.types import Type
from penstock.windows import Sliding, tumbling
from tests.kernel.aggregation.pipeline import Pipeline, results_of
from tests.kernel.moving import Snapshot

COUNT = {"n": Aggregate("count")}
V = Ref("v", Type.BIGINT)
SUM = {"total": Aggregate("sum", V)}

#: Functions of one column, by what they keep of it.
OF_NUMBERS = (
    "avg",
    "count",
    "max",
    "min",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "var_pop",
    "var_samp",
)
OF_LISTS = ("approx_count_distinct", "collect_set", "count_distinct", "mode", "sum_distinct")


def at(*seconds: int, **columns: list) -> pl.DataFrame:
    return pl.DataFrame({"ts": [second * SECOND for second in seconds], **columns})


def totals(items: list) -> dict:
    """Group and window end of each result -> its sum."""
    return {(row.get("k"), row["window_end"]): row["total"] for row in results_of(items)}


# -- bounds -----------------------------------------------------------------------------------


def test_eleven_minutes_past_closes_window_10_and_all_before_results_first():
    noon = 12 * HOUR
    pipeline = Pipeline(Sliding("ts", 10 * MINUTE, MINUTE, noon), COUNT)
    assert pipeline.rows(pl.DataFrame({"ts": [noon + 10 * MINUTE + 30 * SECOND]})) == []
    assert pipeline.punctuate(noon + 11 * MINUTE) == [
        [{"n": 1, "window_start": noon + MINUTE, "window_end": noon + 11 * MINUTE}],
        ("window_end", noon + 12 * MINUTE),
        ("window_start", noon + 2 * MINUTE),
    ]


def test_nothing_is_said_twice():
    pipeline = Pipeline(Sliding("ts", 10, 5), COUNT)
    pipeline.rows(pl.DataFrame({"ts": [1]}))
    assert len(pipeline.punctuate(5)) == 3
    assert pipeline.punctuate(5) == []
    assert pipeline.punctuate(9) == []  # within the next window
    assert pipeline.punctuate(4) == []  # says less than is known


def test_the_last_bound_closes_everything_and_stays_the_last():
    pipeline = Pipeline(Sliding("ts", 10, 5), COUNT)
    pipeline.rows(pl.DataFrame({"ts": [1]}))
    *results, first, second = pipeline.punctuate(END)
    assert [row["window_end"] for row in results_of(results)] == [5, 10]
    assert (first, second) == (("window_end", END), ("window_start", END))
    assert pipeline.punctuate(END) == []
    assert pipeline.wid.state.partials.rows == 0


def test_a_bound_without_rows_goes_on_all_the_same():
    pipeline = Pipeline(Sliding("ts", 10, 5), COUNT)
    assert pipeline.punctuate(100) == [("window_end", 105), ("window_start", 95)]


def test_later_results_keep_above_the_bound():
    pipeline = Pipeline(Sliding("ts", 7, 3), COUNT)
    assert pipeline.punctuate(20) == [("window_end", 21), ("window_start", 14)]
    pipeline.rows(pl.DataFrame({"ts": [20, 21]}))
    found = [
        (row["window_start"], row["window_end"]) for row in results_of(pipeline.punctuate(END))
    ]
    assert min(found) == (14, 21)


def test_a_row_for_a_closed_window_does_not_open_it_again():
    pipeline = Pipeline(Sliding("ts", 10, 5), SUM)
    pipeline.punctuate(10)
    pipeline.rows(pl.DataFrame({"ts": [12, 7, 1], "v": [100, 10, 1]}))
    assert totals(pipeline.punctuate(END)) == {(None, 15): 110, (None, 20): 100}
    assert pipeline.wid.state.late == 2


def test_a_bound_inside_a_run_of_equal_windows_splits_it():
    pipeline = Pipeline(Sliding("ts", 100, 10), SUM, groups=["k"])
    pipeline.rows(pl.DataFrame({"ts": [5, 5], "k": ["a", "b"], "v": [1, 2]}))
    assert pipeline.wid.state.partials.rows == 2  # ten windows each, one entry
    first = totals(pipeline.punctuate(40))
    pipeline.rows(pl.DataFrame({"ts": [45], "k": ["a"], "v": [10]}))
    second = totals(pipeline.punctuate(END))
    assert first == {(k, end): v for end in (10, 20, 30, 40) for k, v in (("a", 1), ("b", 2))}
    assert second == {
        **{("b", end): 2 for end in range(50, 101, 10)},
        **{("a", end): 11 for end in range(50, 101, 10)},
        **{("a", end): 10 for end in range(110, 141, 10)},
    }


# -- windows ----------------------------------------------------------------------------------


def test_empty_windows_have_no_result_however_many_there_are():
    pipeline = Pipeline(tumbling("ts", 1), COUNT)
    pipeline.rows(pl.DataFrame({"ts": [0]}))
    pipeline.rows(pl.DataFrame({"ts": [1000 * 365 * DAY]}))
    ends = [row["window_end"] for row in results_of(pipeline.punctuate(END))]
    assert ends == [1, 1000 * 365 * DAY + 1]


def test_rows_far_apart_within_one_block_need_no_windows_between_them():
    pipeline = Pipeline(Sliding("ts", 3, 1), SUM, groups=["k"])
    ends = [-(2**60), 0, 2**60]
    pipeline.rows(pl.DataFrame({"ts": ends * 2, "k": [1, 1, 1, 2, 2, 2], "v": range(6)}))
    assert totals(pipeline.punctuate(END)) == {
        (k, ts + w): (k - 1) * 3 + i for k in (1, 2) for i, ts in enumerate(ends) for w in (1, 2, 3)
    }


def test_where_the_slide_exceeds_the_range_rows_between_windows_do_not_count():
    pipeline = Pipeline(Sliding("ts", 2, 5), SUM)
    pipeline.rows(pl.DataFrame({"ts": range(10), "v": [1] * 10}))
    assert totals(pipeline.punctuate(END)) == {(None, 5): 2, (None, 10): 2}


def test_the_range_need_not_be_a_multiple_of_the_slide():
    pipeline = Pipeline(Sliding("ts", 7, 3), SUM)
    pipeline.rows(pl.DataFrame({"ts": range(6), "v": [1, 2, 4, 8, 16, 32]}))
    assert totals(pipeline.punctuate(END)) == {
        (None, 3): 7,
        (None, 6): 63,
        (None, 9): 60,
        (None, 12): 32,
    }


def test_times_before_1970_are_times_like_any_other():
    pipeline = Pipeline(Sliding("ts", 10 * SECOND, 5 * SECOND), COUNT)
    pipeline.rows(at(-7))
    assert results_of(pipeline.punctuate(END)) == [
        {"n": 1, "window_start": -15 * SECOND, "window_end": -5 * SECOND},
        {"n": 1, "window_start": -10 * SECOND, "window_end": 0},
    ]


def test_windows_over_row_numbers_end_full_after_so_many_rows():
    window = Sliding("row_num", 4, 2, unit="rows")
    pipeline = Pipeline(window, SUM)
    pipeline.rows(pl.DataFrame({"row_num": range(1, 6), "v": [1, 2, 4, 8, 16]}))
    assert pipeline.punctuate(6) == [
        [
            {"total": 3, "window_start": -1, "window_end": 3},
            {"total": 15, "window_start": 1, "window_end": 5},
        ],
        ("window_end", 7),
        ("window_start", 3),
    ]


# -- groups and values ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([1, None, 1, -5], id="integers"),
        pytest.param(["a", None, "a", ""], id="strings"),
        pytest.param([0.0, None, -0.0, math.nan], id="floats"),
        pytest.param([True, None, True, False], id="booleans"),
        pytest.param([date(1969, 1, 1), None, date(1969, 1, 1), date(2000, 1, 1)], id="dates"),
        pytest.param([b"a", None, b"a", b""], id="binary"),
    ],
)
def test_null_is_a_group_of_its_own_in_keys_of_any_type(keys):
    pipeline = Pipeline(tumbling("ts", 10), SUM, groups=["k"])
    for part in (slice(0, 2), slice(2, 4)):  # two segments, so that keys are merged as well
        rows = pl.DataFrame({"ts": [1, 2, 3, 4][part], "k": keys[part], "v": [1, 2, 4, 8][part]})
        pipeline.rows(rows)
    found = results_of(pipeline.punctuate(END))
    assert sorted(row["total"] for row in found) == [2, 5, 8]
    assert [row["k"] for row in found if row["total"] == 2] == [None]


def test_groups_are_tuples_of_columns():
    pipeline = Pipeline(tumbling("ts", 10), COUNT, groups=["a", "b"])
    pipeline.rows(pl.DataFrame({"ts": [1] * 4, "a": ["x", "x", None, "x"], "b": [1, 2, 1, 1]}))
    found = {(row["a"], row["b"]): row["n"] for row in results_of(pipeline.punctuate(END))}
    assert found == {("x", 1): 2, ("x", 2): 1, (None, 1): 1}


def test_null_values_are_skipped_and_a_window_of_nothing_else_is_null():
    results = {"n": Aggregate("count"), "some": Aggregate("count", V)}
    results |= {name: Aggregate(name, V) for name in OF_NUMBERS}
    pipeline = Pipeline(tumbling("ts", 10), results)
    values = pl.Series([None, 3, 5, None], dtype=pl.Int64)
    pipeline.rows(pl.DataFrame({"ts": [1, 2, 3, 11], "v": values}))
    some, nothing = results_of(pipeline.punctuate(END))
    assert some == {
        "n": 3, "some": 2, "count": 2, "sum": 8, "min": 3, "max": 5, "avg": 4.0,
        "var_samp": 2.0, "var_pop": 1.0, "stddev_samp": math.sqrt(2), "stddev_pop": 1.0,
        "window_start": 0, "window_end": 10,
    }  # fmt: skip
    assert nothing == {
        "n": 1, "some": 0, "count": 0, "sum": None, "min": None, "max": None, "avg": None,
        "var_samp": None, "var_pop": None, "stddev_samp": None, "stddev_pop": None,
        "window_start": 10, "window_end": 20,
    }  # fmt: skip


def test_an_argument_can_be_an_expression():
    doubled = Call("*", (V, Literal(2, Type.BIGINT)))
    results = {
        "total": Aggregate("sum", doubled),
        "ones": Aggregate("count", Literal(1, Type.INT)),
        "nothing": Aggregate("max", Literal(None, Type.NULL)),
    }
    pipeline = Pipeline(tumbling("ts", 10), results)
    pipeline.rows(pl.DataFrame({"ts": [1, 2], "v": [3, 4]}))
    pipeline.rows(pl.DataFrame({"ts": [3], "v": [5]}))
    [row] = results_of(pipeline.punctuate(END))
    assert (row["total"], row["ones"], row["nothing"]) == (24, 3, None)


def test_columns_come_as_groups_results_window():
    pipeline = Pipeline(tumbling("ts", 10), SUM | COUNT, groups=["k"])
    pipeline.rows(pl.DataFrame({"ts": [1], "v": [1], "k": ["a"]}))
    [row] = results_of(pipeline.punctuate(END))
    assert list(row) == ["k", "total", "n", "window_start", "window_end"]


# -- state ------------------------------------------------------------------------------------


def test_state_is_listed_with_rows_and_bytes():
    pipeline = Pipeline(Sliding("ts", 60, 1), SUM, groups=["k"])
    pipeline.rows(pl.DataFrame({"ts": [0, 0, 0], "k": ["a", "b", "a"], "v": [1, 2, 3]}))
    [(node, table, rows, size)] = pipeline.graph.state_sizes()
    assert (node, table, rows) == ("WidAggregate", "partials", 2)
    assert size > 0


def test_saved_in_mid_window_and_restored_it_goes_on_as_if_nothing_had_been():
    def build() -> Pipeline:
        results = {name: Aggregate(name, V) for name in [*OF_NUMBERS, *OF_LISTS]}
        return Pipeline(Sliding("ts", 7, 3), results, groups=["k"])

    first = pl.DataFrame({"ts": [1, 4, 5], "k": ["a", None, "a"], "v": [None, 2, 3]})
    second = pl.DataFrame({"ts": [6, 7, 8], "k": ["a", "b", "a"], "v": [4, 5, None]})
    whole, before, after = build(), build(), build()
    for pipeline in (whole, before):
        pipeline.rows(first)
        pipeline.punctuate(5)
    saved = Snapshot.of(before.graph.states(), before.graph)
    saved.put_into(after.graph.states(), after.graph)
    assert after.wid.state.closed == before.wid.state.closed
    assert after.rows(second) == whole.rows(second)
    assert after.punctuate(END) == whole.punctuate(END)


def test_row_by_row_the_state_stays_small_and_in_few_segments():
    groups, windows = 3, 20
    pipeline = Pipeline(Sliding("ts", windows, 1), SUM, groups=["k"], limit=1)
    for ts in range(400):
        pipeline.rows(pl.DataFrame({"ts": [ts], "k": [ts % groups], "v": [1]}))
        pipeline.punctuate(ts)
        partials = pipeline.wid.state.partials
        assert len(partials.segments) <= MANY + 6  # and the logarithm of its size
        assert partials.rows <= 2 * groups * windows


def test_a_row_costs_one_entry_however_many_windows_it_is_in():
    pipeline = Pipeline(Sliding("ts", DAY, SECOND), SUM, groups=["k"])
    pipeline.rows(at(0, 0, 1, k=["a", "b", "a"], v=[1, 2, 4]))
    # a: the second before, both, the second after; b: one.
    assert pipeline.wid.state.partials.rows == 4
