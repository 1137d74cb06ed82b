"""The same files on both hosts: the same rows go in, and the same do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine

TS = "2026-01-01 00:00:00"


@dataclass(frozen=True)
class Case:
    """Files of a directory, and what both hosts must make of them."""

    format: str
    files: dict[str, str]
    k: list[int | None]
    malformed: int = 0
    options: str = ""


CASES = {
    "a header in other letters": Case("csv", {"1.csv": f"K,Ts\n1,{TS}\n"}, [1]),
    "another separator": Case("csv", {"1.csv": f"k;ts\n1;{TS}\n"}, [1], options="sep ';'"),
    "no header": Case("csv", {"1.csv": f"1,{TS}\n2,{TS}\n"}, [1, 2], options="header 'false'"),
    "quotes and NULLs of one's own": Case(
        "csv", {"1.csv": f"k|ts\n-|#{TS}#\n"}, [None], 0, "delimiter '|', quote '#', nullValue '-'"
    ),
    "nothing in a file": Case("csv", {"1.csv": "", "2.csv": f"k,ts\n2,{TS}\n"}, [2]),
    "nothing in any file": Case("csv", {"1.csv": ""}, []),
    "nothing but names": Case("csv", {"1.csv": "k,ts\n"}, []),
    "nothing in a file of JSON": Case("json", {"1.json": ""}, []),
    "lines that are no rows": Case("csv", {"1.csv": f"k,ts\n1\n2,{TS}\nx,{TS}\n"}, [2], 2),
    "hidden files": Case("csv", {"_1.csv": f"k,ts\n1,{TS}\n", "2.csv": f"k,ts\n2,{TS}\n"}, [2]),
}


def test_both_hosts_make_the_same_of_files(spark: SparkSession, tmp_path: Path) -> None:
    statements = []
    for number, (name, case) in enumerate(CASES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        for file, text in case.files.items():
            (folder / file).write_text(text)
        options = f"OPTIONS ({case.options})" if case.options else ""
        statements.append(
            f"CREATE STREAM s{number} (k INT, ts TIMESTAMP) FROM {case.format} '{folder}' {options}"
            f" TIMESTAMP BY ts; CREATE QUERY `{name}` AS SELECT k FROM s{number};"
        )
    local, on_spark = LocalEngine(), Engine(spark)
    for engine in (local, on_spark):
        engine.sql("".join(statements))
    on_spark.start()
    for engine in (local, on_spark):
        engine.finish()
        for number, (name, case) in enumerate(CASES.items()):
            found = engine.query(name).results()["k"].to_list()
            counts = engine.counts(f"s{number}")
            assert (found, counts.malformed) == (case.k, case.malformed), (name, engine)
