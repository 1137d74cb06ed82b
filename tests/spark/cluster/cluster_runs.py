"""Queries of every kind on a cluster, in a process of its own, on a session of the user's.

    python -m tests.spark.cluster.cluster_runs FOLDER MASTER

FOLDER is what `kinds.write_streams` has made. What a task sees of this package is printed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import penstock
from penstock.spark.engine import Engine
from penstock.spark.session import LOOPBACK, PARTITIONS
from tests.spark.cluster.kinds import CLICKS, KINDS, clicks, declared, statement


def main(folder: Path, master: str) -> None:
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    for key, value in LOOPBACK.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    engine = Engine(spark, checkpoint=folder / "checkpoint")
    engine.sql(declared(folder))
    engine.stream("clicks", lambda skip: list(clicks())[skip:], columns=CLICKS, timestamp="ts")
    for name in KINDS:
        engine.sql(statement(folder, name))
    engine.start()
    cores = spark.sparkContext.parallelize(range(2), 2)
    said = {
        "groups": engine.session.conf.get(PARTITIONS),
        "files": sorted(set(cores.map(lambda _: str(penstock.__file__)).collect())),
    }
    print(json.dumps(said), flush=True)
    engine.finish()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
