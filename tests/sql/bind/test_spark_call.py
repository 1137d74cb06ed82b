"""Expressions that only Spark can compute: what becomes of them in a plan, without a Spark."""

from __future__ import annotations

import pytest

from penstock.catalog.catalog import Catalog, QueryEntry
from penstock.errors import NotExecutable, QueryError, UnknownName
from penstock.model.schema import Column
from penstock.model.types import Type
from penstock.model.user_defined import UserFunction
from penstock.optimizer.codec import decode, encode
from penstock.optimizer.optimize import optimize
from penstock.plan.explain import explain
from penstock.plan.graph import streams_of
from penstock.plan.on_results import split_results
from penstock.runtime.declarations import apply, named
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect
from tests.sql.fake_spark import FakeSpark

STREAMS = """
CREATE STREAM p (src STRING, dst STRING, len INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM q (k STRING, h STRING, ts TIMESTAMP) TIMESTAMP BY ts;
"""


def bound(text: str, host: FakeSpark | None = None) -> QueryEntry:
    catalog = Catalog(host or FakeSpark())
    entry = None
    for statement in parse(STREAMS + text):
        entry = apply(
            named(statement, catalog) if isinstance(statement, BareSelect) else statement,
            catalog,
        )
    assert isinstance(entry, QueryEntry)
    return entry


def computed(entry: QueryEntry) -> dict[str, list[str]]:
    """By stream, the SQL of its computed columns."""
    streams = streams_of(entry.plan).items()
    return {name: sorted(each.sql for each in stream.computed) for name, stream in streams}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT upper(sha2(src, 256)) AS h FROM p", ["sha2(`src`, 256)"]),
        ("SELECT len FROM p WHERE soundex(p.src) = 'X' AND len > 3", ["soundex(`src`)"]),
        (
            "SELECT sha2(src,256) AS h, count(*) AS n FROM p [RANGE 1 MINUTE] "
            "GROUP BY SHA2( src , /* bits */ 256)",
            ["sha2(`src`, 256)"],
        ),
        ("SELECT sum(crc32(src)) AS n FROM p [RANGE 1 MINUTE]", ["crc32(`src`)"]),
        (
            "SELECT sum(len) FILTER (WHERE soundex(src) = 'A') AS s FROM p [RANGE 1 MINUTE]",
            ["soundex(`src`)"],
        ),
        ("SELECT upper(split(src, ',')[0]) AS h FROM p", ["split(`src`, ',')[0]"]),
        ("SELECT split(src, ',')[len] AS h FROM p", ["split(`src`, ',')[`len`]"]),
        (
            "SELECT overlay(src PLACING dst FROM 2 FOR len) AS h FROM p",
            ["overlay(`src` PLACING `dst` FROM 2 FOR `len`)"],
        ),
        ("SELECT trim(LEADING 'x' FROM src) AS h FROM p", ["trim(LEADING 'x' FROM `src`)"]),
        (
            "SELECT soundex(x) AS h FROM (SELECT concat(lower(src), 'it\\'s') AS x FROM p)",
            ["soundex(concat(lower(`src`), 'it\\'s'))"],
        ),
        (
            "SELECT array_contains(transform(split(src, ','), x -> upper(x) || dst), 'a') AS t "
            "FROM p",
            ["array_contains(transform(split(`src`, ','), x -> upper(x) || `dst`), 'a')"],
        ),
        (
            "SELECT word, soundex(src) AS s FROM p "
            "LATERAL VIEW explode(split(dst, ',')) t AS word WHERE word <> 'a'",
            ["soundex(`src`)", "split(`dst`, ',')"],
        ),
        (
            "SELECT max(n) AS m FROM (SELECT src, count(*) AS n, window_end FROM p "
            "[RANGE 1 MINUTE] GROUP BY src) [RANGE 1 HOUR, WA window_end] GROUP BY soundex(src)",
            [],
        ),
    ],
)
def test_a_call_is_a_column_of_its_stream(text: str, columns: list[str]) -> None:
    entry = bound(text)
    assert computed(entry) == {"p": columns}
    assert decode(encode(entry.plan)) == entry.plan
    program = optimize({"q": entry.plan})
    assert not program.on_results


