"""What `examples/talkers.sql` computes, as a plain PySpark script with `window()`; run by `start`.

`python _plain_talkers.py FOLDER` reads the CSV files of a folder to their end and prints both
results, a line of JSON each. It is written as someone would who knows Spark: as many partitions as
cores, no web pages, one batch for everything. Results are complete, last windows included, because
the output mode is.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

SCHEMA = "src STRING, dst STRING, len INT, ts TIMESTAMP"


def main(folder: str) -> None:
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(os.cpu_count()))
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    rows = (
        spark.readStream.schema(SCHEMA)
        .option("header", "true")
        .csv(folder)
        .withWatermark("ts", "5 seconds")
    )
    talkers = (
        rows.groupBy("src", F.window("ts", "2 minutes", "1 minute").alias("w"))
        .agg(F.count("*").alias("packets"), F.sum("len").alias("bytes"))
        .where("bytes > 20000")
        .select("src", "packets", "bytes", "w.start", "w.end")
    )
    load = (
        rows.groupBy(F.window("ts", "1 minute").alias("w"))
        .agg(F.count("*").alias("packets"), F.avg("len").alias("mean_length"))
        .select("packets", "mean_length", "w.start", "w.end")
    )
    queries = [started(frame, name) for name, frame in (("talkers", talkers), ("load", load))]
    for query in queries:
        query.awaitTermination()


def started(frame: DataFrame, name: str) -> StreamingQuery:
    def show(rows: DataFrame, batch: int) -> None:
        for row in rows.collect():
            print(json.dumps([name, *row], default=str), flush=True)

    return (
        frame.writeStream.foreachBatch(show)
        .outputMode("complete")
        .option("checkpointLocation", tempfile.mkdtemp())
        .trigger(availableNow=True)
        .start()
    )


if __name__ == "__main__":
    main(sys.argv[1])
