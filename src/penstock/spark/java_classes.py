"""Classes of ours for Java: few, small, and compiled already, because users need no Java compiler.

Their sources stand in `java/`, beside the jar with what Spark's own compiler makes of them; a test
compares the two, and writes the jar anew (`CONTRIBUTING.md`). Spark finds the jar if it is started
by us. Elsewhere it is sent to the executors, where it is needed (`using`), and for the rest Spark's
own classes do the same.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_FOLDER = Path(__file__).resolve().parent / "java"
JAR = _FOLDER / "penstock.jar"
#: Writes the files of checkpoints, in place of Spark's class for local files.
FILE_MANAGER = "penstock.LocalCheckpointFiles"

#: What Spark puts at the end of Java's class path; what stands at its beginning must be the same in
#: every run that is to use the archive of Spark's classes.
CLASS_PATH = "SPARK_DIST_CLASSPATH"


def class_path(environment: Mapping[str, str]) -> dict[str, str]:
    """The variable that shows Java our classes, behind those that the user names.

    >>> class_path({"SPARK_DIST_CLASSPATH": "/opt/more.jar"})["SPARK_DIST_CLASSPATH"]
    '/opt/more.jar:...penstock.jar'
    """
    return {CLASS_PATH: os.pathsep.join([*filter(None, [environment.get(CLASS_PATH)]), str(JAR)])}


def are_known(spark: SparkSession) -> bool:
    """Whether this Java has our classes."""
    jvm: Any = spark._jvm
    return bool(jvm.org.apache.spark.util.Utils.classIsLoadable(FILE_MANAGER))


@contextmanager
def using(spark: SparkSession) -> Iterator[Any]:
    """Our classes, for this thread and for the tasks of what it starts, on whatever machines."""
    jvm: Any = spark._jvm
    context: Any = spark.sparkContext
    if not (context._jsc.isLocal() and are_known(spark)):
        context._jsc.addJar(str(JAR))  # a second time it is known
    if are_known(spark):
        yield jvm.penstock
        return
    thread = jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    places = context._gateway.new_array(jvm.java.net.URL, 1)
    places[0] = jvm.java.io.File(str(JAR)).toURI().toURL()
    thread.setContextClassLoader(jvm.java.net.URLClassLoader(places, before))
    try:
        yield jvm.penstock
    finally:
        thread.setContextClassLoader(before)


def compiled(spark: SparkSession) -> dict[str, bytes]:
    """Our classes, by the name of their file, as Spark's Java compiler makes them."""
    jvm: Any = spark._jvm
    found: dict[str, bytes] = {}
    for source in sorted(_FOLDER.glob("*.java")):
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setTargetVersion(17)
        compiler.cook(source.read_text(encoding="utf-8"))
        classes = compiler.getBytecodes()
        found |= {f"{name.replace('.', '/')}.class": bytes(classes[name]) for name in classes}
    return dict(sorted(found.items()))


def write_jar(classes: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(JAR, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, content in classes.items():
            jar.writestr(zipfile.ZipInfo(name), content)  # a file of no date: equal when equal


def read_jar() -> dict[str, bytes]:
    with zipfile.ZipFile(JAR) as jar:
        return {name: jar.read(name) for name in jar.namelist()}
