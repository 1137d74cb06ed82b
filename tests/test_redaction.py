"""No secret is shown: not in errors, not in what describes a program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock import redaction
from penstock.errors import PenstockError
from penstock.local.engine import LocalEngine
from penstock.model.streams import Origin, Sink
from penstock.redaction import is_secret, redacted, redacted_sql

JAAS = 'org.apache.X required username="ada" password="hunter2";'
KAFKA = f"CREATE STREAM s (v INT) FROM kafka OPTIONS (kafka.sasl.jaas.config '{JAAS}', {{rest}})"


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.jaas.config",
        "kafka.ssl.truststore.password",
        "kafka.ssl.keystore.key",
        "PASSWORD",
        "dbPassword",
        "sas_token",
        "fs.s3a.access.key",
        "fs.azure.account.key.name.blob.core.windows.net",
        "client-secret",
        "apikey",
    ],
)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["keys", "subscribe", "kafka.group.id", "header", "tokenizer"])
def test_other_options_are_not_secrets(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    "rest",
    [
        "password hunter2",
        "password 'hunter2' subscribe",
        "a 'b', a 'c'",
        "password = 'hunter2', SLACK",
    ],
)
def test_an_error_does_not_show_the_secrets_of_its_line(rest: str) -> None:
    with pytest.raises(PenstockError) as caught:
        LocalEngine().sql(KAFKA.format(rest=rest))
    assert "hunter2" not in str(caught.value)
    place = caught.value.place()
    assert place is not None
    line, underline = place.splitlines()
    assert len(line) == len("  " + KAFKA.format(rest=rest)) >= len(underline.rstrip())


def test_what_shows_itself_shows_no_secrets() -> None:
    options = (("password", "hunter2"), ("url", "jdbc:x://h?user=u&password=hunter2"))
    for shown in (Origin("jdbc", None, options), Sink("jdbc", "x://u:hunter2@h", options)):
        assert "hunter2" not in f"{shown} {shown!r}"
        assert "user=u" in repr(shown)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:hunter2@h/db",
        "redis://:hunter2@h:6379/0",
        "redis://:un/ter@hunter2@h/0",
        "postgresql://h/db?user=ada&password=hunter2",
    ],
)
@pytest.mark.parametrize(
    "text",
    ["CREATE QUERY q INTO x '{}' AS SELECT v FORM s", "CREATE STREAM t (v INT) FROM x '{}' ,"],
)
def test_an_error_does_not_show_the_password_of_an_address(address: str, text: str) -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT)")
    with pytest.raises(PenstockError) as caught:
        engine.sql(text.format(address))
    assert "hunter2" not in str(caught.value) and "un/ter" not in str(caught.value)


@pytest.mark.parametrize("options", ["", " OPTIONS (table 't')", " OPTIONS (nonsense 't')"])
@pytest.mark.parametrize(
    "place",
    [
        "postgres 'host=127.0.0.1 port=1 user=ada password=hunter2 dbname=d'",
        "postgres 'host=h password = hunter2'",
        "postgres \"host=h password='its hunter2' user=x\"",
        "postgres 'postgresql:ada:hunter2@h/d'",
        "postgres 'ada:hunter2@127.0.0.1:1/d'",
        "postgres 'postgresql://ada:hunter2@127.0.0.1:1/d'",
        "redis 'redis:ada:hunter2@h'",
        "redis ':hunter2@h:1'",
        "redis 'redis://:hunter2@127.0.0.1:1'",
        "parquet 's3:ada:hunter2@bucket'",
        "csv 'password=hunter2'",
    ],
)
def test_no_error_shows_the_password_of_a_place_that_is_written_wrongly(
    place: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k INT)")
    shown = []
    for text in (
        f"CREATE QUERY q INTO {place}{options} AS SELECT k, FROM s",
        f"CREATE QUERY q INTO {place}{options} AS SELECT k FROM s",
        f"CREATE STREAM t (k INT) FROM {place}{options} ORDERED, ORDERED",
        f"CREATE STREAM t (k INT) FROM {place}{options}; SELECT k FROM t",
    ):
        try:
            engine.sql(text)
            engine.push("s", [{"k": 1}])
        except PenstockError as error:
            shown.append(f"{error} {error!r}")
    try:
        engine.finish()
    except PenstockError as error:
        shown.append(f"{error} {error!r}")
    assert len(shown) > 1
    assert not [text for text in shown if "hunter2" in text]


def test_a_name_of_a_thing_is_shown_where_it_is_no_secret() -> None:
    assert "clicks" in repr(Sink("redis", "redis://h", (("key", "clicks"),)))
    assert "abc" not in repr(Sink("jdbc", "x", (("key", "abc"),)))


def test_what_spark_says_is_shown_without_secrets() -> None:
    said = PenstockError(f"the query failed on Spark: sasl.jaas.config = {JAAS}")
    assert "hunter2" not in str(said)
    assert 'username="ada"' in str(said)


def test_a_query_keeps_its_columns() -> None:
    sql = "SELECT a.key, b.token FROM a JOIN b ON a.key = b.key WHERE key = 'x'"
    assert redacted_sql(sql) == sql
    assert redacted("no column `key`: x, a.key = 5") == "no column `key`: x, a.key = 5"


def test_patterns_are_those_of_python_3_10() -> None:
    """Possessive quantifiers and atomic groups came later: there the package would not load."""
    found = vars(redaction).values()
    named = [each for pair in found if isinstance(pair, redaction._Named) for each in pair]
    patterns = [*named, *(each for each in found if isinstance(each, re.Pattern))]
    assert len(patterns) > 6
    assert not [each for each in patterns if re.search(r"[+*?}]\+|\(\?>", each.pattern)]


def test_a_long_word_is_looked_at_once() -> None:
    assert redacted("x" * 100_000) == "x" * 100_000
    assert redacted("//a:" * 5_000).startswith("//a:")
