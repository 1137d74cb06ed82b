"""What is measured of joins while they run, against exact counts of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.kernel.statistics.cell import Cell
from penstock.kernel.statistics.join_meter import key_of
from penstock.kernel.statistics.key_sketch import KeySketch, mixed
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.optimizer.join_figures import (
    GUESSED,
    MEASURED,
    REMEMBERED,
    JoinFigures,
    join_figures,
)
from penstock.optimizer.join_statistics import HALF_LIFE, JoinStatistics, PairFigures
from penstock.optimizer.joins.flat_join import flat_join
from penstock.optimizer.measured_joins import measured_join
from penstock.optimizer.statistics import Statistics
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.runtime.base_engine import BaseEngine
from tests.ticks import push_ticks

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, t BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    for name in "abcd"
)
R = "[RANGE 10 SECONDS]"
CHAIN = f"""
    SELECT a.t AS at, b.t AS bt, c.t AS ct FROM a {R}, b {R}, c {R}
    WHERE a.k = b.k AND b.v = c.v"""


def rows(
    seed: int, count: int, keys: int, seconds: int = 100, **columns: np.ndarray
) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, seconds * SECOND, count))
    found = {name: random.integers(0, keys, count) for name in ("k", "v", "t")}
    return pl.DataFrame({**found, "ts": times}).with_columns(
        **{name: pl.Series(name, values) for name, values in columns.items()}
    )


def engine(*statements: str) -> LocalEngine:
    found = LocalEngine()
    found.sql(STREAMS)
    for statement in statements:
        found.sql(statement)
    return found


def run(found: LocalEngine, streams: dict[str, pl.DataFrame], *, ends: bool = True) -> None:
    """Ten seconds of each stream in turn."""
    last = max(int(each.item(-1, "ts")) for each in streams.values())
    for begin in range(0, last + 1, 10 * SECOND):
        for name, each in streams.items():
            now = pl.col("ts").is_between(begin, begin + 10 * SECOND, closed="left")
            push_ticks(found, name, each.filter(now))
    if ends:
        found.finish()


def figures(found: LocalEngine) -> dict[str, PairFigures]:
    pairs = found._known().joins.pairs.values()
    return {each.title: each for by_width in pairs for each in by_width.values()}


def rates(found: LocalEngine) -> dict[str, float | None]:
    return {each.title: each.rate for each in found._known().joins.inputs.values()}


def join_of(found: BaseEngine[Any], query: str) -> nodes.Join:
    plan = found.catalog.entry(query).plan
    return next(node for node in walk(plan) if isinstance(node, nodes.Join))


def exact(one: pl.DataFrame, mine: list[str], other: pl.DataFrame, theirs: list[str]) -> float:
    """Which share of pairs within cells of 20 seconds match."""
    cell = (pl.col("ts") // (20 * SECOND)).alias("cell")
    left, right = one.with_columns(cell), other.with_columns(cell)
    pairs = left.join(right, on="cell").height
    matches = left.join(right, left_on=["cell", *mine], right_on=["cell", *theirs]).height
    return matches / pairs


def close(figure: PairFigures, share: float) -> bool:
    assert figure.selectivity is not None and figure.error is not None
    return abs(figure.selectivity - share) <= 4 * figure.error + 0.02 * share


@pytest.mark.parametrize("how", ["join = auto", "join = mjoin", "join_order = '((b, c), a)'"])
def test_rates_and_selectivities_of_a_chain(how: str) -> None:
    streams = {n: rows(i, 2000 * i, 50 * i) for i, n in enumerate("abc", 1)}
    found = engine(f"SET {how}", CHAIN)
    run(found, streams)
    assert rates(found) == {n: pytest.approx(20 * i, rel=0.02) for i, n in enumerate("abc", 1)}
    a, b, c = streams.values()
    known = figures(found)
    assert close(known["a.k = b.k"], exact(a, ["k"], b, ["k"]))
    assert close(known["b.v = c.v"], exact(b, ["v"], c, ["v"]))


def test_pairs_that_no_operator_brings_together() -> None:
    found = engine(
        f"""SELECT a.t AS at FROM a {R}, b {R}, c {R}
        WHERE a.k = b.k AND b.k = c.k AND a.v < c.v"""
    )
    streams = {n: rows(i, 1000, 20 * i) for i, n in enumerate("abc", 1)}
    run(found, streams)
    a, _, c = streams.values()
    known = figures(found)
    assert close(known["a.k = c.k"], exact(a, ["k"], c, ["k"]))
    share = known["a.v < c.v"].selectivity
    expected = a.join(c, how="cross").select((pl.col("v") < pl.col("v_right")).mean()).item()
    assert share == pytest.approx(expected, abs=0.05)
    known_of = join_figures(join_of(found, "query_1"), found._known())
    assert set(known_of.selectivities) == {(0, 1), (1, 2), (0, 2)}
    assert set(known_of.implied) == {(0, 2)} or known_of.implied == {}


def test_skewed_keys() -> None:
    zipf = np.random.default_rng(1).zipf(1.4, 8000) % 10_000
    a, b = rows(1, 8000, 10, k=zipf), rows(2, 4000, 10, k=zipf[:4000])
    found = engine(f"SELECT a.t AS at FROM a {R}, b {R} WHERE a.k = b.k")
    run(found, {"a": a, "b": b})
    assert close(figures(found)["a.k = b.k"], exact(a, ["k"], b, ["k"]))


def test_keys_that_depend_on_each_other_are_one_key() -> None:
    a, b = (rows(seed, 3000, 100) for seed in (1, 2))
    a, b = (each.with_columns(v=pl.col("k") * 7) for each in (a, b))
    found = engine(f"SELECT a.t AS at FROM a {R}, b {R} WHERE a.k = b.k AND a.v = b.v")
    run(found, {"a": a, "b": b})
    [(title, figure)] = figures(found).items()
    assert title == "a.k = b.k and a.v = b.v"
    assert close(figure, exact(a, ["k"], b, ["k"]))


def test_keys_that_match_for_a_short_time() -> None:
    """Numbers of orders: all rows have partners near them, and none elsewhere."""
    a, b = (rows(seed, 4000, 10).with_columns(k=pl.int_range(4000)) for seed in (1, 2))
    found = engine(f"SELECT a.t AS at FROM a {R}, b {R} WHERE a.k = b.k")
    run(found, {"a": a, "b": b})
    assert figures(found)["a.k = b.k"].selectivity == pytest.approx(1 / 800, rel=0.25)


def test_rows_that_meet_others_of_another_time() -> None:
    """Deliveries come an hour after their orders."""
    hour = 3600
    a, b = (rows(1, 4000, 10, 8 * hour).with_columns(k=pl.int_range(4000)) for _ in range(2))
    b = b.with_columns(ts=pl.col("ts") + hour * SECOND)
    found = engine(
        "SELECT a.t AS at FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN "
        "a.ts + INTERVAL 55 MINUTES AND a.ts + INTERVAL 65 MINUTES"
    )
    push_ticks(found, "a", a)
    push_ticks(found, "b", b)
    found.finish()
    share = figures(found)["a.k = b.k"].selectivity
    assert share == pytest.approx(48 / 4000, rel=0.3)


def test_null_keys_match_nothing_and_are_rows() -> None:
    a = rows(1, 2000, 10).with_columns(k=pl.when(pl.col("t") < 5).then(pl.col("k")))
    found = engine(f"SELECT a.t AS at FROM a {R}, b {R} WHERE a.k = b.k")
    b = rows(2, 2000, 10)
    run(found, {"a": a, "b": b})
    assert rates(found)["a"] == pytest.approx(20, rel=0.02)
    assert close(figures(found)["a.k = b.k"], exact(a.drop_nulls("k"), ["k"], b, ["k"]) / 2)


def test_streams_that_have_ended_without_rows_are_known_to_have_none() -> None:
    found = engine(CHAIN)
    assert rates(found) == {} and figures(found) == {}
    push_ticks(found, "a", rows(1, 10, 10))
    found.finish()
    assert rates(found) == {"a": pytest.approx(0.1, rel=0.3), "b": 0.0, "c": 0.0}
    assert {each.selectivity for each in figures(found).values()} == {None}


def test_tiny_streams() -> None:
    row = {"k": 1, "v": 1, "t": 1}
    found = engine(f"SELECT a.t AS at FROM a {R}, b {R} WHERE a.k = b.k")
    push_ticks(
        found, "a", [{**row, "ts": 0}, {**row, "ts": SECOND}, {**row, "k": 2, "ts": 2 * SECOND}]
    )
    push_ticks(found, "b", [{**row, "ts": SECOND}])
    assert figures(found)["a.k = b.k"].selectivity == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", ["LEFT", "LEFT SEMI", "LEFT ANTI", "FULL"])
def test_outer_and_semi_joins(kind: str) -> None:
    found = engine(f"SELECT a.t AS at FROM a {R} {kind} JOIN b {R} ON a.k = b.k")
    a, b = rows(1, 3000, 60), rows(2, 3000, 60)
    run(found, {"a": a, "b": b})
    assert close(figures(found)["a.k = b.k"], exact(a, ["k"], b, ["k"]))


def test_inputs_behind_filters_are_inputs_of_their_own() -> None:
    found = engine(
        f"SELECT x.t AS at FROM (SELECT k AS key, t, ts FROM a WHERE v < 5) x {R}, b {R} "
        "WHERE x.key = b.k",
        f"SELECT a.t AS at FROM a {R}, b {R} WHERE a.k = b.k AND a.v < 5 AND b.v = 3",
    )
    run(found, {"a": rows(1, 4000, 10), "b": rows(2, 4000, 10)})
    assert rates(found) == {
        "a where v < 5": pytest.approx(20, rel=0.1),
        "b": pytest.approx(40, rel=0.02),
        "b where v = 3": pytest.approx(4, rel=0.2),
    }
    one, other = (join_figures(join_of(found, f"query_{n}"), found._known()) for n in (1, 2))
    assert one.rates[0] == other.rates[0] and one.source == other.source == MEASURED


def test_results_are_an_input() -> None:
    found = engine(
        f"CREATE VIEW busy AS SELECT k, count(*) AS n, window_end FROM a {R} GROUP BY k",
        f"SELECT x.n AS n FROM busy AS x [RANGE 9 SECONDS, WA window_end] JOIN b {R} ON x.k = b.k",
    )
    run(found, {"a": rows(1, 4000, 10), "b": rows(2, 1000, 10)})
    known = join_figures(join_of(found, "query_1"), found._known())
    assert known.source == MEASURED
    assert known.rates[0].value == pytest.approx(1, rel=0.15)


def test_other_shapes_and_queries_find_what_was_measured() -> None:
    found = engine(CHAIN)
    run(found, {n: rows(i, 1000, 30) for i, n in enumerate("abc")}, ends=False)
    # Named otherwise, and in another order.
    found.sql(
        f"CREATE QUERY other AS SELECT x.t AS t FROM c {R}, b AS x {R}, a AS y {R} "
        "WHERE x.v = c.v AND y.k = x.k"
    )
    one = join_figures(join_of(found, "query_1"), found._known())
    other = join_figures(join_of(found, "other"), found._known())
    assert one.source == other.source == MEASURED
    assert one.selectivities[0, 1] == other.selectivities[1, 2]
    assert one.rates == other.rates[::-1]


def test_what_is_not_known_is_guessed() -> None:
    found = engine(CHAIN)
    known = join_figures(join_of(found, "query_1"), Statistics())
    assert isinstance(known, JoinFigures) and known.source == GUESSED
    assert {each.seen for each in known.selectivities.values()} == {0}


@pytest.mark.parametrize("query", [CHAIN, f"{CHAIN} AND a.k = c.k"])
def test_of_a_stream_without_rows_that_is_measured(query: str) -> None:
    found = engine(query)
    run(found, {"a": rows(1, 2000, 50), "b": rows(2, 2000, 50)})
    known = join_figures(join_of(found, "query_1"), found._known())
    assert [each.source for each in known.rates] == [MEASURED] * 3
    assert [each.value for each in known.rates] == [
        pytest.approx(20, rel=0.01),
        pytest.approx(20, rel=0.01),
        pytest.approx(0.5 / 90, rel=0.2),  # half a row in all that time, later ones counting more
    ]
    assert rates(found)["c"] == 0
    shown = str(found.sql("EXPLAIN (ALTERNATIVES, ANALYZE) query_1"))
    [line] = [line for line in shown.splitlines() if line.startswith("c ") and "rows/s" in line]
    assert line.split()[-2:] == ["measured", "0"]
    assert "nan" not in shown and "inf" not in shown


def test_of_a_stream_that_lags_behind_nothing_is_known() -> None:
    found = engine(CHAIN)
    run(found, {"a": rows(1, 2000, 50), "b": rows(2, 2000, 50)}, ends=False)
    known = join_figures(join_of(found, "query_1"), found._known())
    assert [each.source for each in known.rates] == [MEASURED, MEASURED, GUESSED]


def test_joins_of_streams_without_rows_are_estimated() -> None:
    """Two streams have come to their ends without a row, and nothing is divided by that."""
    found = engine(CHAIN)
    run(found, {"a": rows(1, 2000, 50)})
    shown = str(found.sql("EXPLAIN (ALTERNATIVES, ANALYZE) query_1"))
    assert "nan" not in shown and "inf" not in shown


def test_blocks_are_counted_at_the_inputs_of_joins() -> None:
    found = engine(CHAIN)
    for at in range(0, 100, 10):
        for name, pieces in {"a": 1, "b": 5, "c": 20}.items():
            each = rows(at, 400, 50, seconds=10).with_columns(pl.col("ts") + at * SECOND)
            for piece in each.iter_slices(400 // pieces):
                push_ticks(found, name, piece)
    known = {each.title: each.block_rate for each in found._known().joins.inputs.values()}
    assert known == {
        "a": pytest.approx(0.1, rel=0.05),
        "b": pytest.approx(0.5, rel=0.05),
        "c": pytest.approx(2.0, rel=0.05),
    }
    join = join_of(found, "query_1")
    assert join_figures(join, found._known()).blocks == pytest.approx((0.1, 0.5, 2.0), rel=0.05)


def test_statistics_that_were_written_without_blocks_are_known_and_have_none() -> None:
    found = engine(CHAIN)
    run(found, {name: rows(n, 2000, 50) for n, name in enumerate("abc")})
    joins = found._known().joins
    assert JoinStatistics.from_json(joins.as_json()) == joins
    written = joins.as_json()
    for each in written["inputs"].values():
        del each["blocks"]
    join = join_of(found, "query_1")
    known = join_figures(join, Statistics(remembered=JoinStatistics.from_json(written)))
    assert known.source == REMEMBERED
    assert known.blocks == ()


def two_streams() -> MeasuredJoin:
    found = engine(f"SELECT a.t AS at FROM a {R}, b {R} WHERE a.k = b.k")
    return measured_join(flat_join(join_of(found, "query_1")))


def cell(join: MeasuredJoin, rows: int, keys: int) -> Cell:
    """A cell of rows that have each key equally often."""
    sketches = {key_of(join.pairs[0], side): KeySketch() for side in (0, 1)}
    for sketch in sketches.values():
        sketch.add(mixed(np.arange(keys)).repeat(rows // keys))
    return Cell(0, 20 * SECOND, [rows, rows], [0, 0], [rows, rows], [1.0, 1.0], sketches)


def test_later_cells_count_more() -> None:
    join = two_streams()
    known = JoinStatistics().plus(join, [cell(join, 120, 4)] * 200)
    known = known.plus(join, [cell(join, 150, 5)] * HALF_LIFE)
    [of] = known.pairs[join.pairs[0].key].values()
    # Of 22,500 pairs of a late cell a fifth match, and of 14,400 of an early one, a quarter.
    expected = (22_500 / 5 + 14_400 / 4) / (22_500 + 14_400)
    assert of.selectivity == pytest.approx(expected, rel=0.02)
    assert known.inputs[join.inputs[0].key].rate == pytest.approx(6.75, rel=0.02)
    assert of.seen == 200 * 240 + HALF_LIFE * 300


def test_one_cell_that_is_different_changes_little_and_a_second_one_everything() -> None:
    join = two_streams()
    known = JoinStatistics().plus(join, [cell(join, 1000, 10)] * 20)

    def figures_of(known: JoinStatistics) -> tuple[float, float]:
        [of] = known.pairs[join.pairs[0].key].values()
        rate = known.inputs[join.inputs[0].key].rate
        assert of.selectivity is not None and rate is not None
        return of.selectivity, rate

    odd, usual = cell(join, 500, 2), cell(join, 1000, 10)
    assert figures_of(known.plus(join, [odd])) == pytest.approx((0.1, 50), rel=0.1)
    assert figures_of(known.plus(join, [odd, usual, odd])) == pytest.approx((0.1, 50), rel=0.2)
    assert figures_of(known.plus(join, [odd, odd])) == pytest.approx((0.5, 25))


@pytest.mark.parametrize("rate", [200, 1000])
def test_selectivities_that_swap_show_after_two_windows_and_a_load_that_stays_stays(
    rate: int,
) -> None:
    """Of fast streams some rows are looked at only."""
    found, width, swap, end = engine(CHAIN), 20, 200, 280
    random = np.random.default_rng(1)
    few, many = rate * width // 4, rate * width * 4  # 4 partners in a cell, or one for 4 rows
    seen: dict[int, tuple[float, ...]] = {}
    for second in range(0, end, 10):
        keys = (few, many) if second < swap else (many, few)
        for name in "abc":
            times = np.sort(random.integers(0, 10 * SECOND, 10 * rate)) + second * SECOND
            drawn = {n: random.integers(0, k, 10 * rate) for n, k in zip("kv", keys, strict=True)}
            push_ticks(found, name, pl.DataFrame({**drawn, "t": times, "ts": times}))
        known = {each.title: each for each in _noted(found)}
        shares = (known[pair].selectivity for pair in ("a.k = b.k", "b.v = c.v") if pair in known)
        seen[second + 10] = tuple(share for share in shares if share is not None)
    partner = 1 / (rate * width)
    for second in range(100, swap, 20):
        assert seen[second] == pytest.approx((1 / few, 1 / many), rel=0.1, abs=0.1 * partner)
    for second in range(swap + 60, end, 20):  # the second whole cell after it is over
        assert seen[second] == pytest.approx((1 / many, 1 / few), rel=0.1, abs=0.2 * partner)


def _noted(found: LocalEngine) -> list[PairFigures]:
    """What is known by cells that are over."""
    pairs = found._statistics.joins.pairs.values()
    return [each for by_width in pairs for each in by_width.values()]


def test_a_change_of_plans_keeps_what_is_known() -> None:
    found = engine(CHAIN)
    streams = {n: rows(i, 1000, 30) for i, n in enumerate("abc")}
    run(found, streams, ends=False)
    seen = figures(found)["a.k = b.k"].seen
    found.sql(f"SELECT a.t AS at FROM a {R}, d {R} WHERE a.k = d.k")
    found.sql("DROP QUERY query_2")
    found.sql("DROP STREAM d")
    assert figures(found)["a.k = b.k"].seen == seen > 0


def test_few_cells_are_looked_at_where_there_are_many() -> None:
    found = engine("SELECT a.t AS at FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.k = b.k")
    streams = {n: rows(i, 50_000, 10, 50_000) for i, n in enumerate("ab")}
    for name, each in streams.items():
        push_ticks(found, name, each)
    found.finish()
    assert rates(found) == {n: pytest.approx(1, rel=0.6) for n in "ab"}
    assert 0 < figures(found)["a.k = b.k"].seen < 1000


def test_explain_says_what_is_expected_and_how_that_is_known() -> None:
    found = engine(CHAIN)
    before = str(found.sql("EXPLAIN query_1")).splitlines()[-6:]
    assert [" ".join(line.split()) for line in before] == [
        "expected of joins value known rows seen",
        *(f"{name} 100 rows/s guessed 0" for name in "abc"),
        *(f"{names} selectivity 0.01 guessed 0" for names in ("a, b", "b, c")),
    ]
    run(found, {n: rows(i, 1000, 30) for i, n in enumerate("abc")})
    after = str(found.sql("EXPLAIN query_1")).splitlines()[-5:]
    assert all("measured" in line for line in after)


def test_explain_live_and_status_say_what_is_measured() -> None:
    found = engine(CHAIN)
    assert "a                not known yet" in found.sql("EXPLAIN LIVE query_1")
    run(found, {n: rows(i, 1000, 30) for i, n in enumerate("abc")}, ends=False)
    live = found.sql("EXPLAIN LIVE query_1")
    for part in ("input of a join  rows/s", "a.k = b.k  0.03", "OAJoin-", " µs"):
        assert part in live
    status = found.status()
    assert [each.name for each in status.inputs] == ["a", "b", "c"]
    assert [each.predicate for each in status.predicates] == ["a.k = b.k", "b.v = c.v"]
    assert status.queries["query_1"].inputs == status.inputs
    assert sum(each.processor_seconds for each in status.operators) > 0
    facts = found.query("query_1").lastProgress
    assert facts is not None and facts["penstock"]["inputs"]["a"] == pytest.approx(10, rel=0.1)
    assert set(facts["penstock"]["predicates"]) == {"a.k = b.k", "b.v = c.v"}
