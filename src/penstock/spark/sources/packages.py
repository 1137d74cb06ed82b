"""Formats that Spark knows and does not bring along, and what to do if one is missing."""

from __future__ import annotations

import pyspark

from penstock.errors import HostError
from penstock.model.streams import Stream

PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13",
    "avro": "org.apache.spark:spark-avro_2.13",
}


def no_format(stream: Stream) -> HostError:
    """A stream of a format that Spark has no classes for."""
    format = stream.origin.format
    return HostError(
        f"stream `{stream.name}`: this Spark has no format `{format}`", hint=way_to(format)
    )


def way_to(format: str) -> str:
    """How to get the classes of a format."""
    package = PACKAGES.get(format)
    if package is None:
        return (
            "check the spelling; otherwise Spark needs its package: run --packages "
            "GROUP:NAME:VERSION"
        )
    found = f"{package}:{pyspark.__version__}"
    return (
        f"Spark needs its package: run --packages {found}; in Python: "
        f'Engine(conf={{"spark.jars.packages": "{found}"}}), or in a session of your own '
        f'SparkSession.builder.config("spark.jars.packages", "{found}")'
    )
