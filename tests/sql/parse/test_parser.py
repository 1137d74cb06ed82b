"""Texts become statements, which keep the text they came from."""

from __future__ import annotations

import pytest

from penstock.errors import SyntaxFault
from penstock.model.assignments import Duration, ParameterValue, Rows
from penstock.model.ets import periodic
from penstock.model.schema import Column
from penstock.model.streams import Origin, Sink, TimestampKind
from penstock.model.types import Type
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import (
    LISTED,
    AlterQuery,
    BareSelect,
    CreateQuery,
    CreateStream,
    CreateView,
    Declare,
    DescribeStatement,
    Drop,
    Explain,
    SetStatement,
    ShowStatement,
)


def test_a_script_is_a_list_of_statements() -> None:
    text = "SET union = merge;\n\n-- now the query\nSELECT a FROM s;;\nDROP VIEW v;"
    assert [type(s) for s in parse(text)] == [SetStatement, BareSelect, Drop]
    assert [s.sql for s in parse(text)] == ["SET union = merge", "SELECT a FROM s", "DROP VIEW v"]


def test_a_statement_knows_its_line() -> None:
    _, second = parse("SET union = merge;\nSELECT a FROM s")
    assert (second.position.line, second.position.column) == (2, 1)


@pytest.mark.parametrize("text", ["", "   ", ";", " ; ;\n", "-- nothing", "/* nothing */ ;"])
def test_a_text_without_statements_gives_none(text: str) -> None:
    assert parse(text) == []


def test_a_stream_with_everything() -> None:
    [statement] = parse(
        "CREATE OR REPLACE STREAM Packets (src STRING, `odd name` INT, ts TIMESTAMP) "
        "FROM Parquet 'data/packets' OPTIONS (mergeSchema 'true', a.b.c = 5, 'x y' FALSE) "
        "TIMESTAMP BY TS SLACK 1 MINUTE"
    )
    assert isinstance(statement, CreateStream)
    assert statement.replace
    stream = statement.stream
    assert stream.name == "Packets"
    assert stream.columns[1] == Column("odd name", Type.INT)
    assert stream.origin == Origin(
        "parquet", "data/packets", (("mergeSchema", "true"), ("a.b.c", "5"), ("x y", "FALSE"))
    )
    assert (stream.kind, stream.timestamp, stream.slack) == (
        TimestampKind.EXTERNAL,
        "ts",
        60_000_000,
    )


def test_a_stream_without_a_source_is_pushed_by_the_program() -> None:
    [statement] = parse("CREATE STREAM s (a INT)")
    assert isinstance(statement, CreateStream)
    assert statement.stream.origin == Origin("push")
    assert statement.stream.kind is TimestampKind.LATENT
    assert statement.stream.timestamp is None


def test_a_source_may_have_no_path() -> None:
    [statement] = parse("CREATE STREAM s (a INT) FROM rate OPTIONS (rowsPerSecond 10)")
    assert isinstance(statement, CreateStream)
    assert statement.stream.origin == Origin("rate", None, (("rowsPerSecond", "10"),))


@pytest.mark.parametrize(
    ("clause", "column"),
    [
        ("TIMESTAMP INTERNAL", "arrival_ts"),
        ("TIMESTAMP INTERNAL AS seen", "seen"),
        ("TIMESTAMP INTERNAL AS Already", "already"),
    ],
)
def test_an_internal_timestamp_is_a_column_that_rows_do_not_bring(clause: str, column: str) -> None:
    [statement] = parse(f"CREATE STREAM s (a INT, already TIMESTAMP) {clause}")
    assert isinstance(statement, CreateStream)
    stream = statement.stream
    assert stream.kind is TimestampKind.INTERNAL
    assert stream.timestamp == column
    assert column in stream.schema.progressing
    assert column not in [c.name for c in stream.arriving]


def test_a_punctuated_stream_has_no_slack() -> None:
    [statement] = parse("CREATE STREAM s (n BIGINT) TIMESTAMP BY n PUNCTUATED")
    assert isinstance(statement, CreateStream)
    assert statement.stream.slack is None


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        ("BOOLEAN", Type.BOOLEAN),
        ("tinyint", Type.TINYINT),
        ("SMALLINT", Type.SMALLINT),
        ("INT", Type.INT),
        ("INTEGER", Type.INT),
        ("BIGINT", Type.BIGINT),
        ("LONG", Type.BIGINT),
        ("FLOAT", Type.FLOAT),
        ("REAL", Type.FLOAT),
        ("DOUBLE", Type.DOUBLE),
        ("STRING", Type.STRING),
        ("VARCHAR(20)", Type.STRING),
        ("CHAR(2)", Type.STRING),
        ("TEXT", Type.STRING),
        ("BINARY", Type.BINARY),
        ("DATE", Type.DATE),
        ("TIMESTAMP", Type.TIMESTAMP),
        ("TIMESTAMP_NTZ", Type.TIMESTAMP_NTZ),
    ],
)
def test_types_have_their_spark_names(written: str, type_: Type) -> None:
    [statement] = parse(f"CREATE STREAM s (a {written})")
    assert isinstance(statement, CreateStream)
    assert statement.stream.columns == (Column("a", type_),)


