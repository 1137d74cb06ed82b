"""The oracle is right: against answers worked out by hand, and against DuckDB.

The DuckDB queries are written from the definition of an extent (`start <= ts AND ts < end`), so a
slip in `windows()` or `bounds()` shows up here even if `wids` agrees with it.
"""

from __future__ import annotations

import random

import duckdb
import polars as pl
import pytest

from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Call, Literal, Named, Ref
from penstock.model.joins import JoinKind
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.oracle.evaluate import evaluate, evaluate_window_aggregate, same_rows
from penstock.plan.nodes import (
    Edge,
    Join,
    Project,
    Result,
    Select,
    Source,
    Union,
    WindowAggregate,
)
from penstock.windows import (
    Band,
    Cumulating,
    JoinBand,
    Landmark,
    Partitioned,
    Row,
    SlideByRank,
    SlideByRowNumber,
    SlideByTuple,
    Sliding,
    TumblingBand,
    tumbling,
)

COUNT = {"n": ("count", None)}


def packets(name: str, length: Type = Type.INT) -> Source:
    columns = (
        Column("src", Type.STRING),
        Column("len", length),
        Column("ts", Type.BIGINT),
    )
    return Source(Stream(name, columns, TimestampKind.EXTERNAL, "ts"))


def without_row_num(source: Source) -> Project:
    return Project(source, tuple(Named(c.name, Ref(c.name, c.type)) for c in source.stream.columns))


def rows_of(*triples):
    return [{"src": src, "len": len_, "ts": ts} for src, len_, ts in triples]


def random_rows(seed: int, count: int = 60):
    """Rows in disorder, with equal and negative times, and NULLs in keys and values."""
    draw = random.Random(seed)
    return rows_of(
        *(
            (
                draw.choice(["a", "b", "c", None]),
                draw.choice([None, *range(-9, 10)]),
                draw.randint(-40, 40),
            )
            for _ in range(count)
        )
    )


def duck(sql: str, **tables) -> list[dict]:
    """The answer of a query over lists of rows."""
    schema = {"src": pl.String, "len": pl.Int64, "ts": pl.Int64}
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, pl.DataFrame(rows, schema=schema).to_arrow())
        found = connection.execute(sql)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


# --- window aggregates, by hand -----------------------------------------------------------------

FIVE = rows_of(("a", 10, 1), ("b", None, 4), ("a", 20, 3), (None, 5, 12), ("a", 30, 9))


def counts(window, rows=None, groups=()):
    answer = evaluate_window_aggregate(window, FIVE if rows is None else rows, groups, COUNT)
    return [(row["window_start"], row["window_end"], row["n"]) for row in answer]


def test_tumbling_windows_without_rows_have_no_answer():
    rows = rows_of(("a", 1, 1), ("a", 1, 31), ("a", 1, -1))
    assert counts(tumbling("ts", 10), rows) == [(-10, 0, 1), (0, 10, 1), (30, 40, 1)]


def test_a_sliding_window_counts_a_row_once_per_extent():
    assert counts(Sliding("ts", 10, 5)) == [(-5, 5, 3), (0, 10, 4), (5, 15, 2), (10, 20, 1)]


def test_a_landmark_window_counts_all_so_far():
    assert counts(Landmark("ts", 5)) == [(None, 5, 3), (None, 10, 4), (None, 15, 5)]


def test_a_cumulating_window_counts_up_to_each_step_of_its_period():
    assert counts(Cumulating("ts", 5, 10)) == [(0, 5, 3), (0, 10, 4), (10, 15, 1), (10, 20, 1)]


def test_a_partitioned_window_counts_the_rows_of_each_partition():
    assert counts(Partitioned("ts", 2, 2, ("src",)), groups=("src",)) == [
        (0, 2, 2),
        (2, 4, 1),
        (0, 2, 1),
        (0, 2, 1),
    ]


def test_slide_by_tuple_counts_back_from_each_row():
    assert counts(SlideByTuple("ts", 5)) == [
        (-3, 2, 1),
        (-1, 4, 2),
        (0, 5, 3),
        (5, 10, 1),
        (8, 13, 2),
    ]


def test_slide_by_rank_counts_back_from_every_second_row_in_time():
    assert counts(SlideByRank("ts", 5, 2)) == [(-1, 4, 2), (5, 10, 1)]


def test_slide_by_row_number_counts_back_from_every_second_row_that_came():
    rows = [{**row, "row_num": number} for number, row in enumerate(FIVE, start=1)]
    assert counts(SlideByRowNumber("ts", 5, 2, "row_num"), rows) == [(0, 5, 3), (8, 13, 2)]


