"""Programs that reach tasks while a pipeline runs.

The program that a pipeline is started with is part of the code that Spark sends to its tasks, and
that never changes. A later one travels as a file, which Spark fetches for every executor before it
starts a task there; the driver tells the tasks of a batch its name (`control/told.py`), the same at
every attempt. It is packed as Spark packs all code that it sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import SparkContext, SparkFiles
from pyspark.serializers import CPickleSerializer

from penstock.optimizer.physical import Program
from penstock.spark.exchange.preaggregation import Preaggregation

_SERIALIZER: Any = CPickleSerializer()  # Spark's own, with which it sends all code

#: Programs that this process has unpacked: the last one, and the one before, for a batch that is
#: still under way.
_KNOWN: dict[str, ShippedProgram] = {}
_MOST = 2


@dataclass(frozen=True)
class ShippedProgram:
    """A program, and what tasks that read compute of each stream."""

    program: Program
    early: Mapping[str, Preaggregation]


def ship(context: SparkContext, name: str, shipped: ShippedProgram) -> None:
    """Have all tasks from now on find a program under this name, which no other has."""
    # Where Spark keeps such files, and removes them in the end: executors may ask for it any time.
    file = Path(SparkFiles.getRootDirectory()) / name
    file.write_bytes(_SERIALIZER.dumps(shipped))
    context.addFile(str(file))


def shipped(name: str) -> ShippedProgram:
    """The program of that name, in a task."""
    if name not in _KNOWN:
        while len(_KNOWN) >= _MOST:
            del _KNOWN[next(iter(_KNOWN))]
        _KNOWN[name] = _SERIALIZER.loads(Path(SparkFiles.get(name)).read_bytes())
    return _KNOWN[name]
