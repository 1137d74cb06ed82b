"""Queries of the examples and of the specification equal their definition, however they run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from penstock.errors import NotExecutable
from penstock.verification.report import as_json, lines
from penstock.verification.verify import Verification
from tests.engine.query_files import FILES
from tests.engine.test_sql_aggregates import AVG
from tests.verification.corpus import EVERYTHING, EXAMPLES, ROOT, specification


def verified(text: str, seeds: int, rows: int = 60) -> Verification:
    done = Verification(text, rows)
    for _ in done.run(range(seeds)):
        pass
    assert done.outcome.found is None, "\n".join(lines(done))
    return done


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_equals_its_definition(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = verified(file.read_text(), seeds=1, rows=25)
    assert all(sample.rows is not None for sample in done.samples.values())


@pytest.mark.slow
def test_the_queries_of_the_specification_equal_their_definition() -> None:
    done = verified(specification(), seeds=25)
    assert done.outcome.not_judged == {}
    assert len(done.outcome.compared) == 26


def test_every_kind_of_stream_and_query_equals_its_definition() -> None:
    done = verified(EVERYTHING, seeds=1, rows=12)
    answers = done.outcome.answers
    assert [each.name for each in done.planned if not answers[each.name]] == []
    assert done.outcome.in_part.keys() == {"types", "early"}


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_equals_its_definition_over_many_seeds(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    verified(file.read_text(), seeds=40, rows=200)


@pytest.mark.slow
def test_every_kind_equals_its_definition_over_many_seeds() -> None:
    verified(EVERYTHING, seeds=60)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_query_file_equals_its_definition(file: Path) -> None:
    verified(yaml.safe_load(file.read_text())["sql"], seeds=15)


def test_rows_come_from_the_streams_files_where_they_meet(tmp_path: Path) -> None:
    for name, keys, first in (("a", 50, 0), ("b", 3, 40)):
        frame = pl.DataFrame(
            {
                "k": [f"k{n % keys}" for n in range(2000)],
                "v": list(range(2000)),
                "ts": [first * 1000 + n for n in range(2000)],
            }
        ).with_columns(pl.from_epoch("ts", time_unit="ms"))
        (tmp_path / name).mkdir()
        frame.write_parquet(tmp_path / name / "1.parquet")
    done = verified(
        f"""
        CREATE STREAM a (k STRING, v INT, ts TIMESTAMP) FROM parquet '{tmp_path}/a' TIMESTAMP BY ts;
        CREATE STREAM b (k STRING, v INT, ts TIMESTAMP) FROM parquet '{tmp_path}/b' TIMESTAMP BY ts;
        SELECT a.k, b.v FROM a JOIN b ON a.k = b.k WITHIN 50 SECONDS;
        """,
        seeds=1,
        rows=25,
    )
    rows = [row for batch in done.case(0).batches for row in batch.rows.get("a", ())]
    assert {row["k"] for row in rows} & {"k0", "k1", "k2"}
    assert done.outcome.answers["query_1"] > 0
    assert as_json(done)["streams"]["a"]["generated"] is False


def test_a_query_that_gives_nothing_is_tried_with_more_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"v": list(range(200)), "ts": list(range(200))})
    frame.with_columns(pl.from_epoch("ts", time_unit="s")).write_parquet(tmp_path / "1.parquet")
    text = (
        f"CREATE STREAM s (v INT, ts TIMESTAMP) FROM parquet '{tmp_path}' TIMESTAMP BY ts; "
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 DAY] HAVING count(*) >= 30"
    )
    done = verified(text, seeds=1, rows=10)
    assert done.outcome.most_rows["s"] == 50
    assert done.outcome.answers["q"] > 0


def test_a_file_without_a_query_is_refused() -> None:
    with pytest.raises(NotExecutable, match="no query to verify"):
        Verification("CREATE STREAM s (k INT)")


def test_what_cannot_be_judged_is_told() -> None:
    text = (
        "CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts; CREATE QUERY q AS "
        "SELECT approx_count_distinct(v) AS n FROM s [RANGE 1 SECOND] HAVING n > 1"
    )
    assert "q: not judged: " in "\n".join(lines(verified(text, seeds=1)))


def test_rows_are_made_where_only_spark_knows_how_to_read_them(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("k,ts\na,01/02/2026\n")
    done = verified(
        f"CREATE STREAM s (k STRING, ts TIMESTAMP) FROM csv '{tmp_path}' "
        "OPTIONS (timestampFormat 'dd/MM/yyyy') TIMESTAMP BY ts SLACK 1 SECOND;"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k",
        seeds=1,
    )
    assert "without the option `timestampFormat`" in "\n".join(lines(done))


def test_aggregates_of_users_equal_their_definition() -> None:
    """Row by row as they are written, whatever they are folded into and wherever it restarts."""
    text = (
        "CREATE STREAM s (k INT, v INT, ts BIGINT) TIMESTAMP BY ts SLACK 5;"
        f"{AVG}"
        "CREATE AGGREGATE changes(next INT) RETURNS BIGINT { TABLE state (latest INT, n BIGINT);"
        "INITIALIZE: INSERT INTO state VALUES (next, 0);"
        "ITERATE: UPDATE state SET latest = next, n = n + 1 WHERE latest <> next;"
        "TERMINATE: INSERT INTO RETURN SELECT n FROM state };"
        "CREATE QUERY q AS SELECT k, s_avg(v) AS a FROM s [RANGE 10, SLIDE 5] GROUP BY k;"
        "CREATE QUERY p AS SELECT k, changes(v) AS c FROM s [RANGE 10, SLIDE 5] GROUP BY k"
    )
    verified(text, seeds=2, rows=20)
