"""A log of nested JSON, a program over it, and what the oracle says it gives."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from penstock.oracle.evaluate import evaluate, hashable
from penstock.plan.nodes import Node
from penstock.verification.case import rows_of

COLUMNS = (
    "id BIGINT, user STRUCT<name: STRING, address: STRUCT<city: STRING, zip: INT>>, "
    "tags ARRAY<STRING>, prices MAP<STRING, DECIMAL(12, 2)>, amount DECIMAL(20, 4), "
    "visits ARRAY<STRUCT<page: STRING, at: TIMESTAMP>>, ts TIMESTAMP"
)

QUERIES = {
    "rows": "SELECT *, user.address.city, tags[0] AS tag, prices['gold'] AS gold, "
    "visits[0].at AS first_visit FROM log WHERE amount > 0.5 AND user.address.zip IS NOT NULL",
    "windows": "SELECT user.address.city, tags, sum(amount) AS total, avg(amount) AS mean, "
    "sum(prices['gold']) AS gold, max(amount) AS most, count(*) AS rows "
    "FROM log [RANGE 10 SECONDS, SLIDE 5 SECONDS] GROUP BY user.address.city, tags",
    "joined": "SELECT a.id, b.id AS other, a.user, b.tags, b.prices, a.amount * b.amount AS prod "
    "FROM log AS a LEFT JOIN more AS b ON a.user.address.city = b.user.address.city "
    "AND a.amount = b.amount WITHIN 5 SECONDS",
    # By elements alone, which no column of the stream tells: all rows meet in one group.
    "visited": "SELECT visit.page, tag, sum(amount) AS total, max(visit.at) AS last, "
    "count(*) AS rows FROM log [RANGE 10 SECONDS, SLIDE 5 SECONDS] "
    "LATERAL VIEW explode(visits) v AS visit LATERAL VIEW OUTER explode(tags) t AS tag "
    "WHERE id > 3 AND (tag IS NULL OR tag <> 'b') GROUP BY visit.page, tag",
    "met": "SELECT a.id, tag, n, b.id AS other FROM log AS a "
    "CROSS JOIN UNNEST(a.tags) WITH ORDINALITY AS t(tag, n) JOIN more AS b "
    "ON b.tags[0] = tag AND b.id > 40 WITHIN 2 SECONDS",
    # Looks at single rows of a stream that nobody else reads: a pipeline without groups.
    "elements": "SELECT id, page, at, article, price, ts FROM alone "
    "LEFT JOIN UNNEST(visits) AS v(page, at) ON TRUE "
    "LATERAL VIEW explode(prices) p AS article, price WHERE id <> 7",
}

START = 1_767_225_600  # 2026-01-01


def log_rows(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Objects of JSON, with NULLs and empty parts among them."""
    draw = random.Random(seed)
    found = []
    for number in range(count):
        second = START + number // 3
        city = draw.choice(["Bern", "Graz", None])
        address = draw.choice([None, {"city": city, "zip": draw.choice([None, 3000])}])
        found.append(
            {
                "id": number,
                "user": draw.choice([None, {"name": "Zoë", "address": address}, {"name": "x"}]),
                "tags": draw.choice([None, [], ["a"], ["a", None, "b"]]),
                "prices": draw.choice([None, {}, {"gold": "12.50", "tin": None}]),
                "amount": draw.choice([None, "1.0005", "99999999999.9999", "0.1", "7"]),
                "visits": draw.choice([None, [], [{"page": "/", "at": "2026-01-01 00:00:00.5"}]]),
                "ts": f"2026-01-01 00:00:{second - START:02d}",
            }
        )
    return found


def written(folder: Path, seed: int) -> Path:
    """The log as a directory of JSON; numbers with a point stand there as numbers."""
    folder.mkdir()
    lines = []
    for row in log_rows(seed):
        text = json.dumps(row)
        if row["amount"] is not None:
            text = text.replace(f'"amount": "{row["amount"]}"', f'"amount": {row["amount"]}')
        lines.append(text)
    (folder / "1.json").write_text("\n".join(lines[:30]) + "\n")
    (folder / "2.json").write_text("\n".join(lines[30:]) + "\n")
    return folder


def declarations(folder: Path) -> str:
    folders = {name: written(folder / name, seed) for name, seed in (("log", 1), ("more", 2))}
    return "".join(
        f"CREATE STREAM {name} ({COLUMNS}) FROM json '{path}' TIMESTAMP BY ts;"
        for name, path in {**folders, "alone": folders["log"]}.items()
    )


def oracle_rows(seed: int) -> list[dict[str, Any]]:
    """The same rows as the oracle has them."""
    found = []
    for row in log_rows(seed):
        user = row["user"]
        if user is not None:
            user = {"name": user["name"], "address": user.get("address")}
        visits = row["visits"]
        if visits:
            visits = [{"page": "/", "at": START * 10**6 + 500_000}]
        prices = row["prices"]
        if prices:
            prices = {key: None if p is None else Decimal(p) for key, p in prices.items()}
        amount = row["amount"]
        found.append(
            {
                **row,
                "user": user,
                "visits": visits,
                "prices": prices,
                "amount": None if amount is None else Decimal(amount).quantize(Decimal("0.0001")),
                "ts": (START + int(row["ts"][-2:])) * 10**6,
            }
        )
    return found


def check(plan: Node, results: pl.DataFrame) -> None:
    """Results are the oracle's, in any order."""
    log, more = oracle_rows(1), oracle_rows(2)
    expected = evaluate(plan, {"log": log, "more": more, "alone": log})
    assert expected
    names = plan.schema.names
    wanted = sorted(repr(hashable({name: row[name] for name in names})) for row in expected)
    found = sorted(repr(hashable(_plain(row))) for row in rows_of(results.select(names)))
    assert found == wanted


def _plain(value: Any) -> Any:
    """Times within parts as ticks, too."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if not hasattr(value, "timestamp") else START * 10**6 + value.microsecond
