"""Arrays, maps, structs and decimals from nested JSON through every kind of operator, and back."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from penstock.errors import NotExecutable, TypeMismatch, UnknownName
from penstock.local.engine import LocalEngine
from tests.engine import nested_log
from tests.engine.baselines import BaselineEngine
from tests.ticks import push_ticks


def test_a_nested_log_through_every_kind_of_operator_to_parquet_and_back(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql(nested_log.declarations(tmp_path))
    for name, select in nested_log.QUERIES.items():
        engine.sql(f"CREATE QUERY {name} INTO parquet '{tmp_path}/out_{name}' AS {select}")
    engine.finish()
    again = LocalEngine()
    for name in nested_log.QUERIES:
        plan = engine.query(name).plan
        files = sorted((tmp_path / f"out_{name}").glob("*.parquet"))
        nested_log.check(plan, pl.concat([pl.read_parquet(file) for file in files]))
        columns = ", ".join(f"`{c.name}` {c.type}" for c in plan.schema)
        again.sql(
            f"CREATE STREAM {name} ({columns}) FROM parquet '{tmp_path}/out_{name}'; "
            f"CREATE QUERY back_{name} AS SELECT * FROM {name}"
        )
    again.finish()
    for name in nested_log.QUERIES:
        nested_log.check(engine.query(name).plan, again.query(f"back_{name}").results())


@pytest.mark.parametrize("aggregation", ["wid", "paned", "adapt", "two_level", "buffering"])
def test_decimal_sums_are_exact_under_every_algorithm(tmp_path: Path, aggregation: str) -> None:
    engine = BaselineEngine()
    engine.choose(aggregation)
    engine.sql(nested_log.declarations(tmp_path))
    query = engine.sql(nested_log.QUERIES["windows"])
    engine.finish()
    nested_log.check(query.plan, query.results())


@pytest.mark.parametrize(
    ("select", "error", "message"),
    [
        ("SELECT count(*) FROM log [RANGE 1 SECOND] GROUP BY prices", TypeMismatch, "maps"),
        ("SELECT max(tags) FROM log [RANGE 1 SECOND]", TypeMismatch, "have an order"),
        ("SELECT user.nme FROM log", UnknownName, "no field `nme`"),
        (
            "SELECT visits.page FROM log",
            TypeMismatch,
            r"has no field `page`[\s\S]*visits\[0\].page",
        ),
        ("SELECT id.x FROM log", TypeMismatch, "is BIGINT, which has no field `x`"),
        ("SELECT nope.x FROM log", UnknownName, "no input `nope`"),
        ("SELECT log.nope FROM log", UnknownName, "no column `log.nope`"),
        ("SELECT user.name.x FROM log", TypeMismatch, "is STRING, which has no field `x`"),
        ("SELECT user[0] FROM log", NotExecutable, "a struct has fields: user.name, user.address"),
        ("SELECT transform(tags, t -> t) FROM log", UnknownName, "function of Spark's"),
        ("SELECT tags['a'] FROM log", TypeMismatch, "get"),
        ("SELECT prices[0] FROM log", TypeMismatch, "get"),
        ("SELECT user + 1 FROM log", TypeMismatch, "STRUCT"),
        ("SELECT CAST(user AS STRING) FROM log", TypeMismatch, "to_json"),
        ("SELECT struct(id, tags) FROM log", UnknownName, "function of Spark's"),
        ("SELECT id FROM log WHERE prices = prices", TypeMismatch, "cannot take MAP"),
        ("SELECT id FROM log WHERE tags < tags", TypeMismatch, "cannot take ARRAY"),
    ],
)
def test_what_has_no_meaning_is_refused(select: str, error: type[Exception], message: str) -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM log ({nested_log.COLUMNS}) TIMESTAMP BY ts")
    with pytest.raises(error, match=message):
        engine.sql(select)


def test_a_csv_file_has_no_place_for_parts(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM log ({nested_log.COLUMNS}) TIMESTAMP BY ts")
    with pytest.raises(NotExecutable, match="INTO csv has no place for `tags`"):
        engine.sql(f"CREATE QUERY q INTO csv '{tmp_path}/out' AS SELECT id, tags FROM log")
    with pytest.raises(TypeMismatch, match="cannot read `tags`, which is ARRAY<STRING>, from csv"):
        engine.sql(f"CREATE STREAM c (tags ARRAY<STRING>) FROM csv '{tmp_path}'")


@pytest.mark.parametrize(
    ("format", "of"), [("json", "BINARY"), ("csv", "BINARY"), ("json", "MAP<INT, INT>")]
)
def test_what_a_file_has_no_place_for_is_refused_before_it_comes(format: str, of: str) -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (x {of}, ts TIMESTAMP) TIMESTAMP BY ts")
    with pytest.raises(NotExecutable, match=f"INTO {format} has no place for `x`, which is"):
        engine.sql(f"CREATE QUERY q INTO {format} 'out' AS SELECT x FROM s")


def test_all_fields_of_a_struct_and_keys_by_their_names() -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM log ({nested_log.COLUMNS}) TIMESTAMP BY ts")
    query = engine.sql("SELECT id, user.*, prices.gold FROM log")
    assert query.plan.schema.names == ("id", "name", "address", "gold")
    row = dict.fromkeys(("tags", "amount", "visits"))
    push_ticks(
        engine, "log", [row | {"id": 1, "user": {"name": "Zoë"}, "prices": {"gold": 2}, "ts": 0}]
    )
    engine.finish()
    assert query.results().rows() == [(1, "Zoë", None, Decimal("2.00"))]
