"""Spark's processes on this machine, started sooner: Java, and the Python workers below it.

Java     starts with an archive of Spark's classes, which set-up has made (`penstock_setup`): much
         of its first seconds goes into loading and checking them. RocksDB's library need not be
         unpacked from its jar. For a run that is over in seconds the optimising compiler is left
         out (SHORT): it would take half of the processor for code that hardly runs again.
Python   Spark puts its own package, zipped and not compiled, in front of all others, so that every
         worker compiles it anew, which takes a second. Where the package is installed, a worker
         does without the zip.

What Java and the workers print goes to a file, not over the user's terminal; it is named in errors,
and removed at the end of a run that had none.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

from penstock.home import home

#: For a Java that has little to do: it compiles only once what it runs.
SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

#: What set-up leaves for Java, in a folder of its own.
FOLDER, ARCHIVE = "java-classes", "spark.jsa"

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
    options = []
    if (made / ARCHIVE).is_file():
        # One that does not fit this Java or these jars is passed over, without a word.
        options += [f"-XX:SharedArchiveFile={made / ARCHIVE}", "-Xshare:auto", "-Xlog:disable"]
        options.append("-Xlog:all=error:stderr")
    if any(made.glob("librocksdbjni.*")):
        options.append(f"-Djava.library.path={made}")
    return options


@cache
def worker_python() -> str:
    """The Python for workers: this one, without Spark's zip in front of its packages."""
    if os.name != "posix" or "'" in sys.executable:
        return sys.executable
    folder = Path(tempfile.mkdtemp(prefix="penstock-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / "python"
    script.write_text(_WORKER.format(python=sys.executable))
    script.chmod(0o700)
    return str(script)


def start_java(conf: SparkConf, log: Path) -> Any:
    """Java, with a gateway to it; whatever it and its workers print goes to a file."""
    with log.open("ab") as file:
        launch: Any = launch_gateway  # it has no types
        return launch(conf, {"stdout": file, "stderr": subprocess.STDOUT})


def new_log() -> Path:
    """A file for this process's Spark, gone when the process ends well."""
    handle, name = tempfile.mkstemp(prefix="penstock-spark-", suffix=".log")
    os.close(handle)
    log = Path(name)
    atexit.register(log.unlink, missing_ok=True)
    return log
