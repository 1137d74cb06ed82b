"""Joins of several streams run in the shape that what was measured asks for, with equal answers."""

from __future__ import annotations

import random

import pytest

from penstock.errors import NotExecutable
from penstock.local.engine import LocalEngine
from penstock.local.query import LocalQuery
from penstock.optimizer.cost.costs import REFERENCE
from penstock.optimizer.cost.runs import RUNS

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts;" for name in "abc"
)
#: As written, a and b match often and b with c hardly ever.
JOIN = "FROM a [RANGE 50], b [RANGE 50], c [RANGE 50] WHERE a.k = b.k AND b.x = c.x"


def push(engine: LocalEngine, start: int, count: int = 300) -> None:
    rng = random.Random(start)
    for at in range(start, start + count, 50):
        for name in "abc":
            rows = [
                {"k": rng.randrange(2), "x": rng.randrange(400), "ts": ts}
                for ts in range(at, at + 50)
            ]
            engine.push(name, rows)


def declare(engine: LocalEngine, name: str, columns: str = "a.ts AS t, b.ts AS u") -> LocalQuery:
    query = engine.sql(f"CREATE QUERY {name} AS SELECT {columns} {JOIN}")
    assert isinstance(query, LocalQuery)
    return query


def rows(query: LocalQuery) -> list[str]:
    return sorted(map(str, query.results().rows()))


def test_a_query_that_comes_later_is_joined_as_what_was_measured_asks_for() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    declare(engine, "first")
    assert "as written: nothing is known yet" in str(engine.sql("EXPLAIN first"))
    push(engine, 1)
    engine.sql("DROP QUERY first; SET join_order = written")
    slow = declare(engine, "slow")
    engine.sql("SET join_order = auto")
    fast = declare(engine, "fast")
    shown = str(engine.sql("EXPLAIN fast"))
    assert "(a, (b, c)): estimated" in shown
    assert "by measured rates and selectivities; the written order takes" in shown
    push(engine, 301)
    assert rows(fast) == rows(slow)
    assert rows(fast)


def test_a_query_that_asks_for_a_join_that_runs_gets_it_in_its_shape() -> None:
    """By now another shape would be chosen, but rows are stored in this one."""
    engine = LocalEngine()
    engine.sql(STREAMS)
    declare(engine, "first")
    push(engine, 1)
    declare(engine, "second", "a.x AS x")
    assert "as a query that runs computes it" in str(engine.sql("EXPLAIN second"))


def test_alternatives_and_measurements_are_shown_by_sql() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    declare(engine, "q")
    push(engine, 1)
    shown = str(engine.sql("EXPLAIN (ALTERNATIVES, ANALYZE) q"))
    assert "4 plans were compared" in shown
    assert "selectivity" in shown
    lines = [line.split("  ")[0] for line in shown.splitlines() if "runs, as written" in line]
    assert lines == ["((a, b), c)"]
    assert any(
        line.startswith("(a, (b, c))") and "best by now" in line for line in shown.split("\n")
    )
    estimated = shown[shown.index("join         operator") :]
    assert [line.split("  ")[0] for line in estimated.splitlines()[1:]] == ["(a, b)", "((a, b), c)"]
    with pytest.raises(NotExecutable, match="has not run"):
        engine.sql(f"EXPLAIN (ANALYZE) SELECT a.x AS x {JOIN}")


def test_a_join_whose_inputs_have_odd_names_is_measured_and_compared_as_others_are() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql(
        "CREATE QUERY q AS SELECT `a, (1)`.ts AS t FROM a AS `a, (1)` [RANGE 50], b [RANGE 50], "
        "c [RANGE 50] WHERE `a, (1)`.k = b.k AND b.x = c.x"
    )
    push(engine, 1)
    shown = str(engine.sql("EXPLAIN (ALTERNATIVES, ANALYZE) q"))
    assert [line for line in shown.splitlines() if line.startswith("((`a, (1)`, b), c)  OAJoin")]
    assert [line for line in shown.splitlines() if "runs, as written" in line]


def test_an_input_that_is_a_left_join_is_called_so() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql(
        "CREATE QUERY q AS SELECT a.ts AS t, c.x AS x FROM a LEFT JOIN c ON a.x = c.x WITHIN 50 "
        "JOIN b ON a.k = b.k WITHIN 50 JOIN b AS d ON a.k = d.x WITHIN 50"
    )
    push(engine, 1)
    for shown in ("EXPLAIN q", "EXPLAIN LIVE q"):
        lines = str(engine.sql(shown)).splitlines()
        assert [line for line in lines if line.startswith("a left join c ")]


def test_joins_in_an_order_that_is_set_say_so() -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAMS} SET join_order = '(a, (b, c))'")
    declare(engine, "q")
    assert "; as join_order asks for" in str(engine.sql("EXPLAIN q"))


def test_what_is_estimated_of_a_row_has_its_share_of_a_block() -> None:
    """A block and the runs it asks take some ms, whatever it holds: here 50 rows, or 2."""
    block, _, _, _, run, *_ = REFERENCE.units["join"]
    estimates = []
    for size in (50, 2):
        engine = LocalEngine()
        engine.sql(STREAMS)
        declare(engine, "q")
        for at in range(1, 200, size):
            for name in "abc":
                times = range(at, at + size)
                engine.push(name, [{"k": ts % 2, "x": ts % 400, "ts": ts} for ts in times])
        shown = str(engine.sql("EXPLAIN (ANALYZE) q"))
        [line] = [line for line in shown.splitlines() if line.startswith("(a, b) ")]
        estimates.append(float(line.split()[-2]))
    # Of a window of 50, two runs in blocks of 50; many in blocks of 2, which are merged to five.
    assert estimates[0] == pytest.approx((block + 2 * run) / 50, rel=0.2)
    assert estimates[1] == pytest.approx((block + RUNS * run) / 2, rel=0.2)


def test_an_mjoin_that_is_set_has_the_orders_that_what_was_measured_asks_for() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    declare(engine, "first")
    engine.sql("SET join = mjoin")
    declare(engine, "early")
    assert "3 inputs are joined at once, the smallest store first" in str(
        engine.sql("EXPLAIN early")
    )
    push(engine, 1)
    # It goes on as it began, and who asks for the same gets that.
    declare(engine, "shares")
    for name in ("early", "shares"):
        assert "the smallest store first" in str(engine.sql(f"EXPLAIN {name}"))
    engine.sql("DROP QUERY early; DROP QUERY shares")
    late = declare(engine, "late")
    # b hardly ever meets c, so it asks that first.
    told = "joined at once, rows of a with b, c; b with c, a; c with b, a"
    assert told in str(engine.sql("EXPLAIN late"))
    alike = declare(engine, "alike", "a.ts AS t, c.ts AS u")
    assert told in str(engine.sql("EXPLAIN alike"))
    engine.sql("SET join = oa; SET join_order = written")
    slow = declare(engine, "slow")
    push(engine, 301)
    assert rows(late) == rows(slow)
    assert len(rows(alike)) == len(rows(late)) > 0