def test_the_columns_of_a_query_stay_as_they_are() -> None:
    entry = bound("SELECT * FROM (SELECT src, len FROM p) WHERE soundex(src) = 'A'")
    assert entry.plan.schema.names == ("src", "len")
    entry = bound("SELECT src, dst FROM p UNION ALL SELECT soundex(k), h FROM q")
    assert computed(entry) == {"p": [], "q": ["soundex(`k`)"]}
    entry = bound(
        "SELECT soundex(src) AS s, count(*) AS n FROM (p UNION p) [RANGE 1 MINUTE] "
        "GROUP BY soundex(src)"
    )
    assert computed(entry) == {"p": ["soundex(`src`)"]}


def test_join_keys_are_columns_of_both_sides() -> None:
    entry = bound(
        "SELECT a.len FROM p a JOIN q b WITHIN 5 SECONDS ON lower(sha2(a.src, 256)) = soundex(b.k)"
    )
    assert computed(entry) == {"p": ["lower(sha2(`src`, 256))"], "q": ["soundex(`k`)"]}
    [left] = [line for line in explain(entry.plan).splitlines() if "Join" in line]
    assert "where a.spark_" in left
    assert "= b.spark_" in left
    optimize({"q": entry.plan})


def test_of_one_stream_both_inputs_have_the_same_columns() -> None:
    entry = bound(
        "SELECT a.len FROM p a JOIN p b WITHIN 5 SECONDS ON soundex(a.src) = sha2(b.src, 256)"
    )
    assert computed(entry) == {"p": ["sha2(`src`, 256)", "soundex(`src`)"]}
    optimize({"q": entry.plan})


def test_behind_an_aggregate_calls_are_computed_on_result_rows() -> None:
    entry = bound(
        "SELECT sha2(concat(src, cast(sum(len) AS STRING)), 256) AS h, length(soundex(src)) AS l, "
        "1 + count(*) AS n FROM p [RANGE 1 MINUTE] GROUP BY src "
        "HAVING soundex(src) = 'X' AND sum(len) > 3 ORDER BY window_end"
    )
    assert computed(entry) == {"p": []}
    below, after = split_results(entry.plan)
    assert after is not None
    assert sorted(each.sql for each in after.computed) == [
        "sha2(concat(`src`, cast(`sum_len` AS STRING)), 256)",
        "soundex(`src`)",
    ]
    assert str(after.condition).endswith("= 'X'")
    assert [column.name for column in after.columns] == list(entry.plan.schema.names)
    assert explain(below).startswith(
        "Ordered by window_end\n  Project src, sum_len, count, window_start, window_end\n"
        "    Select sum_len > 3\n      WindowAggregate"
    )
    program = optimize({"q": entry.plan})
    assert program.on_results == {"q": after}
    assert decode(encode(after)) == after


def test_what_an_outer_join_may_pad_is_computed_behind_it() -> None:
    entry = bound(
        "SELECT coalesce(soundex(b.k), 'none') AS k FROM p a LEFT JOIN q b WITHIN 5 SECONDS "
        "ON a.src = b.k"
    )
    assert computed(entry) == {"p": [], "q": []}
    _, after = split_results(entry.plan)
    assert after is not None


