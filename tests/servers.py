"""Real servers for tests: started on the loopback interface with data of their own, and stopped.

What is not installed is named; tests that need it are skipped then. `.ci/run` installs it. Kafka is
fetched (`kafka_jars`).
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kafka_jars import NoJars, broker_jars

#: Seconds in which a server must answer.
PATIENCE = 60.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Server:
    """A server's process; it can be stopped and started again, with the data it had."""

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        folder: Path,
        is_ready: Callable[[int], bool],
        user: str | None,
    ) -> None:
        self._is_ready = is_ready
        self._command = command
        self._folder = folder
        self._user = user
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port
        self.login_port = 0  # where one must say who one is, if there is such a place

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                **as_user(self._user),
            )
        end = time.monotonic() + PATIENCE
        while not self._is_ready(self.port):
            assert self._process.poll() is None and time.monotonic() < end, self._log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # PostgreSQL waits for clients else
            self._process.wait(PATIENCE)
            self._process = None

    def kill(self) -> None:
        """Stop it as if the machine had failed."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE)
        self._process = None


@contextmanager
def running(
    command: Sequence[str],
    port: int,
    folder: Path,
    is_ready: Callable[[int], bool],
    user: str | None = None,
) -> Iterator[Server]:
    server = Server(command, port, folder, is_ready, user)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def data_folder(owner: str | None) -> Iterator[Path]:
    """A folder that this user can reach, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-server-"))
    try:
        if owner is not None:
            shutil.chown(folder, owner)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def program(name: str, package: str, elsewhere: str = "") -> str:
    """The path of a server's program; skips the test if there is none."""
    found = shutil.which(name) or next(iter(sorted(Path("/").glob(elsewhere or "-"))), None)
    if found is None:
        pytest.skip(f"there is no `{name}`: install it (Debian: apt-get install {package})")
    return str(found)


def other_user() -> str | None:
    """Whom to run a server as that refuses to run as root; None: we are not root."""
    if os.getuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def as_user(name: str | None) -> dict[str, Any]:
    """How a process is started as another user."""
    if name is None:
        return {}
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


@contextmanager
def postgres_server() -> Iterator[Server]:
    """PostgreSQL, for which everybody is who they say, whatever the password."""
    there = "usr/lib/postgresql/*/bin/"
    initdb = program("initdb", "postgresql", f"{there}initdb")
    postgres = program("postgres", "postgresql", f"{there}postgres")
    user = other_user()
    with data_folder(user) as folder:
        data, port = folder / "data", free_port()
        subprocess.run(
            [initdb, "-D", str(data), "-U", "ada", "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True,
            cwd=folder,
            capture_output=True,
            **as_user(user),
        )
        settings = {
            "port": str(port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "timezone": "Asia/Kathmandu",  # results are UTC whatever the server's zone is
        }
        options = [part for item in settings.items() for part in ("-c", "=".join(item))]
        command = [postgres, "-D", str(data), *options]
        # One that still recovers accepts connections, and refuses them then.
        asked = [str(Path(postgres).resolve().with_name("pg_isready")), "-q", "-h", "127.0.0.1"]

        def is_ready(port: int) -> bool:
            return subprocess.run([*asked, "-p", str(port)], check=False).returncode == 0

        with running(command, port, folder, is_ready, user) as server:
            yield server


@contextmanager
def redis_server() -> Iterator[Server]:
    """Redis, which writes down everything, so that it can be stopped and started again."""
    redis = program("redis-server", "redis-server")
    with data_folder(None) as folder:
        port = free_port()
        options = {
            "port": str(port),
            "bind": "127.0.0.1",
            "dir": str(folder),
            "appendonly": "yes",
            "save": "",
            "requirepass": "hunter2",
        }
        command = [redis, *(part for name, v in options.items() for part in (f"--{name}", v))]
        with running(command, port, folder, redis_is_ready) as server:
            yield server


#: A broker that is its own controller, keeps little, and makes no topics by itself.
_KAFKA = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},LOGIN://127.0.0.1:{login},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},LOGIN://127.0.0.1:{login}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT
listener.name.login.sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
  required user_ada="{password}";
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.cleaner.enable=false
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
initial.broker.registration.timeout.ms=60000
"""


@contextmanager
def kafka_server() -> Iterator[Server]:
    """A Kafka broker, the only one of its cluster."""
    try:
        jars = broker_jars()
    except NoJars as missing:
        pytest.skip(str(missing))
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else program("java", "openjdk-17-jre-headless")
    command = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", f"{jars}/*"]
    with data_folder(None) as folder:
        port, settings = free_port(), folder / "server.properties"
        ports = {"port": port, "login": free_port(), "controller": free_port()}
        text = _KAFKA.format(**ports, data=folder / "data", password=PASSWORD)
        settings.write_text(text)
        made = [*command, "kafka.tools.StorageTool", "format", "-c", str(settings)]
        subprocess.run([*made, "-t", _CLUSTER], check=True, cwd=folder, capture_output=True)
        run = [*command, "kafka.Kafka", str(settings)]
        with running(run, port, folder, kafka_is_ready) as server:
            server.login_port = ports["login"]
            yield server


#: What ada logs in with to Kafka.
PASSWORD = "hunter2"
#: Any cluster has an id: 16 bytes as text.
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def kafka_is_ready(port: int) -> bool:
    """Whether it knows of itself."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    asked = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
    try:
        return bool(asked.list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def redis_is_ready(port: int) -> bool:
    """Whether it answers, and not that it is still loading."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(100).startswith((b"+PONG", b"-NOAUTH"))
    except OSError:
        return False