def test_a_query_with_a_sink() -> None:
    [statement] = parse(
        "CREATE OR REPLACE CONTINUOUS QUERY top INTO CSV 'out/top' OPTIONS (header TRUE) "
        "AS SELECT a FROM s"
    )
    assert isinstance(statement, CreateQuery)
    assert (statement.name, statement.replace) == ("top", True)
    assert statement.sink == Sink("csv", "out/top", (("header", "TRUE"),))
    assert statement.select.sql == "SELECT a FROM s"


@pytest.mark.parametrize(
    "head", ["CREATE QUERY q", "CREATE CONTINUOUS QUERY q", "create query OR REPLACE q"]
)
def test_a_query_without_a_sink(head: str) -> None:
    [statement] = parse(f"{head} AS WITH x AS (SELECT a FROM s) SELECT a FROM x")
    assert isinstance(statement, CreateQuery)
    assert statement.sink is None
    assert statement.replace == ("REPLACE" in head)


def test_a_view() -> None:
    [statement] = parse("CREATE VIEW v AS (SELECT a FROM s) UNION ALL SELECT b FROM s")
    assert isinstance(statement, CreateView)
    assert (statement.name, statement.replace) == ("v", False)


@pytest.mark.parametrize(
    ("text", "kind", "if_exists"),
    [
        ("DROP STREAM x", "stream", False),
        ("DROP QUERY IF EXISTS x", "query", True),
        ("drop view x", "view", False),
    ],
)
def test_dropping(text: str, kind: str, if_exists: bool) -> None:
    [statement] = parse(text)
    assert isinstance(statement, Drop)
    assert (statement.kind, statement.name, statement.if_exists) == (kind, "x", if_exists)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("DECLARE n = 3 SECONDS", Duration(3_000_000)),
        ("DECLARE n = INTERVAL '3' SECOND", Duration(3_000_000)),
        ("DECLARE n = '3 seconds'", Duration(3_000_000)),
        ("DECLARE n = 12", 12),
        ("DECLARE n = -5", -5),
        ("DECLARE n = 5 ROWS", Rows(5)),
        ("SET n = bfs", "bfs"),
        ("SET n = 'bfs'", "bfs"),
        ("SET late = drop", "drop"),
        ("SET join_alpha = 0.3", 0.3),
        ("SET join_alpha = .5", 0.5),
        ("SET join_alpha = '0.3'", 0.3),
        ("SET rows_per_step = '5'", 5),
        ("SET n = 5 bananas", "5 bananas"),
    ],
)
def test_settings_and_parameters_are_words_numbers_or_durations(text: str, value: object) -> None:
    [statement] = parse(text)
    assert isinstance(statement, SetStatement | Declare)
    assert statement.value == value


def test_a_parameter_may_be_replaced() -> None:
    plain, replacing = parse("DECLARE n = 3; DECLARE OR REPLACE n = 5")
    assert isinstance(plain, Declare)
    assert isinstance(replacing, Declare)
    assert (plain.replace, replacing.replace) == (False, True)


PARAMETERS: dict[str, ParameterValue] = {"w": Duration(5_000_000), "r": Rows(7), "d": 10}


@pytest.mark.parametrize(
    ("clause", "spelt_out"),
    [
        ("TIMESTAMP BY ts SLACK w", "TIMESTAMP BY ts SLACK 5 SECONDS"),
        ("TIMESTAMP BY ts SLACK R", "TIMESTAMP BY ts SLACK 7 ROWS"),
        ("TIMESTAMP BY seq SLACK d", "TIMESTAMP BY seq SLACK 10"),
        ("TIMESTAMP BY ts SLACK w, seq SLACK d", "TIMESTAMP BY ts SLACK 5 SECONDS, seq SLACK 10"),
        (
            "TIMESTAMP BY ts SKEW w MAX AHEAD w",
            "TIMESTAMP BY ts SKEW 5 SECONDS MAX AHEAD 5 SECONDS",
        ),
    ],
)
def test_a_stream_may_be_measured_by_parameters(clause: str, spelt_out: str) -> None:
    text = "CREATE STREAM s (ts TIMESTAMP, seq BIGINT) "
    [named] = parse(text + clause, PARAMETERS)
    [plain] = parse(text + spelt_out)
    assert isinstance(named, CreateStream)
    assert isinstance(plain, CreateStream)
    assert named.stream == plain.stream


