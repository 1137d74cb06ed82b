"""Python workers: what they leave out when they collect garbage, and their environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.spark.session import WORKERS

SCRIPT = """
import gc
from penstock.spark.worker import leave_out_modules

leave_out_modules()
frozen = gc.get_freeze_count()
assert frozen > 1000, frozen

class Graph:
    def __init__(self):
        self.me = self  # as a graph's nodes know each other

Graph()
leave_out_modules()
assert gc.get_freeze_count() <= frozen
assert gc.collect() >= 1
"""


def test_modules_are_left_out_once_and_what_comes_later_is_collected() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


def test_workers_have_their_environment(spark: SparkSession) -> None:
    names = list(WORKERS)

    def environment(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"v": [os.environ.get(name) for name in names]})

    found = spark.range(1).mapInArrow(environment, "v STRING").toArrow()
    assert found.column("v").to_pylist()[: len(names)] == list(WORKERS.values())
