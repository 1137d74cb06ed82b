"""Spark's functions and types with parts, exact numbers and time zones: what Spark itself answers.

One pipeline computes all queries; each is compared with Spark's answer over the same rows at once,
in a session of the query's time zone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.kernel.types import arrow_type
from penstock.model.types import Type
from penstock.spark.engine import Engine
from penstock.spark.types import our_type
from penstock.spark.zoned_sessions import session_in
from tests.spark.decimal_expressions import AGGREGATES, DECIMALS

COLUMNS = {
    "id": "BIGINT",
    "s": "STRING",
    "j": "STRING",
    "n": "INT",
    "x": "DOUBLE",
    "user": "STRUCT<name: STRING, address: STRUCT<city: STRING, zip: INT>>",
    "tags": "ARRAY<STRING>",
    "prices": "MAP<STRING, DECIMAL(10, 2)>",
    "items": "ARRAY<STRUCT<sku: STRING, price: DECIMAL(10, 2), at: TIMESTAMP>>",
    "a": "DECIMAL(10, 2)",
    "c": "DECIMAL(20, 6)",
    "e": "DECIMAL(38, 10)",
    "clock": "TIMESTAMP_NTZ",
    "ts": "TIMESTAMP",
}
#: The user's session, the settings of our queries, and the machine's are all different.
OWN, ZONE, OTHER = "Asia/Tokyo", "America/New_York", "Europe/Berlin"
#: In New York the clocks go forward within these rows, at 07:00.
START = datetime(2026, 3, 8, 6, tzinfo=timezone.utc)
WINDOW = ", timestamp '2026-03-08 00:00:00Z' AS f, timestamp '2026-03-09 00:00:00Z' AS t"

OF_ROWS = {
    "split": "split(s, '-')",
    "from_json": "from_json(j, 'k STRING, v DECIMAL(6, 2), a ARRAY<STRUCT<at: TIMESTAMP>>')",
    "element": "split(s, '-')[1]",
    "field": "from_json(j, 'a ARRAY<STRUCT<at: TIMESTAMP>>').a[0].at",
    "contains": "array_contains(split(s, '-'), 'b')",
    "of_null": "size(from_json(j, 'a ARRAY<INT>').a)",
    "map": "map_from_arrays(array('p', 'q'), array(a, n))",
    "value": "map_from_arrays(array('p', 'q'), array(a, n))['p']",
    "transform": "transform(items, i -> i.price * 2)",
    "captured": "transform(tags, t -> concat(t, user.address.city))",
    "filter": "filter(items, i -> i.price > a AND i.at <= ts)",
    "cheapest": "array_sort(items, (p, q) -> cast(sign(p.price - q.price) AS INT))[0].sku",
    "struct": "named_struct('who', user.name, 'odd name', clock, 'when', array(ts, NULL))",
    "sequence": "sequence(ts, ts + INTERVAL 2 HOURS, INTERVAL 1 HOUR)",
    "numbers": "sequence(1, abs(n) % 4 + 1)",
    "nested": "array(array(n), array(n, id))",
    "entries": "map_entries(prices)",
    "keys": "map_filter(prices, (k, v) -> v > 1)",
    "zipped": "arrays_zip(tags, items.sku)",
    "exact": "aggregate(items, cast(0 AS DECIMAL(20, 2)), "
    "(acc, i) -> cast(acc + i.price AS DECIMAL(20, 2)))",
    "literal": "array(1.50BD, cast(a AS DECIMAL(6, 3)))",
    "clock": "to_timestamp_ntz('2026-03-08 02:30:00')",
    "shown": "to_json(struct(user, tags, prices, clock, ts))",
    "year": "make_timestamp_ntz(2026, 1, 1, abs(n) % 24, 0, 0)",
}
#: By the kernel, and by Spark.
IN_ZONES = (
    *("hour(ts)", "minute(clock)", "date_trunc('day', ts)", "cast(ts AS STRING)", "to_date(ts)"),
    *(
        "cast(clock AS TIMESTAMP)",
        "cast(ts AS TIMESTAMP_NTZ)",
        "year(timestamp '2026-01-01 00:00')",
    ),
    *("date_format(ts, 'yyyy-MM-dd HH:mm zzz')", "date_format(clock, 'HH:mm')"),
    *("from_utc_timestamp(ts, 'Asia/Kolkata')", "to_utc_timestamp(ts, 'Asia/Kolkata')"),
    *("date_part('hour', ts)", "to_timestamp(s, 'yyyy')", "from_unixtime(id)", "dayname(ts)"),
    *(
        "to_timestamp('2026-03-08 12:00', 'yyyy-MM-dd HH:mm')",
        "make_timestamp(2026, 3, 9, 1, 2, 3)",
    ),
    *("unix_timestamp('2026-03-08', 'yyyy-MM-dd')", "timestampadd(DAY, 1, ts)", "last_day(ts)"),
    *("from_json(j, 'a ARRAY<STRUCT<at: TIMESTAMP>>').a[0].at", "sha2(cast(ts AS STRING), 256)"),
    *("sequence(ts, ts + INTERVAL 1 DAY, INTERVAL 1 DAY)", "months_between(ts, DATE '2026-01-01')"),
    *("to_json(struct(ts))", "hour(from_utc_timestamp(ts, 'Asia/Kolkata'))", "next_day(ts, 'MON')"),
)


def rows(count: int = 120) -> Iterator[dict[str, Any]]:
    draw = random.Random(16)
    for number in range(count):
        ts = START + timedelta(minutes=2 * number)
        items = [
            {"sku": sku, "price": Decimal(draw.randrange(-500, 9999)).scaleb(-2), "at": ts}
            for sku in draw.sample("pqrs", draw.randrange(4))
        ]
        inner = [{"at": "2026-03-08T04:30:00"}]
        record = {"k": "x", "v": draw.choice([None, 1.25, 17]), "a": draw.choice([[], inner])}
        address = draw.choice([None, {"city": draw.choice(["Bern", "Graz"]), "zip": 3000}])
        yield {
            "id": number,
            "s": draw.choice(["a-b", "b-a-c", "", "x", "1.005", None]),
            "j": draw.choice([json.dumps(record), "{", None]),
            "n": draw.choice([None, *range(-9, 10)]),
            "x": draw.choice([None, 0.0, 2.5, -1234.5678, 1e12, float("nan")]),
            "user": draw.choice([None, {"name": "Zoë", "address": address}]),
            "tags": draw.choice([None, [], ["a"], ["a", None, "b"]]),
            "prices": draw.choice([None, {}, {"net": Decimal("1.10"), "tax": None}]),
            "items": draw.choice([None, items]),
            "a": draw.choice([None, *map(Decimal, ("0.00", "1.25", "-2.50", "99999999.99"))]),
            "c": draw.choice([None, *map(Decimal, ("0.000001", "-12345678901234.567891", "3"))]),
            # 34 digits: Spark's negation rounds to as many, where ours is exact.
            "e": draw.choice(
                [None, *map(Decimal, ("9" * 24 + ".9999999999", "-0.0000000001", "7.5"))]
            ),
            "clock": draw.choice([None, datetime(2026, 3, 8, 2, 30), datetime(2026, 11, 1, 1, 30)]),
            "ts": ts,
        }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    schema = pa.schema([(name, arrow_type(Type(of))) for name, of in COLUMNS.items()])
    made = [
        {**row, "prices": None if row["prices"] is None else list(row["prices"].items())}
        for row in rows()
    ]
    pq.write_table(pa.Table.from_pylist(made, schema), folder / "rows.parquet")
    return folder


def asked() -> dict[str, tuple[str, str, str]]:
    """Queries: time zone, what we are asked, and Spark over all rows at once."""
    of_rows = ", ".join(f"{each} AS `{name}`" for name, each in OF_ROWS.items())
    decimals = ", ".join(f"{each} AS d{number}" for number, each in enumerate(DECIMALS))
    sums = ", ".join(f"{each} AS s{number}" for number, each in enumerate(AGGREGATES))
    zoned = ", ".join(f"{each} AS z{number}" for number, each in enumerate(IN_ZONES))
    keys = "split(s, '-'), named_struct('city', user.address.city)"
    named = "split(s, '-') AS k, named_struct('city', user.address.city) AS c"
    joined = "SELECT p.id, q.id AS other, split(q.s, '-') AS k FROM r p JOIN r q"
    where = "exists(items, i -> i.price > 50) AND size(tags) > 0"
    equal = "split(p.s, '-') = split(q.s, '-') AND p.n = q.n"
    after = "SELECT s, split(s, '-') AS k, named_struct('last', max(ts), 'sum', sum(a)) AS m, "
    after += "date_format(max(ts), 'HH:mm') AS at, transform(array(count(*)), m -> m + 1) AS l"
    found = {
        "rows": ("UTC", of_rows),
        "decimals": ("UTC", decimals),
        "zoned": (ZONE, zoned),
        "other_zone": (OTHER, zoned),
    }
    same = {
        name: (zone, f"SELECT id, {each} FROM r", f"SELECT id, {each} FROM r")
        for name, (zone, each) in found.items()
    }
    days = "FROM r [RANGE 1 DAY]"
    return same | {
        "kept": (
            "UTC",
            f"SELECT id, items FROM r WHERE {where}",
            f"SELECT id, items FROM r WHERE {where}",
        ),
        "sums": (
            "UTC",
            f"SELECT n, {sums} {days} GROUP BY n",
            f"SELECT n, {sums}{WINDOW} FROM r GROUP BY n",
        ),
        "groups": (
            "UTC",
            f"SELECT {named}, count(*) AS m, max(a) AS a {days} GROUP BY {keys}",
            f"SELECT {named}, count(*) AS m, max(a) AS a{WINDOW} FROM r GROUP BY {keys}",
        ),
        "joined": (
            "UTC",
            f"{joined} WITHIN 1 HOUR ON {equal}",
            f"{joined} ON {equal} AND abs(unix_micros(p.ts) - unix_micros(q.ts)) <= 3600000000",
        ),
        "results": (
            ZONE,
            f"{after} {days} GROUP BY s HAVING size(split(s, '-')) <> 3 OR s IS NULL",
            f"{after}{WINDOW} FROM r GROUP BY s HAVING size(split(s, '-')) <> 3 OR s IS NULL",
        ),
    }


@pytest.fixture(scope="module")
def engine(spark: SparkSession, folder: Path) -> Engine:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", OWN)
    engine = Engine(own)
    columns = ", ".join(f"{name} {of}" for name, of in COLUMNS.items())
    engine.sql(f"CREATE STREAM r ({columns}) FROM parquet '{folder}' TIMESTAMP BY ts SLACK 1 DAY")
    for name, (zone, text, _) in asked().items():
        engine.sql(f"SET TIME ZONE '{zone}'")
        into = f"INTO parquet '{folder.parent / name}'" if name == "rows" else ""
        engine.sql(f"CREATE QUERY {name} {into} AS {text}")
    engine.start(to_end=True)
    engine.finish()
    return engine


def at_once(engine: Engine, folder: Path, name: str) -> DataFrame:
    zone, _, text = asked()[name]
    session = session_in(zone, engine.session)
    columns = ", ".join(f"{name} {of}" for name, of in COLUMNS.items())
    session.read.schema(columns).parquet(str(folder)).createOrReplaceTempView("r")
    return session.sql(text)


def answer(engine: Engine, folder: Path, name: str) -> pl.DataFrame:
    """What a query has put out; one of them into files."""
    if name != "rows":
        return engine.query(name).results()
    files = sorted((folder.parent / name).glob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files])


def in_order(found: pl.DataFrame) -> list[tuple[str, ...]]:
    return sorted(tuple(repr(plain(value)) for value in row) for row in found.iter_rows())


def plain(value: Any) -> Any:
    """A value as both give it: points in time in UTC and without saying so."""
    match value:
        case datetime() if value.tzinfo is not None:
            return value.astimezone(timezone.utc).replace(tzinfo=None)
        case float():
            return float(f"{value:.9g}")
        case dict():
            return {key: plain(part) for key, part in value.items()}
        case list():
            return [plain(part) for part in value]
    return value


@pytest.mark.parametrize("name", asked())
def test_answers_and_types_are_those_of_spark(engine: Engine, folder: Path, name: str) -> None:
    theirs = at_once(engine, folder, name)
    mine = answer(engine, folder, name)
    types = [our_type(field.dataType) for field in theirs.schema]
    assert [column.type for column in engine.query(name).plan.schema] == types
    both = in_order(mine), in_order(pl.DataFrame(pl.from_arrow(theirs.toArrow())))
    wrong: dict[str, tuple[str, str]] = {}
    for pair in zip(*both, strict=True):
        for column, *values in zip(mine.columns, *pair, strict=True):
            if values[0] != values[1]:
                wrong.setdefault(column, (values[0], values[1]))
    assert not wrong
    assert mine.height
