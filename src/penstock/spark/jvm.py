"""Spark's processes on this machine, started sooner: Java, and the Python workers below it.

Java     starts with an archive of Spark's classes, which is made once in the background
         (`penstock_setup`): much of its first seconds goes into loading and checking them.
         RocksDB's library need not be unpacked from its jar. For a run that is over in seconds the
         optimising compiler is left out (SHORT): it would take half of the processor for code that
         hardly runs again.
         An array of half a region of Java's heap takes regions of its own, and each has garbage
         collected; segments of state are such arrays. So regions are large.
Python   Spark puts its own package, zipped and not compiled, in front of all others, so that every
         worker compiles it anew, which takes a second. Where the package is installed, a worker
         does without the zip.
Sockets  Between the two lies TCP, on which a short message waits for the one before it to be
         acknowledged: 40 ms for each step of a micro-batch. Sockets of the file system do not.
Files    Hadoop starts a process for every file it makes; a class of ours does not (`java_classes`).

What Java and the workers print goes to a file, not over the user's terminal; it is named in errors,
and removed at the end of a run that had none.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import PenstockBug
from penstock.home import home
from penstock.io.storage.scratch import scratch
from penstock.spark.java_classes import CLASS_PATH, class_path

#: For a Java that has little to do: it compiles only once what it runs.
SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

#: What `penstock_setup` leaves for Java, in a folder of its own.
FOLDER, ARCHIVE = "java-classes", "spark.jsa"
#: With this it has Java make the archive.
ARCHIVING = "-XX:ArchiveClassesAtExit"

#: How Spark calls a socket, in characters, and how many the path of one may have.
_SOCKET, _SOCKET_NAME, _LONGEST_SOCKET = ".sock", len("/.") + 36 + len(".sock"), 100

#: What stands in no setting and in no name of a file.
_GAP = "\0"

_WORKER = """#!/bin/sh
left=
IFS=:
for each in $PYTHONPATH; do
    case $each in
        */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
        *) left=${{left:+$left:}}$each ;;
    esac
done
PYTHONPATH=$left exec '{python}' "$@"
"""


def java_options() -> list[str]:
    """Options for a Java on this machine that runs all of Spark."""
    made = home(os.environ, Path(sys.prefix)) / FOLDER
    options = [f"-Djava.io.tmpdir={scratch()}"]
    if (made / ARCHIVE).is_file():
        # One that does not fit this Java or these jars is passed over, without a word.
        options += [f"-XX:SharedArchiveFile={made / ARCHIVE}", "-Xshare:auto", "-Xlog:disable"]
        options.append("-Xlog:all=error:stderr")
    if any(made.glob("librocksdbjni.*")):
        options.append(f"-Djava.library.path={made}")
    return options


def region_size(gigabytes: int) -> str:
    """The option for large regions in a heap of so many gigabytes, which has 128 at the least.

    >>> region_size(1), region_size(6), region_size(8)
    ('-XX:G1HeapRegionSize=8m', '-XX:G1HeapRegionSize=32m', '-XX:G1HeapRegionSize=32m')
    """
    return f"-XX:G1HeapRegionSize={1 << min(5, (8 * gigabytes).bit_length() - 1)}m"


@cache
def worker_python() -> str:
    """The Python for workers: this one, without Spark's zip in front of its packages."""
    if os.name != "posix" or "'" in sys.executable:
        return sys.executable
    script = scratch() / "python"
    script.write_text(_WORKER.format(python=sys.executable))
    script.chmod(0o700)
    return str(script)


@cache
def socket_settings() -> dict[str, str]:
    """Settings by which Java and workers of this machine talk over sockets of the file system."""
    folder = tempfile.mkdtemp(dir=scratch(), prefix="")
    if os.name != "posix" or len(folder) + _SOCKET_NAME > _LONGEST_SOCKET:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


