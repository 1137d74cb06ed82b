"""The Spark session: ours, tuned for small micro-batches, or the one the user brings.

What is set and why:

    RocksDB state with changelog checkpoints    a batch writes what is new, not the whole state
    state checkpoints of the second format      attempts at a batch never share a file: the commit
                                                says whose state counts, whatever became of others
    file-system checkpoint manager              local files only: half of a small batch's time; in
                                                queries of ours one that starts no process for each
                                                file (`java_classes`)
    one checksum for a file                     Hadoop's local files have one; Spark's is a second
    logs of files forgotten after 10 s          they are listed in every batch
    Arrow batches of up to 200 000 rows         few large blocks cross to Python, not many small
    UTC, ANSI off                               times are ticks since 1970; a bad value is NULL
    tracebacks in full                          else both steps of a batch have their own workers
    local[N,4]                                  a failed task is tried again, as on a cluster
    workers keep freed memory for a while       else the system clears it for every block
    files of its own in a folder of ours        0700, and removed at the end, also after a kill
    127.0.0.1                                   a local Spark listens to this machine only
    sockets of the file system                  over TCP a step of a batch waits 40 ms for nothing
    little is remembered of jobs that are over  for pages that nobody can open: a plan as text each

Two drivers on one checkpoint are not told apart by the file-system manager, so `checkpoint` holds a
lock of its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.io.storage.scratch import scratch
from penstock.spark.failures import reason_in
from penstock.spark.jvm import (
    SHORT,
    java_options,
    new_log,
    region_size,
    socket_settings,
    start_java,
    worker_python,
)
from penstock.spark.masters import check_reachable, is_on_loopback
from penstock.spark.masters import is_one_process as is_one_process
from penstock.spark.open_files import allow_open_files
from penstock.spark.shipping import PACKAGE, ship_package

_STREAMING = "spark.sql.streaming."
_JAVA, _MEMORY = "spark.driver.extraJavaOptions", "spark.driver.memory"
#: How many partition groups there are.
PARTITIONS = "spark.sql.shuffle.partitions"

#: What workers find in their environment. Columns of a block come and go: memory that is handed
#: back to the system each time is cleared by it each time, which takes a third of some steps.
WORKERS = {
    "POLARS_MAX_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}

#: Settings that can be changed on a session that is already there.
TUNING = {
    _STREAMING + "stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
    _STREAMING + "stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    _STREAMING + "stateStore.checkpointFormatVersion": "2",
    _STREAMING + "noDataMicroBatches.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch": "16",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.legacy.sizeOfNull": "false",  # NULL, as it is without ANSI's errors, too
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
}
_Key = tuple[int | None, str | None, tuple[tuple[str, str], ...]]
#: Sessions that are being started, by what they were asked for with.
_BEGUN: dict[_Key, Future[SparkSession]] = {}

FILE_MANAGER = _STREAMING + "checkpointFileManagerClass"
#: Right for local files only.
LOCAL_TUNING = {
    FILE_MANAGER: "org.apache.spark.sql.execution.streaming."
    "checkpointing.FileSystemBasedCheckpointFileManager",
    _STREAMING + "checkpoint.fileChecksum.enabled": "false",
    _STREAMING + "fileSource.log.cleanupDelay": "10s",
}


#: What Spark remembers of jobs that are over, each with the text of its plan: without its pages
#: nobody looks at that, and by default it takes a thousand batches until it grows no more.
WITHOUT_PAGES = {
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "20",
}

#: Where all of Spark is on this machine, nobody outside it has business with it.
LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


def settings_of(
    cores: int, master: str | None = None, conf: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a session of ours is started with; `conf` are the user's own, which come last.

    >>> shown = settings_of(2, conf={"spark.ui.enabled": "true"})
    >>> shown["spark.ui.enabled"], WITHOUT_PAGES.keys() & shown.keys()
    ('true', set())
    >>> WITHOUT_PAGES.keys() <= settings_of(2).keys()
    True
    """
    return {
        "spark.ui.enabled": "false",
        **({} if (conf or {}).get("spark.ui.enabled") == "true" else WITHOUT_PAGES),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.maxResultSize": "4g",
        _MEMORY: f"{_driver_gigabytes()}g",
        # On a cluster `working_session` counts the cores.
        **({PARTITIONS: str(cores)} if is_one_process(master) else {}),
        **{f"spark.executorEnv.{name}": value for name, value in WORKERS.items()},
        **TUNING,
        **({} if master else LOCAL_TUNING),
        **(LOOPBACK if is_one_process(master) or is_on_loopback(master) else {}),
        **(
            {**socket_settings(), "spark.local.dir": str(scratch())}
            if is_one_process(master)
            else {}
        ),
        **(conf or {}),
        **(_java(conf or {}) if is_one_process(master) else {}),
    }


