"""Executors of a cluster: there before queries start, and fit to run them.

Spark waits for executors without a word for as long as none comes, and counts as cores of a cluster
those of the executors that it has so far. And what an executor lacks shows in the first batch, if
at all: a state store in a directory that only looks like the driver's is none. So a session on a
cluster waits for its executors (`wait_for_executors`), and every pipeline asks them before it
starts (`check_executors`):

    packages    those that tasks need, in what version
    Penstock    the driver's is shipped (`shipping`); one of another version there is named
    places      whether they see the driver's files, and may write where they must
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from penstock.errors import HostError
from penstock.io.storage.storage_path import StoragePath, is_of_this_machine, local_path
from penstock.spark.jvm import worker_python
from penstock.spark.masters import is_one_process
from penstock.spark.shipping import ARCHIVE
from penstock.version import __version__

#: Seconds in which the first executor must come, and in which a further one would have come.
PATIENCE, LULL = 120.0, 3.0
_POLL = 0.05
#: Seconds that tidying up may take.
BRIEFLY = 10.0

#: Applications whose executors were waited for.
_SETTLED: set[str] = set()

#: What tasks import.
PACKAGES = ("numpy", "pandas", "polars", "protobuf", "pyarrow")

#: What a Python says of itself: its release, and which of the packages it does not have.
_LOOK = """
import sys
from importlib.util import find_spec
names = {"protobuf": "google.protobuf"}
def lacks(name):
    try:
        return find_spec(names.get(name, name)) is None
    except ImportError:
        return True
