"""What can be refused before Spark is there, which takes many seconds to start.

Whoever holds a place checks it again when it does (`Checkpoint`, `Outputs`): this only says sooner
what would be said then. Nothing is held, made or connected to, and stores are not looked into.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from penstock.checkpoint.layout import Layout
from penstock.io.results import SINK_FORMATS
from penstock.io.sources.registry import source_of
from penstock.io.storage.lock import is_held
from penstock.io.storage.output_folder import LOCK, has_results_of_nobody, has_writer, unwritable
from penstock.io.storage.storage_path import StoragePath, storage_path
from penstock.model.streams import Sink, Stream
from penstock.spark.masters import is_one_process
from penstock.spark.placement.pipeline_groups import PipelineGroup
from penstock.spark.session import is_ours_alone
from penstock.spark.sources.packages import no_format
from penstock.spark.state.checkpoint import cannot_keep, in_use

if TYPE_CHECKING:
    from penstock.spark.engine import Engine

#: Settings by which Spark may get classes that it does not bring along.
_JARS = (
    "spark.jars",
    "spark.jars.packages",
    "spark.driver.extraClassPath",
    "spark.repl.local.jars",
)
#: … and what of the surroundings may say so.
_SURROUNDINGS = ("PYSPARK_SUBMIT_ARGS", "SPARK_CLASSPATH", "SPARK_DIST_CLASSPATH", "SPARK_CONF_DIR")


def check_early(engine: Engine, planned: Sequence[PipelineGroup]) -> None:
    """Refuse pipelines that could not start: what they read, their checkpoints and outputs."""
    for group in planned:
        streams = [engine.declared_stream(name) for name in group.keys]
        if is_one_process(engine._master) and is_ours_alone():
            check_packages([entry.stream for entry in streams], engine._conf)
        place = engine._planning.checkpoint_of(group)
        if isinstance(place, Path) and is_held(Layout(place).lock):
            raise in_use(place)
        # What is wrong with a checkpoint that is there and cannot go on, `Checkpoint` says.
        is_new = group.continued is None and not (isinstance(place, Path) and place.exists())
        for folder in _folders(engine._queries[name].sink for name in group.queries):
            check_folder(folder, is_new=is_new)
        for folder in _folders(entry.late for entry in streams):
            check_folder(folder, is_new=False)  # several pipelines may share it
        if isinstance(place, Path) and (why := why_not_written(place)):
            raise cannot_keep(place, why)


def check_packages(streams: Iterable[Stream], conf: Mapping[str, str]) -> None:
    """Refuse formats for which our own session would have no classes."""
    for stream in streams:
        package = source_of(stream.origin).package
        if package is not None and not _may_have(package, conf):
            raise no_format(stream)


def _may_have(package: str, conf: Mapping[str, str]) -> bool:
    """Whether Spark may find a package: if it is told of any jars, nobody knows which."""
    if any(map(conf.get, _JARS)) or any(map(os.environ.get, _SURROUNDINGS)):
        return True
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    named = home.glob(f"jars/{package.rpartition(':')[2]}*")
    return any(named) or (home / "conf" / "spark-defaults.conf").exists()


def check_folder(folder: Path, *, is_new: bool) -> None:
    """Refuse a directory of results that others write, or nobody can; `is_new`: or have written."""
    if is_held(folder / LOCK):
        raise has_writer(folder)
    if why := why_not_written(folder):
        raise unwritable(folder, why)
    if is_new and any(folder.glob("part-*")):
        raise has_results_of_nobody(str(folder.resolve()))


def _folders(sinks: Iterable[Sink | None]) -> Iterator[Path]:
    """The directories of this machine among the places of sinks."""
    for sink in sinks:
        if sink is not None and sink.format in SINK_FORMATS:
            place: StoragePath = storage_path(str(sink.path))
            if isinstance(place, Path):
                yield place


def why_not_written(folder: Path) -> str:
    """Why a directory cannot be made or written; empty: it seems that it can."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    except OSError as cause:
        return str(cause)
    if not there.is_dir():
        return f"`{there}` is not a directory"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"`{there}` cannot be written to"
    return ""