def test_null_is_a_group_and_null_values_are_left_out():
    aggregates = {
        "n": ("count", None),
        "values": ("count", lambda row: row["len"]),
        "bytes": ("sum", lambda row: row["len"]),
        "mean": ("avg", lambda row: row["len"]),
        "var": ("var_samp", lambda row: row["len"]),
        "dev": ("stddev_pop", lambda row: row["len"]),
    }
    answer = evaluate_window_aggregate(tumbling("ts", 100), FIVE, ["src"], aggregates)
    results = {row["src"]: [row[name] for name in aggregates] for row in answer}
    assert results == {
        "a": [3, 3, 60, 20.0, 100.0, pytest.approx(8.16496580927726)],
        "b": [1, 0, None, None, None, None],
        None: [1, 1, 5, 5.0, None, 0.0],
    }


def test_a_row_without_a_time_is_counted_nowhere():
    assert counts(tumbling("ts", 10), rows_of(("a", 1, None), ("a", 1, 5))) == [(0, 10, 1)]


# --- window aggregates, against DuckDB ----------------------------------------------------------


#: Functions whose answer does not depend on the order of rows, nor on which of equals is taken.
IN_DUCKDB = {
    **{
        name: f"{name}(len)"
        for name in ("avg", "count", "max", "min", "stddev_pop", "stddev_samp", "sum")
    },
    "var_pop": "var_pop(len)",
    "var_samp": "var_samp(len)",
    "count_distinct": "count(DISTINCT len)",
    "sum_distinct": "CAST(sum(DISTINCT len) AS BIGINT)",
    "avg_distinct": "avg(DISTINCT len)",
    "percentile": "quantile_cont(len, 0.3)",
}


@pytest.mark.parametrize(
    ("range_", "slide", "origin"),
    [(10, 10, 0), (10, 5, 0), (10, 3, 0), (10, 3, 1), (3, 10, -4), (1, 1, 0), (100, 7, 3)],
)
def test_sliding_aggregates_equal_those_of_duckdb(range_, slide, origin):
    rows = random_rows(seed=range_ * slide)
    selected = ", ".join(f"{spelled} AS {name}" for name, spelled in IN_DUCKDB.items())
    theirs = duck(
        f"""
        SELECT src, count(*) AS n, {selected},
               ends - {range_} AS window_start, ends AS window_end
        FROM packets
        JOIN (SELECT {origin} + wid * {slide} AS ends FROM range(-200, 200) ids(wid))
          ON ends - {range_} <= ts AND ts < ends
        GROUP BY src, ends
        """,
        packets=rows,
    )
    results = [Result("n", Aggregate("count"))]
    parameters = {"percentile": (0.3,)}
    length = Ref("len", Type.INT)
    results += [
        Result(name, Aggregate(name, length, parameters=parameters.get(name, ())))
        for name in IN_DUCKDB
    ]
    window = Sliding("ts", range_, slide, origin)
    plan = WindowAggregate(packets("packets"), window, ("src",), tuple(results))
    assert theirs
    assert same_rows(evaluate(plan, {"packets": rows}), theirs)


def test_rows_are_ordered_by_their_event_time_whatever_the_plan_says_equals_that_of_duckdb():
    rows = random_rows(seed=5)
    theirs = duck(
        "SELECT ts // 10 AS tens, arg_min(len, (ts, len)) AS f, arg_max(len, (ts, len)) AS l "
        "FROM packets WHERE ts >= 0 AND len IS NOT NULL GROUP BY tens",
        packets=rows,
    )
    ts, length, tens = Ref("ts", Type.BIGINT), Ref("len", Type.INT), Ref("tens", Type.BIGINT)
    after = Select(packets("packets"), Call(">=", (ts, Literal(0, Type.INT))))
    known = Select(after, Call("not", (Call("is_null", (length,)),)))
    key = Call("div", (ts, Literal(10, Type.INT)))
    keyed = Project(known, (Named("tens", key), Named("len", length)))
    # As a binder would write it that forgot about it.
    results = tuple(
        Result(name, Aggregate(function, length, tens, by_event_time=True))
        for name, function in (("f", "min_by"), ("l", "max_by"))
    )
    plan = WindowAggregate(keyed, tumbling("tens", 1), (), results)
    found = [
        {"tens": row["window_start"], "f": row["f"], "l": row["l"]}
        for row in evaluate(plan, {"packets": rows})
    ]
    assert same_rows(found, theirs)


# --- plans --------------------------------------------------------------------------------------


def test_select_keeps_rows_whose_condition_is_true_and_not_null():
    long = Call(">", (Ref("len", Type.INT), Literal(9, Type.INT)))
    answer = evaluate(Select(packets("p"), long), {"p": FIVE})
    assert [row["len"] for row in answer] == [10, 20, 30]
    rest = evaluate(Select(packets("p"), Call("not", (long,))), {"p": FIVE})
    assert [row["len"] for row in rest] == [5]  # the row with NULL is in neither


def test_a_source_numbers_its_rows_from_one_unless_they_are_numbered():
    fresh = evaluate(packets("p"), {"p": FIVE[:2]})
    assert [row["row_num"] for row in fresh] == [1, 2]
    again = evaluate(packets("p"), {"p": [{**FIVE[0], "row_num": 7}]})
    assert [row["row_num"] for row in again] == [7]