print("%d.%d" % sys.version_info[:2], *filter(lacks, sys.argv[1:]))
"""

_LOG = logging.getLogger("penstock")


@dataclass(frozen=True)
class Seen:
    """What one executor told of itself."""

    host: str
    #: The version of each package; None: it is not there.
    packages: tuple[tuple[str, str | None], ...]
    #: A Penstock that is installed there, as text: version and place; empty: none is.
    installed: str
    #: Places that it does not see, and those that it may not write to.
    unseen: tuple[str, ...] = ()
    unwritable: tuple[str, ...] = ()


def wait_for_executors(context: SparkContext) -> None:
    """Wait until a cluster has started what it has for us; raise if that is nothing."""
    application = str(context.applicationId)
    if is_one_process(str(context.master)) or application in _SETTLED:
        return
    conf = context.getConf()
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return  # executors come when there is work, and go
    wanted = int(str(conf.get("spark.executor.instances", "0")))
    scheduler = context._jsc.sc()
    found = settled(lambda: int(scheduler.getExecutorIds().size()), wanted)
    if not found:
        memory = conf.get("spark.executor.memory", "1g")
        host, port = conf.get("spark.driver.host", ""), conf.get("spark.driver.port", "")
        raise HostError(
            f"`{context.master}` has started no executor in {PATIENCE:.0f} s",
            hint=f"it needs a worker with {memory} of memory and a core that nobody else uses "
            "(spark.executor.memory, spark.executor.cores; other applications leave some if they "
            f"set spark.cores.max), from which the driver is reached at {host}:{port} "
            "(spark.driver.host)",
        )
    _SETTLED.add(application)


def settled(
    count: Callable[[], int], wanted: int = 0, sleep: Callable[[float], None] = time.sleep
) -> int:
    """How many there are once none was added for a while, or all that are wanted are there.

    >>> counts = iter([0, 1, 1, 2, *[3] * 100])
    >>> settled(lambda: next(counts), sleep=lambda _: None)
    3
    >>> counts = iter([0, 1, 2, 3])
    >>> settled(lambda: next(counts), wanted=2, sleep=lambda _: None)
    2
    """
    waited, since, found = 0.0, 0.0, count()
    while not (0 < wanted <= found) and since < (LULL if found else PATIENCE):
        sleep(_POLL)
        waited, since = waited + _POLL, since + _POLL
        before, found = found, count()
        if found > before and waited < PATIENCE:
            since = 0.0
    return found


def check_executors(
    context: SparkContext, written: Iterable[StoragePath] = (), read: Iterable[StoragePath] = ()
) -> None:
    """Raise unless executors can run our tasks, write to some places and read from others.

    What lies elsewhere than in files of a machine is Spark's to reach.
    """
    if is_one_process(str(context.master)):
        check_worker_python(str(context.pythonExec))
        return
    with marked(path for path in written if isinstance(path, Path)) as places:
        found = ask(context, places, [str(path) for path in read if isinstance(path, Path)])
    for each in found:
        check(each)
    here = dict(packages())
    for text in sorted({text for each in found for text in differences(each, here)}):
        _LOG.warning(text)


@cache
def check_worker_python(python: str) -> None:
    """Raise unless the Python of workers on this machine has what tasks need.

    A session that the user has made runs the first `python3` on PATH, whatever Python made it.
    """
    place = shutil.which(python)
    if place in (sys.executable, worker_python()):
        return
    try:
        asked = [place or python, "-c", _LOOK, *PACKAGES]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE, check=True)
        version, *lacking = done.stdout.split()
    except (OSError, subprocess.SubprocessError, ValueError) as cause:
        what = f"which does not start ({cause})"
    else:
        mine = f"{sys.version_info.major}.{sys.version_info.minor}"
        if version == mine and not lacking:
            return
        has = "has no " + ", ".join(lacking) if lacking else f"is Python {version}"
        what = f"which {has}" if lacking else f"which {has}, and the driver runs {mine}"
    raise HostError(
        f"the workers of this Spark session run `{place or python}`, {what}",
        hint="add this line before the session is created: "
        'os.environ["PYSPARK_PYTHON"] = sys.executable',
    )


def standing(paths: Iterable[str]) -> list[Path]:
    """The directories of this machine among paths and URIs; what is not there yet: one above."""
    places = [local_path(path).absolute() for path in paths if is_of_this_machine(path)]
    return list({next(p for p in (place, *place.parents) if p.is_dir()) for place in places})


@contextmanager
def marked(folders: Iterable[Path]) -> Iterator[list[str]]:
    """A file in each folder, by which it is known from others of the same name."""
    files = [folder / f".penstock-{uuid4().hex}" for folder in folders]
    try:
        for file in files:
            file.touch()
        yield [str(file) for file in files]
    finally:
        for file in files:
            with suppress(OSError):
                file.unlink(missing_ok=True)


def ask(context: SparkContext, written: Sequence[str], read: Sequence[str]) -> list[Seen]:
    """What executors tell of themselves: all of them, if none has anything else to do."""
    count = context.defaultParallelism

    def told(_: Iterable[int]) -> Iterator[Seen]:
        yield look(written, read)

    return list(context.parallelize(range(count), count).mapPartitions(told).collect())


def forget_on_executors(context: SparkContext, query: str) -> None:
    """Have executors remove what a query that has ended left in their shared memory."""
    if is_one_process(str(context.master)):
        return
    count = context.defaultParallelism

    def forget(_: int) -> None:
        from penstock.spark.shared_memory import forget_shared

        forget_shared(query)

    def work() -> None:
        with suppress(PySparkException, Py4JError):  # those that are gone have nothing left
            context.parallelize(range(count), count).foreach(forget)

    # Not waited for where no executor is left: the next query there removes it.
    thread = threading.Thread(target=work, name="penstock-forget", daemon=True)
    thread.start()
    thread.join(BRIEFLY)


def look(written: Sequence[str], read: Sequence[str]) -> Seen:
    """What a task sees of the machine that it runs on."""
    folders = [str(Path(file).parent) for file in written]
    seen = [folder for folder, file in zip(folders, written, strict=True) if os.path.exists(file)]
    return Seen(
        socket.gethostname(),
        tuple(packages()),
        installed(),
        (*(f for f in folders if f not in seen), *(p for p in read if not os.path.exists(p))),
        tuple(folder for folder in seen if not os.access(folder, os.W_OK)),
    )


def packages() -> Iterator[tuple[str, str | None]]:
    """The packages that tasks need, as they are here."""
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, None


def installed(path: Sequence[str] | None = None) -> str:
    """The Penstock that is found beside the shipped one, as text: version and place."""
    places = [each for each in path or sys.path if Path(each).name != ARCHIVE]
    found = PathFinder.find_spec("penstock", places)
    if found is None or found.origin is None:
        return ""
    folder = Path(found.origin).parent
    try:
        text = (folder / "version.py").read_text()
    except OSError:
        return f"of an unknown version in {folder}"
    version = text.rpartition("__version__ = ")[2].strip().strip('"')
    return f"{version} in {folder}"


def check(seen: Seen) -> None:
    """Raise unless an executor has what tasks need."""
    lacking = [name for name, version in seen.packages if version is None]
    if lacking:
        raise HostError(
            f"the executor on `{seen.host}` lacks {', '.join(lacking)}",
            hint="install what requirements.lock names into the Python of executors "
            "(PYSPARK_PYTHON), or ship an environment (spark.archives): docs/cluster.md",
        )
    if seen.unseen:
        raise HostError(
            f"the executor on `{seen.host}` does not see `{seen.unseen[0]}` of the driver",
            hint="files and checkpoints must lie where all machines find them under the same "
            "path; name a checkpoint on such storage: --checkpoint DIR, Engine(checkpoint=…)",
        )
    if seen.unwritable:
        raise HostError(
            f"the executor on `{seen.host}` may not write to `{seen.unwritable[0]}`",
            hint="state is written by executors: let their user write there, or run driver and "
            "executors as the same user",
        )


def differences(seen: Seen, here: Mapping[str, str | None]) -> Iterator[str]:
    """What an executor has in another version than the driver, whose packages `here` are."""
    if seen.installed and not seen.installed.startswith(f"{__version__} in "):
        yield (
            f"the executor on `{seen.host}` has Penstock {seen.installed}; the driver's, "
            f"{__version__}, was shipped there and is used in this session"
        )
    others = [
        f"{name} {version} (driver: {here.get(name)})"
        for name, version in seen.packages
        if version != here.get(name)
    ]
    if others:
        yield (
            f"the executor on `{seen.host}` has other versions than the driver: "
            f"{', '.join(others)}; install those of requirements.lock on all machines"
        )
