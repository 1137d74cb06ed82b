"""By which columns streams are spread: rows that meet in an aggregate come to one group."""

from __future__ import annotations

import pytest

from penstock.spark.placement.partitioning import PartitionKeys, partitioning, suits
from tests.spark.placement.plans import bound, plan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT k, v FROM a WHERE v > 1", {"a": None}),
        ("SELECT k FROM a UNION b", {"a": None, "b": None}),
        ("SELECT count(*) AS n FROM a {w}", {"a": ()}),
        ("SELECT k, count(*) AS n FROM a {w} GROUP BY k", {"a": ("k",)}),
        ("SELECT k, j, count(*) AS n FROM a {w} GROUP BY k, j", {"a": ("k", "j")}),
        ("SELECT k, v % 2 AS m, count(*) AS n FROM a {w} GROUP BY k, v % 2", {"a": ("k",)}),
        ("SELECT x, count(*) AS n FROM (SELECT j AS x, ts FROM a) {w} GROUP BY x", {"a": ("j",)}),
        ("SELECT k, count(*) AS n FROM a UNION b {w} GROUP BY k", {"a": ("k",), "b": ("k",)}),
        # A static table is in every group: only columns of the stream can be spread by.
        ("SELECT a.k, t.kind FROM a LEFT JOIN t ON a.k = t.k", {"a": None}),
        ("SELECT t.k, count(*) AS n FROM a {w} JOIN t ON a.k = t.k GROUP BY t.k", {"a": ("k",)}),
        ("SELECT t.k, count(*) AS n FROM a {w} LEFT JOIN t ON a.k = t.k GROUP BY t.k", {"a": ()}),
        (
            "SELECT a.j, t.kind, count(*) AS n FROM a {w} JOIN t ON a.k = t.k GROUP BY j, kind",
            {"a": ("j",)},
        ),
        # Matches lie within a partition.
        (
            "SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k, j ORDER BY ts "
            "MEASURES LAST(ts) AS t PATTERN (A B))",
            {"a": ("k", "j")},
        ),
        (
            "SELECT * FROM a MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS t PATTERN (A B))",
            {"a": ()},
        ),
        ("SELECT a.v FROM SEQ(a, b) MODE RECENT PARTITION BY k", {"a": ("k",), "b": ("k",)}),
        ("SELECT a.v FROM SEQ(a, b) MODE RECENT WHERE a.k = b.j", {"a": ("k",), "b": ("j",)}),
        ("SELECT a.v FROM SEQ(a, b, a AS c) PARTITION BY j, k", {"a": ("j", "k"), "b": ("j", "k")}),
        ("SELECT a.v FROM SEQ(a, b, a AS c) WHERE a.k = b.k AND a.v = c.v", {"a": (), "b": ()}),
        ("SELECT a.v FROM SEQ(a, b) MODE CHRONICLE", {"a": (), "b": ()}),
        # Rows of all keys decide which windows there are.
        ("SELECT k, count(*) AS n FROM a [RANGE ALL, SLIDE 1 SECOND] GROUP BY k", {"a": ()}),
        (
            "SELECT k, count(*) [RANGE 1 SECOND, RATTR ts, SLIDE 2 ROWS, SATTR rank(ts)] "
            "FROM a GROUP BY k",
            {"a": ()},
        ),
        (
            "SELECT k, j, count(*) AS n FROM SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), "
            "INTERVAL '5' SECOND) GROUP BY k, j, window_start, window_end",
            {"a": ("k",)},
        ),
    ],
)
def test_streams_are_spread_by_what_the_rows_of_a_group_share(
    text: str, expected: dict[str, PartitionKeys]
) -> None:
    assert partitioning(plan(text)) == expected