def forget_sockets(spark: SparkSession) -> None:
    """Have Java forget the sockets of tasks that are over.

    For every task that keeps state Spark tells Java of a file to delete at exit, and deletes it
    itself when the task ends; Java remembers the name, some 150 bytes for as long as it runs.
    """
    jvm: Any = spark._jvm
    with suppress(Py4JError):  # names are added meanwhile, or Java hides its list: another time
        hook = jvm.java.lang.Class.forName("java.io.DeleteOnExitHook").getDeclaredField("files")
        hook.setAccessible(True)
        names = jvm.java.lang.String.join("\n", hook.get(None)).splitlines()
        left = jvm.java.util.LinkedHashSet()
        for name in names:
            if not name.endswith(_SOCKET):
                left.add(name)
        # Another set, because tasks may be adding to this one.
        hook.set(None, left)


def forget_files(
    spark: SparkSession, query: StreamingQuery, folders: Mapping[str, Collection[str]]
) -> None:
    """Have Java forget files of these folders that are not there any more.

    A source remembers every file that it has read, some 250 bytes each. Called while it is not
    looking for others: when a batch is delivered.
    """
    jvm: Any = spark._jvm
    with suppress(Py4JError, AttributeError):  # another Spark: then it remembers them
        sources = query._jsq.streamingQuery().uniqueSources().keysIterator()
        while sources.hasNext():
            source = sources.next()
            place = source.toString().removeprefix("FileStreamSource[").removesuffix("]")
            names = folders.get(place.removeprefix("file:"))
            if names is not None:
                known = _hidden(source.seenFiles(), "map").keySet()
                left = jvm.java.util.HashSet()
                for path in jvm.java.lang.String.join("\n", known).splitlines():
                    if path.rpartition("/")[2] in names:
                        left.add(path)
                known.retainAll(left)


def forget_read(query: StreamingQuery, log: str, paths: Sequence[str]) -> None:
    """Have a source of files forget that it has read some, so that it reads them again.

    `log` is where it notes what it has read; paths are as they stand there. Called while it is not
    looking for others: when a batch is handed over.
    """
    found: Any = query._jsq
    try:
        sources = found.streamingQuery().uniqueSources().keysIterator()
        while sources.hasNext():
            source = sources.next()
            if not source.toString().startswith("FileStreamSource"):
                continue
            place = _hidden(source, "metadataLog").metadataPath().toString()
            if place.removeprefix("file:") == log:
                known = _hidden(source.seenFiles(), "map")
                for path in paths:
                    known.remove(path)
    except (Py4JError, AttributeError) as cause:
        raise PenstockBug(f"this Spark hides which files its sources have read: {cause}") from cause


def _hidden(of: Any, name: str) -> Any:
    """A field of a Java object."""
    field = of.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(of)


def all_settings(spark: SparkSession) -> dict[str, str]:
    """What is set in a session, in few calls of Java's: `spark.conf.getAll` takes two for each."""
    jvm: Any = spark._jvm
    found: Any = spark.conf._jconf.getAllAsJava()
    parts = (jvm.java.lang.String.join(_GAP, each) for each in (found.keySet(), found.values()))
    names, values = (part.split(_GAP) for part in parts)
    return dict(zip(names, values, strict=True)) if found.size() else {}


def added_files(context: SparkContext) -> list[str]:
    """Files that executors get, in one call: `listFiles` takes two for each, and a failing one."""
    return str(context._jsc.sc().listFiles().mkString(_GAP)).split(_GAP)


def start_java(conf: SparkConf, log: Path) -> Any:
    """Java, with a gateway to it; whatever it and its workers print goes to a file."""
    before = os.environ.get(CLASS_PATH)
    # An archive of classes that names a jar of ours would be void when that jar changes.
    if ARCHIVING not in str(conf.get("spark.driver.extraJavaOptions", "")):
        os.environ.update(class_path(os.environ))
    try:
        with log.open("ab") as file:
            launch: Any = launch_gateway  # it has no types
            return launch(conf, {"stdout": file, "stderr": subprocess.STDOUT})
    finally:
        os.environ.pop(CLASS_PATH, None)
        if before is not None:
            os.environ[CLASS_PATH] = before


def new_log() -> Path:
    """A file for this process's Spark, gone when the process ends well."""
    handle, name = tempfile.mkstemp(prefix="penstock-spark-", suffix=".log")
    os.close(handle)
    log = Path(name)
    atexit.register(log.unlink, missing_ok=True)
    return log
