"""Programs that reach tasks while a pipeline runs.

The program that a pipeline is started with is part of the code that Spark sends to its tasks, and
that never changes. A later one travels as a file, which Spark fetches for every executor before it
starts a task there; the driver tells the tasks of a batch its name (`control/told.py`), the same at
every attempt. It is packed as Spark packs all code that it sends.

Every task of Spark's is told of all such files. So one is taken back as soon as the last batch that
runs it is over; what executors have fetched stays with them until they end.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark import SparkContext, SparkFiles, TaskContext
from pyspark.serializers import CPickleSerializer

from penstock.optimizer.physical import Program
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.processor import QUERY_ID
from penstock.spark.worker import forgetting

_Key = TypeVar("_Key", str, bytes)

_SERIALIZER: Any = CPickleSerializer()  # Spark's own, with which it sends all code

#: Programs that this process has unpacked, and for which query: the last one, and the one before,
#: for a batch that is still under way.
_KNOWN: dict[str, tuple[str, ShippedProgram]] = {}
_MOST = 2


@dataclass(frozen=True)
class ShippedProgram:
    """A program, and what tasks that read compute of each stream."""

    program: Program
    early: Mapping[str, Preaggregation]


#: What came with the code of tasks, as it came; that of a pipeline is the same in every batch.
_EARLY: dict[bytes, tuple[str, Preaggregation]] = {}
_MOST_EARLY = 16


def _forget_others(running: Collection[str]) -> None:
    _forget(_KNOWN, running)
    _forget(_EARLY, running)


def _forget(known: dict[_Key, tuple[str, Any]], running: Collection[str]) -> None:
    for key in [key for key, (query, _) in known.items() if query and query not in running]:
        del known[key]


forgetting(_forget_others)


def _query() -> str:
    """The query whose task this is; empty: it is none."""
    context = TaskContext.get()
    return (context.getLocalProperty(QUERY_ID) if context is not None else None) or ""


def packed_early(early: Preaggregation) -> bytes:
    """What tasks that read a stream compute of it, as it travels with their code."""
    return zlib.compress(_SERIALIZER.dumps(early))


def unpacked_early(packed: bytes) -> Preaggregation:
    """The same in a task: unpacked once in a worker's life, with all that was made of it."""
    if packed not in _EARLY:
        while len(_EARLY) >= _MOST_EARLY:
            del _EARLY[next(iter(_EARLY))]
        _EARLY[packed] = (_query(), _SERIALIZER.loads(zlib.decompress(packed)))
    return _EARLY[packed][1]


def ship(context: SparkContext, name: str, shipped: ShippedProgram) -> None:
    """Have all tasks from now on find a program under this name, which no other has."""
    # Where Spark keeps such files, and removes them in the end: executors may ask for it any time.
    file = Path(SparkFiles.getRootDirectory()) / name
    file.write_bytes(_SERIALIZER.dumps(shipped))
    if not _is_local(context):  # else tasks look into the same folder
        context.addFile(str(file))


def take_back(context: SparkContext, name: str) -> None:
    """Have no task find a program any more: no batch that is to come runs it."""
    (Path(SparkFiles.getRootDirectory()) / name).unlink(missing_ok=True)
    if _is_local(context):
        return
    scala: Any = context._jsc.sc()
    with suppress(Py4JError):  # another Spark; then tasks are told of a file that is not there
        for key in [key for key in context.listFiles if key.endswith(f"/{name}")]:
            artifacts = scala.addedFiles().values().iterator()
            while artifacts.hasNext():
                artifacts.next().remove(key)


def _is_local(context: SparkContext) -> bool:
    """Whether tasks run in the driver's process, and have its files."""
    from penstock.spark.session import is_one_process

    return is_one_process(context.master)


def shipped(name: str) -> ShippedProgram:
    """The program of that name, in a task."""
    if name not in _KNOWN:
        while len(_KNOWN) >= _MOST:
            del _KNOWN[next(iter(_KNOWN))]
        program = _SERIALIZER.loads(Path(SparkFiles.get(name)).read_bytes())
        _KNOWN[name] = (_query(), program)
    return _KNOWN[name][1]
