"""A real cluster of Spark's on the loopback interface: a master and workers, each a process.

Nothing of the project is in their environment or working directory, and it is not installed: what
executors know of Penstock was shipped to them. They have this Python and its packages. Whoever
talks to them must know a secret, which stands in `conf`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyspark

from tests.servers import PATIENCE, free_port

HOST = "127.0.0.1"
_MASTER = "org.apache.spark.deploy.master.Master"
#: What a worker says when the master has taken it.
_KNOWN = "Successfully registered with master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass
class Daemon:
    """A process of the cluster, with whatever it has started in its group."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def said(self, text: str) -> bool:
        return text in self.log.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def executors(self) -> list[int]:
        """The executors that it has started."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
                same_group = os.getpgid(int(folder.name)) == self.process.pid
            except OSError:  # it has just ended
                continue
            if same_group and b"CoarseGrainedExecutorBackend" in command:
                found.append(int(folder.name))
        return found

    def kill(self) -> None:
        """SIGKILL to the process and its executors; workers in Python end with them."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Cluster:
    """A master, and the workers that were started for it."""

    folder: Path
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    #: What workers are started with, in front of their command.
    prefix: Sequence[str] = ()
    daemons: list[Daemon] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    @property
    def conf(self) -> Path:
        """The folder of Spark's settings, for daemons and drivers (SPARK_CONF_DIR)."""
        return self.folder / "conf"

    @property
    def workers(self) -> list[Daemon]:
        """Those that are alive."""
        return [each for each in self.daemons if each.name != "master" and each.is_running]

    def start_master(self) -> None:
        self.conf.mkdir()
        secret = "spark.authenticate true\nspark.authenticate.secret " + secrets.token_hex(16)
        (self.conf / "spark-defaults.conf").write_text(secret + "\n")
        self._start("master", _MASTER, "--host", HOST, "--port", str(self.port))
        wait_for("the master", self._answers, self.logs)

    def start_workers(self, count: int = 1) -> list[Daemon]:
        """Workers of one core each; gives them when the master knows them."""
        begun = [self._start_worker() for _ in range(count)]
        for worker in begun:
            wait_for(worker.name, partial(worker.said, _KNOWN), self.logs)
        return begun

    def _start_worker(self) -> Daemon:
        name = f"worker{len(self.daemons)}"
        room = ["--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name)]
        return self._start(name, _WORKER, "--host", HOST, "--port", "0", *room, self.url)

    def _start(self, name: str, kind: str, *options: str) -> Daemon:
        home, log = Path(pyspark.__file__).parent, self.folder / f"{name}.log"
        place = self.folder / f"{name}.cwd"
        place.mkdir()
        with log.open("wb") as sink:
            process = subprocess.Popen(
                [
                    *(self.prefix if kind == _WORKER else ()),
                    *(str(home / "bin" / "spark-class"), kind, *options, "--webui-port", "0"),
                ],
                cwd=place,
                env={**clean_environment(home, self.conf), **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        daemon = Daemon(name, process, log)
        self.daemons.append(daemon)
        return daemon

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
            return True
        return False

    def logs(self) -> str:
        """The end of every log, for a failure: of master, workers and executors."""
        files = [*self.folder.glob("*.log"), *self.folder.glob("worker*/app-*/*/stderr")]
        return "\n\n".join(
            f"== {file.relative_to(self.folder)}\n{file.read_text(errors='replace')[-3000:]}"
            for file in sorted(files)
        )

    def stop(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.kill()


def clean_environment(home: Path, conf: Path) -> dict[str, str]:
    """What Spark's processes find in their environment: nothing of ours."""
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_PUBLIC_DNS": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_SCALA_VERSION": "2.13",
    }


def wait_for(what: str, is_so: Callable[[], bool], logs: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"{what} does not answer\n{logs()}"
        time.sleep(0.05)


@contextmanager
def standalone_cluster(
    folder: Path,
    workers: int = 2,
    *,
    environment: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Iterator[Cluster]:
    """A master with so many workers, stopped in the end, whatever happens."""
    assert shutil.which("java") or os.environ.get("JAVA_HOME")
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder, free_port(), environment or {}, prefix)
    try:
        cluster.start_master()
        cluster.start_workers(workers)
        yield cluster
    finally:
        cluster.stop()