def test_project_computes_columns():
    half = Named("half", Call("/", (Ref("len", Type.INT), Literal(4, Type.INT))))
    plan = Project(packets("p"), (half, Named("ts", Ref("ts", Type.BIGINT))))
    assert evaluate(plan, {"p": FIVE[:2]}) == [{"half": 2.5, "ts": 1}, {"half": None, "ts": 4}]


def test_union_matches_columns_by_position_and_widens_them():
    plan = Union((packets("p"), packets("q", Type.DOUBLE)))
    answer = evaluate(plan, {"p": rows_of(("a", 1, 1)), "q": rows_of(("b", 2.5, 2))})
    assert [(row["src"], row["len"], type(row["len"])) for row in answer] == [
        ("a", 1.0, float),
        ("b", 2.5, float),
    ]


def test_the_rows_of_a_union_are_windowed_together():
    count = (Result("n", Aggregate("count")),)
    plan = WindowAggregate(Union((packets("p"), packets("q"))), tumbling("ts", 10), (), count)
    answer = evaluate(plan, {"p": rows_of(("a", 1, 1)), "q": rows_of(("b", 2, 2), ("b", 2, 10))})
    assert answer == [
        {"n": 2, "window_start": 0, "window_end": 10},
        {"n": 1, "window_start": 10, "window_end": 20},
    ]


JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "SEMI JOIN",
    JoinKind.ANTI: "ANTI JOIN",
}
BANDS: dict[str, JoinBand] = {
    "r.ts - l.ts BETWEEN -2 AND 3": Band(-2, 3),
    "r.ts - l.ts BETWEEN 1 AND 4": Band(1, 4),
    "floor(l.ts / 5.0) = floor(r.ts / 5.0)": TumblingBand(5),
}


@pytest.mark.parametrize("kind", JOINS, ids=lambda kind: kind.value)
@pytest.mark.parametrize("band", BANDS)
def test_joins_equal_those_of_duckdb(kind, band):
    left, right = random_rows(1), random_rows(2)
    smaller = Call("<", (Ref("l.len", Type.INT), Ref("r.len", Type.INT)))
    plan = Join(
        (without_row_num(packets("p")), without_row_num(packets("q"))),
        names=("l", "r"),
        edges=(Edge("l.ts", "r.ts", BANDS[band]),),
        equalities=(("l.src", "r.src"),),
        conditions=(smaller,),
        kind=kind,
    )
    selected = ", ".join(f'{name} AS "{name}"' for name in plan.schema.names)
    condition = f"l.src = r.src AND l.len < r.len AND {band}"
    theirs = duck(
        f"SELECT {selected} FROM p AS l {JOINS[kind]} q AS r ON {condition}", p=left, q=right
    )
    assert theirs
    assert same_rows(evaluate(plan, {"p": left, "q": right}), theirs)


def test_a_join_of_three_equals_that_of_duckdb():
    rows = [random_rows(seed) for seed in (1, 2, 3)]
    larger = Call("<", (Ref("b.len", Type.INT), Ref("c.len", Type.INT)))
    plan = Join(
        tuple(without_row_num(packets(name)) for name in "pqr"),
        names=("a", "b", "c"),
        edges=(Edge("a.ts", "b.ts", Band(-2, 3)), Edge("b.ts", "c.ts", Band(1, 4))),
        equalities=(("a.src", "b.src"), ("a.src", "c.src")),
        conditions=(larger,),
    )
    selected = ", ".join(f'{name} AS "{name}"' for name in plan.schema.names)
    theirs = duck(
        f"SELECT {selected} FROM p AS a, q AS b, r AS c WHERE a.src = b.src AND a.src = c.src AND "
        "b.len < c.len AND b.ts - a.ts BETWEEN -2 AND 3 AND c.ts - b.ts BETWEEN 1 AND 4",
        p=rows[0],
        q=rows[1],
        r=rows[2],
    )
    assert theirs
    assert same_rows(evaluate(plan, dict(zip("pqr", rows, strict=True))), theirs)


# --- comparing answers --------------------------------------------------------------------------


def test_answers_are_the_same_in_whatever_order_and_up_to_rounding():
    ours: list[Row] = [{"a": 1, "b": 0.1 + 0.2}, {"a": None, "b": None}]
    assert same_rows(ours, [{"a": None, "b": None}, {"a": 1, "b": 0.3}])


@pytest.mark.parametrize(
    "other",
    [
        [],
        [{"a": 1, "b": 0.3}],
        [{"a": 1, "b": 0.3}, {"a": 1, "b": 0.3}],
        [{"a": 1, "b": 0.31}, {"a": None, "b": None}],
        [{"a": 1, "b": 0.3}, {"a": 0, "b": None}],
        [{"a": 1.0, "b": 0.3}, {"a": None, "b": None}],
        [{"a": 1, "c": 0.3}, {"a": None, "c": None}],
    ],
)
def test_answers_that_differ_are_told_apart(other):
    assert not same_rows([{"a": 1, "b": 0.3}, {"a": None, "b": None}], other)
