"""Formats that Spark knows and does not bring along, and what to do if one is missing."""

from __future__ import annotations

import pyspark

from penstock.errors import HostError
from penstock.io.sources.registry import source_of
from penstock.model.streams import Stream


def no_format(stream: Stream) -> HostError:
    """A stream of a format that Spark has no classes for."""
    return HostError(
        f"stream `{stream.name}`: this Spark has no format `{stream.origin.format}`",
        hint=way_to(source_of(stream.origin).package),
    )


def way_to(package: str | None) -> str:
    """How to get the classes of a format; None: nobody knows where they are."""
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
