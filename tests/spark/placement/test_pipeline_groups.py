"""Which queries run together: over the same streams, as long as nobody loses its groups by it."""

from __future__ import annotations

from penstock.optimizer.optimize import beside, optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import digest_of
from penstock.plan.graph import streams_of, walk
from penstock.plan.nodes import Source
from penstock.spark.placement.pipeline_groups import assign_pipelines, why_apart
from tests.spark.placement.plans import bound, plan
from tests.sql.fake_spark import FakeSpark

BY_K = "SELECT k, count(*) AS n FROM a {w} GROUP BY k"
BY_J = "SELECT j, count(*) AS n FROM a {w} GROUP BY j"
BY_K_AND_J = "SELECT k, j, count(*) AS n FROM a {w} GROUP BY k, j"
BY_K_OF_BOTH = "SELECT k, count(*) AS n FROM a UNION b {w} GROUP BY k"
BY_BOTH_OF_BOTH = "SELECT k, j, count(*) AS n FROM a UNION b {w} GROUP BY k, j"
ALL = "SELECT count(*) AS n FROM a {w}"
ROWS = "SELECT k FROM a"


def shared(*texts: str) -> list[tuple[list[str], dict[str, object]]]:
    found = assign_pipelines({str(n): plan(text) for n, text in enumerate(texts)})
    return [(list(share.queries), dict(share.keys)) for share in found]


def test_queries_with_a_key_in_common_share() -> None:
    assert shared(BY_K_AND_J, BY_K) == [(["0", "1"], {"a": ("k",)})]


def test_queries_without_one_stay_apart() -> None:
    assert shared(BY_K, BY_J) == [(["0"], {"a": ("k",)}), (["1"], {"a": ("j",)})]


def test_a_third_query_joins_whom_it_suits() -> None:
    assert [names for names, _ in shared(BY_K, BY_J, BY_K_AND_J)] == [["0", "2"], ["1"]]


def test_a_query_that_needs_one_group_does_not_take_the_others_theirs() -> None:
    assert [names for names, _ in shared(ALL, BY_K, ALL)] == [["0", "2"], ["1"]]


def test_a_query_that_asks_for_nothing_shares_with_one_that_has_keys() -> None:
    assert shared(ROWS, BY_K) == [(["0", "1"], {"a": ("k",)})]
    assert [names for names, _ in shared(ROWS, ALL)] == [["0"], ["1"]]


def test_queries_over_different_streams_stay_apart() -> None:
    assert len(shared(BY_K, BY_K.replace("FROM a", "FROM b"))) == 2


def test_streams_that_meet_in_one_query_are_spread_alike_in_all() -> None:
    assert shared(BY_BOTH_OF_BOTH, BY_K) == [(["0", "1"], {"a": ("k",), "b": ("k",)})]
    assert shared(BY_K, BY_K_OF_BOTH) == [(["0", "1"], {"a": ("k",), "b": ("k",)})]


def test_where_there_is_little_to_read_queries_share_though_it_leaves_one_group() -> None:
    plans = {str(n): plan(text) for n, text in enumerate((BY_K, BY_J, ALL))}
    [share] = assign_pipelines(plans, is_small=True)
    assert (list(share.queries), share.keys, share.is_small) == (["0", "1", "2"], {"a": ()}, True)


def test_queries_share_columns_that_spark_computes() -> None:
    texts = {
        "keyed": "SELECT sha2(k, 256) AS h, count(*) AS n FROM a {w} GROUP BY sha2(k, 256)",
        "plain": "SELECT k FROM a WHERE sha2(k, 256) <> 'x' AND soundex(k) = 'y'",
        "other": "SELECT k FROM a",
        "both": "SELECT count(*) AS n FROM a UNION b {w} GROUP BY j",
    }
    host = FakeSpark()
    [group, apart] = assign_pipelines({name: bound(text, host) for name, text in texts.items()})
    assert list(group.queries) == ["keyed", "plain", "other"]
    program = group.program()
    [stream] = program.streams
    names = {each.sql: each.name for each in stream.computed}
    assert sorted(names) == ["sha2(`k`, 256)", "soundex(`k`)"]
    sources = [node for node in walk(*program.queries.values()) if isinstance(node, Source)]
    assert {node.stream for node in sources} == {stream}
    assert group.keys == {"a": (names["sha2(`k`, 256)"],)}
    assert list(apart.queries) == ["both"]
    asked = {name: digest_of(bound(text, host)) for name, text in texts.items()}
    assert program.asked == {name: asked[name] for name in group.queries}


def test_a_running_pipeline_reads_what_it_has_read() -> None:
    host = FakeSpark()
    first = bound("SELECT k FROM a WHERE soundex(k) = 'y' AND sha2(k, 256) <> 'x'", host)
    [stream] = streams_of(first).values()
    there = Options(), {"a": None}, {"a": stream.computed}
    known = bound("SELECT k FROM a WHERE soundex(k) = 'z'", host)
    assert not why_apart(known, Options(), *there, has_groups=True)
    new = bound("SELECT k FROM a WHERE crc32(k) = 7", host)
    assert why_apart(new, Options(), *there, has_groups=True).startswith(
        "Spark does not compute crc32(`k`) there as it reads `a`"
    )
    beside_it = beside(optimize({"first": first}), {"known": known})
    assert beside_it.streams == (stream,)
