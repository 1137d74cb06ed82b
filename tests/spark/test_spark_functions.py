"""Functions of Spark SQL in queries: the same answers as Spark gives over the same rows at once."""

from __future__ import annotations

import json
import random
import re
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import NotExecutable, TypeMismatch, UnknownName
from penstock.spark.engine import Engine
from tests.spark.spark_expressions import expressions

COLUMNS = "s STRING, j STRING, n INT, b BIGINT, x DOUBLE, d DATE, bin BINARY, ts TIMESTAMP"
START = datetime(2026, 1, 1)
#: Expressions of a query.
TOGETHER = 12


def write_rows(folder: Path, seed: int, count: int = 200) -> None:
    draw = random.Random(seed)
    words = ["alpha", "beta", "gamma12", "", None, "delta-ä", "zaaz", "Alpha Beta"]
    rows: list[dict[str, Any]] = []
    for number in range(count):
        word = draw.choice(words)
        value = draw.choice([None, *range(-9, 10)])
        record = {"k": word, "v": value, "a": [1, value, 3]}
        rows.append(
            {
                "s": word,
                "j": draw.choice([json.dumps(record), "{broken", None]),
                "n": value,
                "b": draw.randrange(1 << 40),
                "x": round(draw.uniform(-50, 50), 3),
                "d": (START + timedelta(days=draw.randrange(400))).date(),
                "bin": None if word is None else word.encode(),
                "ts": START + timedelta(seconds=number),
            }
        )
    schema: dict[str, Any] = {
        **{"s": pl.String, "j": pl.String, "n": pl.Int32, "b": pl.Int64, "x": pl.Float64},
        **{"d": pl.Date, "bin": pl.Binary, "ts": pl.Datetime("us")},
    }
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{seed:03}.parquet"
    pl.DataFrame(rows, schema=schema).write_parquet(hidden)
    hidden.rename(folder / f"{seed:03}.parquet")


def declared(spark: SparkSession, folder: Path, checkpoint: Path | None = None) -> Engine:
    engine = Engine(spark, checkpoint=checkpoint)
    engine.sql(f"CREATE STREAM r ({COLUMNS}) FROM parquet '{folder}' TIMESTAMP BY ts SLACK 1 HOUR")
    return engine


def at_once(engine: Engine, folder: Path, text: str) -> list[tuple[Any, ...]]:
    """What Spark answers to the same over the files, under the settings of our queries."""
    frame = engine.session.read.schema(COLUMNS).parquet(str(folder))
    frame.createOrReplaceTempView("r")
    return in_order(engine.session.sql(text).toArrow())