def test_a_parameter_holds_from_its_declaration_on() -> None:
    *_, before, _, after, another, ets = parse(
        "DECLARE n = 3 SECONDS; CREATE STREAM a (ts TIMESTAMP) TIMESTAMP BY ts SLACK n;"
        "DECLARE OR REPLACE n = 5 SECONDS; CREATE STREAM b (ts TIMESTAMP) TIMESTAMP BY ts SLACK n;"
        "DECLARE m = n; SET ets = periodic m"
    )
    assert isinstance(before, CreateStream)
    assert isinstance(after, CreateStream)
    assert isinstance(another, Declare)
    assert isinstance(ets, SetStatement)
    assert (before.stream.slack, after.stream.slack) == (3_000_000, 5_000_000)
    assert another.value == Duration(5_000_000)
    assert ets.value == periodic(5_000_000)


def test_what_can_be_explained() -> None:
    by_name, select, create = parse(
        "EXPLAIN talkers; EXPLAIN SELECT a FROM s; EXPLAIN CREATE QUERY q AS SELECT a FROM s"
    )
    assert isinstance(by_name, Explain)
    assert by_name.target == "talkers"
    assert isinstance(select, Explain)
    assert isinstance(select.target, BareSelect)
    assert isinstance(create, Explain)
    assert isinstance(create.target, CreateQuery)


def test_what_else_can_be_shown_of_a_plan() -> None:
    plain, one, both = parse(
        "EXPLAIN (SELECT a FROM s); EXPLAIN (ALTERNATIVES) SELECT a FROM s;"
        "EXPLAIN (analyze, alternatives) talkers"
    )
    assert isinstance(plain, Explain)
    assert isinstance(one, Explain)
    assert isinstance(both, Explain)
    assert (plain.alternatives, plain.analyze) == (False, False)
    assert (one.alternatives, one.analyze) == (True, False)
    assert (both.alternatives, both.analyze, both.target) == (True, True, "talkers")
    with pytest.raises(SyntaxFault, match="expected ALTERNATIVES or ANALYZE, not `costs`"):
        parse("EXPLAIN (ANALYZE, costs) talkers")
    with pytest.raises(SyntaxFault, match="expected ALTERNATIVES or ANALYZE") as caught:
        parse("EXPLAIN (analyse) SELECT a FROM s")
    assert "did you mean `ANALYZE`?" in str(caught.value)
    for also in ("ANALYZE talkers", "alternatives SELECT a FROM s"):
        with pytest.raises(SyntaxFault, match=r"stands in brackets: EXPLAIN \(A"):
            parse(f"EXPLAIN {also}")
    [named] = parse("EXPLAIN analyze")
    assert isinstance(named, Explain)
    assert named.target == "analyze"


def test_keywords_can_be_names_of_columns_when_quoted() -> None:
    [statement] = parse("SELECT count(*) [RANGE 1 minute, WA `range`] FROM `select` AS `from`")
    assert isinstance(statement, BareSelect)


def test_an_error_in_a_script_shows_the_line_it_is_in() -> None:
    with pytest.raises(SyntaxFault) as caught:
        parse("SELECT a FROM s;\nSELECT b FROM t [RANGE 5 lightyears]\nWHERE b > 1")
    assert caught.value.position is not None
    assert caught.value.position.line == 2
    assert "lightyears" in str(caught.value)
    assert "WHERE" not in str(caught.value)


@pytest.mark.parametrize("what", LISTED)
def test_everything_of_a_kind_can_be_shown(what: str) -> None:
    [upper, lower] = parse(f"SHOW {what.upper()}; show {what}")
    assert isinstance(upper, ShowStatement) and isinstance(lower, ShowStatement)
    assert (upper.what, lower.what) == (what, what)


@pytest.mark.parametrize("word", ["DESCRIBE", "desc"])
def test_a_name_can_be_described_and_its_place_is_known(word: str) -> None:
    [statement] = parse(f"{word} `odd name`")
    assert isinstance(statement, DescribeStatement)
    assert statement.name == "odd name"
    assert statement.place.text[statement.place.start :] == "`odd name`"


def test_words_of_these_statements_are_still_names() -> None:
    _, select, _, described = parse(
        "CREATE STREAM show (describe INT, settings INT);"
        "SELECT describe, settings AS queries FROM show;"
        "CREATE QUERY query AS SELECT settings FROM show; DESCRIBE query"
    )
    assert isinstance(select, BareSelect)
    assert isinstance(described, DescribeStatement)
    assert described.name == "query"


def test_options_of_a_query_are_altered_to_values_of_any_kind() -> None:
    [statement] = parse(
        "ALTER QUERY q SET (union = merge, table_size=16, join_alpha = .5, x = 'y')"
    )
    assert isinstance(statement, AlterQuery)
    assert statement.name == "q"
    values = {change.name: change.value for change in statement.changes}
    assert values == {"union": "merge", "table_size": 16, "join_alpha": 0.5, "x": "y"}
    places = [change.position for change in statement.changes]
    assert [place.text[place.start : place.end] for place in places] == [
        "union = merge",
        "table_size=16",
        "join_alpha = .5",
        "x = 'y'",
    ]