def _java(conf: Mapping[str, str]) -> dict[str, str]:
    """Options for Java: ours, and behind them the user's."""
    # A heap that the user has sized may be too small for them.
    regions = [] if _MEMORY in conf else [region_size(_driver_gigabytes())]
    ours = [*java_options(), *regions]
    return {_JAVA: " ".join([*ours, *filter(None, [conf.get(_JAVA)])])}


def local_session(
    cores: int | None = None, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A quiet local session on all cores, or one on `master`; `conf` are further settings.

    One that `begin_session` has begun with the same arguments is waited for.
    """
    key = (cores, master, tuple(sorted((conf or {}).items())))
    begun = _BEGUN.pop(key, None)
    return _session(cores, master, conf) if begun is None else begun.result()


def begin_session(*, master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
    """Start Spark beside whatever the caller does next; `local_session` is called for it later."""
    key = (None, master, tuple(sorted((conf or {}).items())))
    found: Future[SparkSession] = Future()

    def start() -> None:
        try:
            found.set_result(_session(None, master, conf))
        except BaseException as failure:
            found.set_exception(failure)

    _BEGUN[key] = found
    # Nobody waits for it at the end of a program that has failed before it came so far.
    Thread(target=start, name="penstock-session", daemon=True).start()


def is_ours_alone() -> bool:
    """Whether the session that `local_session` gives next has what we say, and nothing else.

    A program that has started Spark itself gets that one, with whatever it was started with.
    """
    return SparkContext._gateway is None or bool(_BEGUN)


def _session(cores: int | None, master: str | None, conf: Mapping[str, str] | None) -> SparkSession:
    allow_open_files()
    python = os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # Spark has the cores; workers inherit this
    paths = [str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # workers of this machine find us there
    if master is not None:
        check_reachable(master)
    cores = cores or os.cpu_count() or 1
    settings = SparkConf().setAppName("penstock").setMaster(master or f"local[{cores},4]")
    settings.setAll(list(settings_of(cores, master, conf).items()))
    log = new_log()
    try:
        if is_one_process(master) and python == sys.executable:
            os.environ["PYSPARK_PYTHON"] = worker_python()  # a context reads it when it is made
        if SparkContext._gateway is None:
            SparkContext(conf=settings, gateway=start_java(settings, log))
        spark = SparkSession.builder.config(conf=settings).getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    except (PySparkException, Py4JError, OSError) as cause:
        atexit.unregister(log.unlink)
        reason = reason_in(str(cause))
        raise HostError(f"Spark does not start: {reason}", hint=_way_out(master, log)) from cause
    finally:
        os.environ["PYSPARK_PYTHON"] = python
    if master is not None:
        ship_package(spark)
    return spark


def for_short_run(conf: Mapping[str, str]) -> dict[str, str]:
    """Settings for a session that is over in seconds; those that are given count."""
    return {**conf, _JAVA: " ".join([SHORT, *filter(None, [conf.get(_JAVA)])])}


def _driver_gigabytes() -> int:
    """A quarter of the machine's memory: most results pass through the driver."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(8, total >> 32))


def _way_out(master: str | None, log: Path) -> str:
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        return f"JAVA_HOME is `{home}`, where there is no bin/java: fix it, or unset it"
    if not home and shutil.which("java") is None:
        return "there is no Java: install version 17 or newer, or set JAVA_HOME"
    if master is not None:
        return f"is the master `{master}` running, and reachable from here? Spark's log: {log}"
    return f"Spark's log is {log}"


@contextmanager
def worker_environment(context: SparkContext) -> Iterator[None]:
    """Functions that are handed to Spark meanwhile run in workers with our environment.

    A session of the user's has none of it, and its own functions stay without.
    """
    before = dict(context.environment)
    context.environment.update({**WORKERS, **before})
    try:
        yield
    finally:
        for name in WORKERS.keys() - before.keys():
            del context.environment[name]


@contextmanager
def changed(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings for a while; an empty value means Spark's default."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value) if value else spark.conf.unset(key)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)