def test_what_is_computed_between_two_aggregates_is_refused() -> None:
    entry = bound(
        "SELECT max(soundex(cast(n AS STRING))) AS m FROM (SELECT src, count(*) AS n, window_end "
        "FROM p [RANGE 1 MINUTE] GROUP BY src) [RANGE 1 HOUR, WA window_end] GROUP BY src"
    )
    with pytest.raises(NotExecutable, match="cannot compute `soundex"):
        optimize({"q": entry.plan})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "SELECT * FROM p MATCH_RECOGNIZE (PARTITION BY src ORDER BY ts MEASURES LAST(ts) AS t "
            "PATTERN (A B) DEFINE B AS soundex(B.dst) = 'X')",
            "inside MATCH_RECOGNIZE[\\s\\S]*CREATE VIEW",
        ),
        ("SELECT a.src FROM SEQ(p a, p b) WHERE soundex(a.dst) = soundex(b.dst)", "inside SEQ"),
        ("CREATE STREAM x (s STRING) TIMESTAMP BY to_date(s)", "`event_ts`: it is DATE"),
        ("SELECT parse_json(src) AS x FROM p", "variant, which no column here can be"),
        ("SELECT sha2(nope, 256) FROM p", "no column `nope`"),
        ("SELECT sha2(cast(now() AS STRING), 256) FROM p", "no single current time"),
        ("SELECT uper(src) FROM p", "did you mean `upper`"),
        ("SELECT sum(len) [RANGE 1 MINUTE], sha2(dst, 256) FROM p", "neither grouped nor"),
    ],
)
def test_what_is_wrong_is_said_where_it_stands(text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        split_results(bound(text).plan)


def test_without_spark_a_function_of_sparks_is_refused_with_the_way_out() -> None:
    catalog = Catalog()
    *streams, query = parse(STREAMS + "SELECT sha2(src, 256) AS h FROM p")
    for statement in streams:
        apply(statement, catalog)
    assert isinstance(query, BareSelect)
    with pytest.raises(UnknownName, match="a function of Spark's, which this process") as refused:
        apply(named(query, catalog), catalog)
    assert "run the query there" in str(refused.value)


def test_queries_over_a_view_share_its_columns() -> None:
    entry = bound(
        "CREATE VIEW v AS SELECT soundex(src) AS k, ts, len FROM p;"
        "SELECT k, count(*) AS n, sum(crc32(k)) AS c FROM v [RANGE 1 MINUTE] GROUP BY k"
    )
    assert computed(entry) == {"p": ["crc32(soundex(`src`))", "soundex(`src`)"]}


def test_in_a_pattern_of_rows_it_is_refused() -> None:
    entry = bound(
        "SELECT * FROM p MATCH_RECOGNIZE (PARTITION BY src ORDER BY ts MEASURES LAST(A.len) AS l "
        "PATTERN (A B) DEFINE B AS soundex(B.dst) = 'X')"
    )
    with pytest.raises(NotExecutable, match="cannot compute `soundex"):
        optimize({"q": entry.plan})


def test_functions_of_users_inside_are_the_kernels() -> None:
    """So they come before Spark, which is on result rows."""
    catalog = Catalog(FakeSpark())
    *streams, query = parse(STREAMS + "SELECT soundex(twice(src)) AS s, twice(soundex(dst)) FROM p")
    for statement in streams:
        apply(statement, catalog)
    takes = (Column("text", Type.STRING),)
    catalog.add_function(UserFunction("twice", takes, Type.STRING, code=lambda text: text * 2))
    assert isinstance(query, BareSelect)
    entry = apply(named(query, catalog), catalog)
    assert isinstance(entry, QueryEntry)
    assert computed(entry) == {"p": ["soundex(`dst`)"]}
    below, after = split_results(entry.plan)
    assert after is not None
    assert [each.sql for each in after.computed] == ["soundex(`input_1`)"]
    assert "twice(src) AS input_1" in explain(below)


def test_an_expression_of_ours_is_the_same_in_sql_for_spark() -> None:
    text = (
        "CREATE STREAM r (a ARRAY<STRUCT<x: INT, `odd name`: STRING>>, m MAP<STRING, INT>, "
        "d DECIMAL(10, 2), c TIMESTAMP_NTZ, ts TIMESTAMP) TIMESTAMP BY ts; "
        "SELECT soundex(p) AS s FROM (SELECT CASE WHEN d > 1.50 AND m['k'] = 1 AND "
        "c > TIMESTAMP_NTZ '2026-01-01 00:00:00' THEN a[0].`odd name` END AS p FROM r)"
    )
    assert computed(bound(text)) == {
        "r": [
            "soundex(CASE WHEN (((`d` > CAST('1.50' AS DECIMAL(3, 2))) AND (`m`['k'] = 1)) AND "
            "(`c` > TIMESTAMP_NTZ '2026-01-01 00:00:00')) THEN `a`[0].`odd name` ELSE NULL END)"
        ]
    }


def test_spark_computes_in_the_zone_of_the_query() -> None:
    """Columns that are the same in SQL are different ones; what mixes zones stays apart."""
    text = "SET TIME ZONE 'Europe/Zurich'; SELECT crc32(cast(ts AS STRING)) AS c, soundex(t) AS s "
    text += "FROM (SELECT *, cast(date_trunc('day', ts) AS STRING) AS t FROM p)"
    [stream] = streams_of(bound(text).plan).values()
    assert {each.sql: each.zone for each in stream.computed} == {
        "crc32(cast(`ts` AS STRING))": "Europe/Zurich",
        "soundex(CAST(date_trunc('day', `ts`) AS STRING))": "Europe/Zurich",
    }
    [other] = streams_of(bound(text.replace("Europe/Zurich", "UTC")).plan).values()
    assert {each.sql for each in other.computed} == {each.sql for each in stream.computed}
    assert not {each.name for each in other.computed} & {each.name for each in stream.computed}
    assert decode(encode(stream)) == stream