def in_order(rows: Any) -> list[tuple[Any, ...]]:
    """Rows as they compare: times without zones, numbers to nine digits, sorted."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.replace(tzinfo=None)
        return float(f"{value:.9g}") if isinstance(value, float) else value

    found = pl.DataFrame(pl.from_arrow(rows)) if not isinstance(rows, pl.DataFrame) else rows
    return sorted((tuple(map(plain, row)) for row in found.iter_rows()), key=repr)


def run(engine: Engine) -> None:
    engine.start(to_end=True)
    engine.finish()


#: How many expressions are drawn; many of them by the seed that the suite prints. Many stand in
#: every place, and then all that there are are selected.
MANY = 60
COUNTS = [6, pytest.param(MANY, marks=pytest.mark.slow)]


@pytest.fixture
def drawn(request: pytest.FixtureRequest, count: int) -> list[str]:
    seed = request.config.getoption("--hypothesis-seed") or 16
    return random.Random(f"{seed}").sample(expressions(), count)


def selected(drawn: list[str]) -> list[list[str]]:
    return [drawn[i : i + TOGETHER] for i in range(0, len(drawn), TOGETHER)]


@pytest.mark.parametrize("count", COUNTS)
def test_they_are_computed_in_select_where_group_by_aggregates_and_on_results(
    spark: SparkSession, tmp_path: Path, drawn: list[str]
) -> None:
    folder = tmp_path / "r"
    write_rows(folder, 1)
    write_rows(folder, 2)
    engine = declared(spark, folder)
    asked: dict[str, str] = {}
    every = expressions() if len(drawn) == MANY else drawn
    for number, some in enumerate(selected(every)):
        columns = ", ".join(f"{each} AS c{place}" for place, each in enumerate(some))
        engine.sql(f"CREATE QUERY select_{number} AS SELECT b, {columns} FROM r")
        asked[f"select_{number}"] = f"SELECT b, {columns} FROM r"
    # Again in WHERE, as group keys and in aggregates: few of them in one of these places.
    places = [(number, each) for each in drawn for number in range(3)]
    for number, (place, each) in enumerate(places if len(drawn) == MANY else places[::4]):
        where = f"({each}) IS NOT NULL AND hash({each}) % 2 = 0"
        name = f"q_{number}"
        match place:
            case 0:
                text = f"SELECT b FROM r WHERE {where}"
                asked[name] = text
            case 1:
                text = f"SELECT {each} AS k, count(*) AS m FROM r [RANGE 1 DAY] GROUP BY {each}"
                asked[name] = (
                    f"SELECT {each} AS k, count(*) AS m, timestamp '2026-01-01' AS a, "
                    f"timestamp '2026-01-02' AS e FROM r GROUP BY {each}"
                )
            case _:
                head = "SELECT s, count(*) AS m, sum(crc32(bin)) AS c, sha2(s, 224) AS h"
                text = f"{head}, count({each}) AS f FROM r [RANGE 1 DAY] GROUP BY s"
                text += " HAVING soundex(s) <> 'A410' OR s IS NULL"
                asked[name] = (
                    f"{head}, count({each}) AS f, timestamp '2026-01-01' AS a, "
                    "timestamp '2026-01-02' AS e FROM r GROUP BY s "
                    "HAVING soundex(s) <> 'A410' OR s IS NULL"
                )
        engine.sql(f"CREATE QUERY {name} AS {text}")
    shown = engine.query("select_0").explain()
    assert "r: Spark computes in front of the exchange spark_" in shown
    run(engine)
    wrong = []
    for name, text in asked.items():
        mine, theirs = in_order(engine.query(name).results()), at_once(engine, folder, text)
        if mine != theirs:
            other = [pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]]
            wrong.append((text, len(mine), len(theirs), other[:2]))
    assert not wrong
    assert all(engine.query(name).rows for name in asked if name.startswith("select"))


# Each of them is a pipeline: no two are spread alike.
@pytest.mark.parametrize("count", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_they_are_join_keys(spark: SparkSession, tmp_path: Path, drawn: list[str]) -> None:
    folder = tmp_path / "r"
    write_rows(folder, 3, 60)
    engine = declared(spark, folder)
    asked = {}
    for number, each in enumerate(drawn if len(drawn) == MANY else drawn[::2]):
        left, right = (expression_of(each, name) for name in ("p", "q"))
        text = f"SELECT p.b AS b, q.b AS c FROM r p JOIN r q WITHIN 1 MINUTE ON {left} = {right}"
        engine.sql(f"CREATE QUERY j_{number} AS {text}")
        asked[f"j_{number}"] = (
            f"SELECT p.b AS b, q.b AS c FROM r p JOIN r q ON {left} = {right} "
            "AND abs(unix_micros(p.ts) - unix_micros(q.ts)) <= 60000000"
        )
    run(engine)
    for name, text in asked.items():
        assert in_order(engine.query(name).results()) == at_once(engine, folder, text), text


def expression_of(text: str, name: str) -> str:
    """The expression with its columns taken from one input."""
    pieces = re.split(r"('(?:[^'\\]|\\.)*')", text)
    columns = r"(?<![.\w])(s|j|n|b|x|d|bin|ts)\b(?![(\w])"
    return "".join(
        piece if piece.startswith("'") else re.sub(columns, rf"{name}.\1", piece)
        for piece in pieces
    )


def test_functions_that_were_registered_are_known(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(tmp_path / "r", 4, 20)
    spark.udf.register("twice_of", lambda n: None if n is None else 2 * n, "int")
    engine = declared(spark, tmp_path / "r")
    engine.sql("CREATE QUERY q AS SELECT n, twice_of(n) + 1 AS t FROM r WHERE n IS NOT NULL")
    run(engine)
    rows = engine.query("q").results()
    assert rows.height
    assert rows.get_column("t").to_list() == [2 * n + 1 for n in rows.get_column("n")]


@pytest.mark.parametrize(
    ("expression", "error", "says"),
    [
        ("rand()", NotExecutable, "something else each time"),
        ("uuid()", NotExecutable, "something else each time"),
        ("monotonically_increasing_id()", NotExecutable, "something else each time"),
        ("unix_timestamp()", NotExecutable, "no single current time"),
        ("sha2(cast(now() AS STRING), 256)", NotExecutable, "no single current time"),
        ("stack(1, n)", NotExecutable, "not one value of each row"),
        ("regr_slope(n, x)", NotExecutable, "not one value of each row"),
        ("sha2(s)", TypeMismatch, "requires 2 parameters"),
        ("parse_json(s)", NotExecutable, "variant, which no column here can be"),
        ("array()", NotExecutable, "array<void>, which no column here can be"),
        ("frobnicate(s)", UnknownName, "no function `frobnicate`"),
    ],
)
def test_what_is_not_a_function_of_a_row_is_refused(
    spark: SparkSession, tmp_path: Path, expression: str, error: type[Exception], says: str
) -> None:
    write_rows(tmp_path / "r", 5, 5)
    engine = declared(spark, tmp_path / "r")
    with pytest.raises(error, match=says):
        engine.sql(f"SELECT {expression} AS v FROM r")


def test_what_the_page_says_of_them_can_be_declared(spark: SparkSession, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()
    [text] = re.findall(r"^```sql on Spark\n(.*?)^```$", page, re.M | re.S)
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM packets (src STRING, dst STRING, len INT, ts TIMESTAMP) "
        f"FROM parquet '{tmp_path}' TIMESTAMP BY ts"
    )
    shown = engine.sql(text).explain()
    assert "in front of the exchange spark_" in shown
    assert "on result rows spark_" in shown


def test_malformed_rows_and_times_of_arrival_are_as_ever(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(
        "k,n,ts\na,1,2026-01-01 00:00:01\nb,x,2026-01-01 00:00:02\nc,3,2026-01-01 00:00:03\n"
    )
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM v (k STRING, n INT, ts TIMESTAMP) FROM csv '{tmp_path / 'in'}' "
        "TIMESTAMP BY ts SLACK 1 HOUR, INTERNAL;"
        "CREATE QUERY q AS SELECT k, sha2(k, 256) AS h, "
        "cast(date_format(arrival_ts, 'yyyy') AS INT) > 2020 AS late FROM v"
    )
    run(engine)
    rows = engine.query("q").results().sort("k")
    assert rows.get_column("k").to_list() == ["a", "c"]
    assert rows.get_column("h").to_list() == [sha256(k.encode()).hexdigest() for k in "ac"]
    assert rows.get_column("late").to_list() == [True, True]
    assert engine.counts("v").malformed == 1
    assert "spark_" not in str([each.rows.columns for each in engine.rejected_rows])


def test_pipelines_read_what_they_have_read(spark: SparkSession, tmp_path: Path) -> None:
    """Also when they are continued: a query that needs another column gets one of its own."""
    folder = tmp_path / "r"
    write_rows(folder, 1, 20)
    known = "CREATE QUERY known AS SELECT b, sha2(s, 256) AS h FROM r WHERE n > 0"
    engine = declared(spark, folder, tmp_path / "kept")
    engine.sql(known)
    engine.start()
    engine.process_available()
    engine.sql("CREATE QUERY same AS SELECT s, sha2(s, 256) AS h FROM r")
    engine.sql("CREATE QUERY other AS SELECT b, soundex(s) AS x FROM r")
    assert [sorted(each.group.queries) for each in engine._running] == [
        ["known", "same"],
        ["other"],
    ]
    assert "Spark does not compute soundex(`s`) there" in engine.query("other").explain()
    write_rows(folder, 2, 20)
    engine.process_available()
    assert engine.query("same").rows == 20
    assert engine.query("other").rows == 40
    engine.stop()
    [log] = sorted((tmp_path / "kept" / "known" / "programs").glob("*.json"))[-1:]
    assert '"sql": "sha2(`s`, 256)"' in log.read_text()
    engine = declared(spark, folder, tmp_path / "kept")
    engine.sql(known)
    engine.sql("CREATE QUERY same AS SELECT s, sha2(s, 256) AS h FROM r")
    engine.sql("CREATE QUERY other AS SELECT b, soundex(s) AS x FROM r")
    engine.sql("CREATE QUERY third AS SELECT b, crc32(bin) AS x FROM r")
    write_rows(folder, 3, 20)
    engine.start()
    engine.process_available()
    assert engine.query("same").rows == 20
    assert engine.query("third").rows == 60
    engine.stop()