def test_keys_of_a_union_stand_in_corresponding_places() -> None:
    text = """
        SELECT x, y, count(*) AS n
        FROM (SELECT k AS x, j AS y, ts FROM a UNION ALL SELECT j AS x, k AS y, ts FROM b) {w}
        GROUP BY x, y"""
    assert partitioning(plan(text)) == {"a": ("k", "j"), "b": ("j", "k")}


def test_a_key_that_one_input_of_a_union_computes_is_a_key_of_none() -> None:
    text = """
        SELECT k, x, count(*) AS n
        FROM (SELECT k, upper(j) AS x, ts FROM a UNION ALL SELECT k, j AS x, ts FROM b) {w}
        GROUP BY k, x"""
    assert partitioning(plan(text)) == {"a": ("k",), "b": ("k",)}


def test_a_key_of_different_types_in_a_union_is_none() -> None:
    text = """
        SELECT k, x, count(*) AS n
        FROM (SELECT k, v AS x, ts FROM a UNION ALL SELECT k, d AS x, ts FROM b) {w}
        GROUP BY k, x"""
    assert partitioning(plan(text)) == {"a": ("k",), "b": ("k",)}


def test_a_stream_united_with_itself_by_other_columns_has_no_key() -> None:
    text = """
        SELECT x, count(*) AS n
        FROM (SELECT k AS x, ts FROM a UNION ALL SELECT j AS x, ts FROM a) {w} GROUP BY x"""
    assert partitioning(plan(text)) == {"a": ()}


def test_an_aggregate_of_aggregates_keeps_the_keys_of_both() -> None:
    inner = "SELECT k, j, count(*) AS n FROM a {w} GROUP BY k, j"
    outer = "[RANGE 9 SECONDS, SLIDE 9 SECONDS, WA window_end]"
    by_j = plan(f"SELECT j, max(n) AS m FROM ({inner}) {outer} GROUP BY j")
    by_n = plan(f"SELECT n, count(*) AS m FROM ({inner}) {outer} GROUP BY n")
    assert partitioning(by_j) == {"a": ("j",)}
    assert partitioning(by_n) == {"a": ()}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT row_num, v FROM a",
        "SELECT v FROM a WHERE row_num % 2 = 0",
        "SELECT k, max(row_num) AS n FROM a {w} GROUP BY k",
        "SELECT k, count(*) AS n FROM a [RANGE 5 ROWS, SLIDE 5 ROWS] GROUP BY k",
    ],
)
def test_only_one_group_can_number_the_rows_of_a_stream(text: str) -> None:
    assert partitioning(plan(text)) == {"a": ()}


def test_row_numbers_that_nobody_looks_at_bind_nothing() -> None:
    text = "SELECT k FROM (SELECT k, row_num AS n FROM a)"
    assert partitioning(plan(text)) == {"a": None}


def test_plans_together_keep_the_keys_they_have_in_common() -> None:
    one = plan("SELECT k, j, count(*) AS n FROM a {w} GROUP BY k, j")
    other = plan("SELECT j, count(*) AS n FROM a {w} GROUP BY j")
    assert partitioning(one, other) == {"a": ("j",)}


def test_a_key_given_up_by_one_stream_is_given_up_by_all_it_meets() -> None:
    both = plan("SELECT k, j, count(*) AS n FROM a UNION b {w} GROUP BY k, j")
    one = plan("SELECT j, count(*) AS n FROM a {w} GROUP BY j")
    assert partitioning(both, one) == {"a": ("j",), "b": ("j",)}


JOINS: dict[str, dict[str, PartitionKeys]] = {
    "a, b WHERE a.k = b.j": {"a": ("k",), "b": ("j",)},
    "a, b WHERE a.k = b.j AND a.j = b.k": {"a": ("k", "j"), "b": ("j", "k")},
    "a, b WHERE a.v = b.d": {"a": (), "b": ()},  # of different types
    "a, b WHERE a.v < b.v": {"a": (), "b": ()},
    "a, b WHERE upper(a.k) = b.k": {"a": (), "b": ()},
    "a, a AS b WHERE a.k = b.k": {"a": ("k",)},
    "a, a AS b WHERE a.k = b.j": {"a": ()},
    "a, b WHERE a.k = b.k AND a.row_num > 3": {"a": (), "b": ()},
    "a, b, a AS c WHERE a.k = b.k AND b.k = c.k": {"a": ("k",), "b": ("k",)},
    "a, b, a AS c WHERE a.k = b.k AND b.j = c.j": {"a": (), "b": ()},
}


