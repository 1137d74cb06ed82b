"""The session in which queries run: the user's Spark, with the settings that our queries need.

Structured Streaming takes over a session's settings when a query starts, and SQL is analysed under
them. So queries run in a session of their own: it shares the user's context, data and cluster, has
the settings they made in theirs, and ours on top (`session.TUNING`). Theirs stays as it was.

DataFrames that the user brings stay what they are: what they computed under their settings, such as
ANSI's errors, they go on computing so. Only what is put on top of them is analysed here.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import session as pyspark_session

from penstock.errors import HostError
from penstock.spark import java_classes
from penstock.spark.executors import wait_for_executors
from penstock.spark.jvm import all_settings
from penstock.spark.masters import is_one_process
from penstock.spark.session import (
    FILE_MANAGER,
    LOCAL_TUNING,
    PARTITIONS,
    TUNING,
)
from penstock.spark.shipping import ship_package


def take_over(spark: SparkSession, conf: Mapping[str, str] | None) -> None:
    """Get a session of the user's ready for our queries; `conf` are settings for a new one."""
    if conf:
        raise HostError(
            "conf= cannot be combined with spark=: the session exists already",
            hint="set them where the session is created, or leave out spark=",
        )
    check_usable(spark)
    if warning := warning_about(str(spark.sparkContext.master)):
        logging.getLogger("penstock").warning(warning)
    ship_package(spark)


def check_named(name: str, given: object, wanted: type, hint: str) -> None:
    """Raise unless an argument is left out or what it is meant to be."""
    if given is not None and not isinstance(given, wanted):
        raise HostError(
            f"{name} takes a {wanted.__name__}, and this is a {type(given).__name__}: "
            f"{given!r:.80}",
            hint=hint,
        )


def check_usable(spark: SparkSession) -> None:
    """Raise unless queries can run in this session."""
    if isinstance(spark, str | bytes | int | float | dict | list | tuple):
        raise HostError(
            f"spark= is a session of Spark, and this is a {type(spark).__name__}: {spark!r:.80}",
            hint="SparkSession.builder.getOrCreate() gives one; without spark= Penstock makes one, "
            "on the cluster that master= names",
        )
    if not hasattr(spark, "_jsparkSession"):
        raise HostError(
            "this is a Spark Connect session, and Penstock must run beside the driver",
            hint='give it a session of its own: SparkSession.builder.master("local[*,4]")'
            '.getOrCreate(), or master("spark://…") for a cluster',
        )
    if spark.sparkContext._jsc is None:
        raise HostError(
            "this Spark session has been stopped", hint="SparkSession.builder.getOrCreate()"
        )


def warning_about(master: str) -> str | None:
    """What a session cannot do for us that no setting of ours can change.

    >>> print(warning_about("local[*]"))
    this Spark session does not retry tasks, so a task that fails ends its query; \
.master("local[*,4]") allows four attempts
    >>> warning_about("local[2, 4]"), warning_about("spark://host:7077")
    (None, None)
    """
    found = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    if found is None:
        return None
    return (
        "this Spark session does not retry tasks, so a task that fails ends its query; "
        f'.master("local[{found[1] or 1},4]") allows four attempts'
    )


def working_session(spark: SparkSession) -> SparkSession:
    """A session like this one, tuned for our queries; on a cluster, when it has executors."""
    wait_for_executors(spark.sparkContext)
    session = spark.newSession()
    # PySpark gives `rdd.toDF()` to the session that was made last; that is the user's to use.
    pyspark_session._monkey_patch_RDD(spark)
    theirs, own = all_settings(spark), all_settings(session)
    for key, value in theirs.items():
        if own.get(key) != value:
            # A setting of the whole application cannot be set, and holds in every session anyway.
            with suppress(PySparkException):
                session.conf.set(key, value)
    for key, value in {**TUNING, **_for_local_files(spark)}.items():
        session.conf.set(key, value)
    # As many partition groups as there are cores, unless the user has said how many.
    if PARTITIONS not in theirs:
        session.conf.set(PARTITIONS, str(spark.sparkContext.defaultParallelism))
    return session


def _for_local_files(spark: SparkSession) -> dict[str, str]:
    """Settings for checkpoints of a Spark on this machine; a Java of our own has a better class."""
    master = str(spark.sparkContext.master)
    if not master.startswith("local"):
        return {}
    ours = is_one_process(master) and java_classes.are_known(spark)
    return {**LOCAL_TUNING, **({FILE_MANAGER: java_classes.FILE_MANAGER} if ours else {})}


def adopted(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same DataFrame, in another session of the same application."""
    name = f"penstock_{uuid.uuid4().hex}"
    frame.createOrReplaceGlobalTempView(name)
    try:
        views = session.conf.get("spark.sql.globalTempDatabase", "global_temp")
        return session.table(f"{views}.{name}")
    finally:
        session.catalog.dropGlobalTempView(name)
