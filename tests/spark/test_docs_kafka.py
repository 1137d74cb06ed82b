"""docs/kafka.md is true: its statements and programs run in order, against a real broker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pyspark
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from tests.pages import ROOT
from tests.servers import Server
from tests.topics import Topic, once

PAGE = ROOT / "docs" / "kafka.md"
BLOCKS = re.findall(r"^```(sql|python kafka)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
TOPICS = ("bids", "asks", "matched", "cheap")


def row(item: str, price: int, second: int) -> dict[str, Any]:
    return {"item": item, "price": price, "ts": f"2026-01-01 00:00:{second:02}"}


def test_the_page_runs(spark: SparkSession, kafka: Server, tmp_path: Path) -> None:
    bids, asks, matched, cheap = (Topic(kafka, name) for name in TOPICS)
    bids.send([row("lamp", 4, 1), row("sofa", 3, 2), row("lamp", 9, 15), row("lamp", 1, 40)])
    asks.send([row("lamp", 3, 2), row("sofa", 5, 3), row("lamp", 5, 41)])
    places = {"localhost:9092": bids.brokers, "out/filed": f"{tmp_path}/filed"}
    blocks = [(kind, placed(text, places)) for kind, text in BLOCKS]
    assert len(blocks) == 5
    assert f"spark-sql-kafka-0-10_2.13:{pyspark.__version__}" in PAGE.read_text()
    engine = Engine(spark)
    for text in [text for kind, text in blocks if kind == "sql"]:
        engine.sql(text)
    raw = engine.sql("SELECT value, partition FROM raw")
    engine.start()
    engine.finish()
    assert [(m.key, m.value["asked"]) for m in matched.read()] == [("lamp", 3)]
    best = pl.read_parquet(f"{tmp_path}/filed/*.parquet")
    assert sorted(best.select("item", "best").rows()) == [
        *[("lamp", 1), ("lamp", 4), ("lamp", 9), ("sofa", 3)]
    ]
    assert raw.results().height == 4
    given: dict[str, Any] = {"spark": spark}
    for text in [text for kind, text in blocks if kind != "sql"]:
        exec(compile(text, PAGE.name, "exec"), given)
    assert sorted(given["found"]) == sorted(f'{{"item":"{k}","price":{n}}}' for k, n in CHEAP)
    assert len(once(cheap.read())) == 3


def placed(text: str, places: dict[str, str]) -> str:
    for shown, there in places.items():
        text = text.replace(shown, there)
    return text


CHEAP = (("lamp", 4), ("sofa", 3), ("lamp", 1))