@pytest.mark.parametrize("text", JOINS)
def test_a_join_is_spread_by_what_must_be_equal(text: str) -> None:
    inputs, _, where = text.partition(" WHERE ")
    windowed = ", ".join(f"{name} [RANGE 5 SECONDS]" for name in inputs.split(", "))
    joined = plan(f"SELECT a.ts FROM {windowed} WHERE {where}")
    assert partitioning(joined) == JOINS[text]


@pytest.mark.parametrize(
    ("kind", "by", "keys"),
    [
        ("JOIN", "a.k", ("k",)),
        ("JOIN", "b.k", ("k",)),
        ("JOIN", "a.j", ()),
        ("LEFT JOIN", "a.k", ("k",)),
        # A left row without a partner is in the group of NULL, wherever it was spread to.
        ("LEFT JOIN", "b.k", ()),
        ("RIGHT JOIN", "b.k", ("k",)),
        ("RIGHT JOIN", "a.k", ()),
        ("FULL JOIN", "a.k", ()),
    ],
)
def test_an_aggregate_over_a_join_keeps_its_keys_where_they_are_groups(
    kind: str, by: str, keys: PartitionKeys
) -> None:
    on = "b.ts" if kind == "RIGHT JOIN" else "a.ts"
    text = f"""SELECT {by}, count(*) [RANGE 5 SECONDS, SLIDE 5 SECONDS, WA {on}] AS n
        FROM a {kind} b ON a.k = b.k WITHIN 5 SECONDS GROUP BY {by}"""
    assert partitioning(bound(text)) == {"a": keys, "b": keys}


@pytest.mark.parametrize(
    ("text", "keys", "is_suited"),
    [
        ("SELECT k, j, count(*) AS n FROM a {w} GROUP BY k, j", {"a": ("k",)}, True),
        ("SELECT k, j, count(*) AS n FROM a {w} GROUP BY k, j", {"a": ("j", "k")}, True),
        ("SELECT k, count(*) AS n FROM a {w} GROUP BY k", {"a": ("k", "j")}, False),
        ("SELECT k, count(*) AS n FROM a {w} GROUP BY k", {"a": ()}, True),
        ("SELECT k, count(*) AS n FROM a {w} GROUP BY k", {"a": None}, False),
        ("SELECT k, v FROM a", {"a": ("j",)}, True),
        ("SELECT k, v FROM a", {"b": ("j",)}, False),
        (
            "SELECT a.ts FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.j",
            {"a": ("k",), "b": ("j",)},
            True,
        ),
        (
            "SELECT a.ts FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.j",
            {"a": ("k",), "b": ("k",)},
            False,
        ),
        (
            "SELECT a.ts FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.j",
            {"a": ("k",), "b": ()},
            False,
        ),
    ],
)
def test_keys_that_are_there_suit_a_plan_which_would_allow_more(
    text: str, keys: dict[str, PartitionKeys], is_suited: bool
) -> None:
    assert suits(keys, plan(text)) == is_suited


@pytest.mark.parametrize("text", JOINS)
def test_the_keys_of_a_plan_suit_it(text: str) -> None:
    inputs, _, where = text.partition(" WHERE ")
    windowed = ", ".join(f"{name} [RANGE 5 SECONDS]" for name in inputs.split(", "))
    assert suits(JOINS[text], plan(f"SELECT a.ts FROM {windowed} WHERE {where}"))
