"""A real cluster: a master and two workers, to which the package is shipped.

Queries of every kind give the local engine's answers, and so they do when workers are killed in
mid-run and others come. A driver is a process of its own: there is one Spark in a process.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.spark.cluster.kinds import write_streams, wrong
from tests.spark.cluster.standalone import Cluster, standalone_cluster
from tests.spark.packets import by_local_engine, script, write_packets
from tests.spark.test_living_campaign import check, planned

ROOT = Path(__file__).parents[3]
#: Seconds that a run may take on a machine with a lot else to do.
LONG = 1200.0
#: Starts a command, the arguments behind the first, where that folder is empty.
ELSEWHERE = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$1" && shift && exec "$@"', "sh")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path / "cluster") as found:
        yield found


@contextmanager
def driver(cluster: Cluster, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A driver's process, which is gone in the end; it writes to `words` and `errors`."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    ours = {
        "PYTHONPATH": path,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(cluster.conf),
    }
    with (folder / "words").open("wb") as words, (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env={**os.environ, **ours},
            cwd=ROOT,
            stdout=words,
            stderr=errors,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ended(process: subprocess.Popen[bytes], folder: Path, cluster: Cluster) -> str:
    """What a driver said that came to a good end."""
    code = process.wait(LONG)
    words, errors = (folder / name for name in ("words", "errors"))
    assert code == 0, f"{words.read_text()}{errors.read_text()[-4000:]}\n{cluster.logs()}"
    return words.read_text()


def run_until(process: subprocess.Popen[bytes], so_far: Callable[[], int], count: int) -> bool:
    """Wait until a driver has come so far; gives whether it still runs."""
    end = time.monotonic() + LONG
    while process.poll() is None and so_far() < count:
        assert time.monotonic() < end
        time.sleep(0.05)
    return process.poll() is None


def commits(folder: Path) -> int:
    """How many batches of all pipelines are over."""
    return sum(1 for file in folder.rglob("spark/commits/[0-9]*") if file.name.isdigit())


def steps_done(folder: Path) -> int:
    """How many steps of a life are over."""
    file = folder / "done"
    return int(file.read_text()) if file.exists() else 0


def other_penstock(folder: Path) -> Path:
    """A folder with a Penstock of another version, which nobody may use."""
    package = folder / "other" / "penstock"
    package.mkdir(parents=True)
    (package / "version.py").write_text('__version__ = "0.0.9"\n')
    (package / "__init__.py").write_text("raise RuntimeError('another Penstock')\n")
    return package


def small_run(folder: Path) -> tuple[Path, str]:
    """A file of SQL, and what is declared in it."""
    write_packets(folder / "in", range(2), rows=200)
    queries = {
        "sliding": "SELECT srcIP, count(*) AS n FROM packets [RANGE 6 SECONDS SLIDE 2 SECONDS] "
        "GROUP BY srcIP"
    }
    file, text = folder / "run.sql", script(folder / "in", queries)
    file.write_text(text)
    return file, text


@pytest.mark.slow
def test_a_file_runs_on_a_cluster_with_the_answers_of_this_process(tmp_path: Path) -> None:
    """And by the code that was shipped, although executors find another Penstock, which is said."""
    file, text = small_run(tmp_path)
    package = other_penstock(tmp_path)
    there = {"PYTHONPATH": str(package.parent)}
    with (
        standalone_cluster(tmp_path / "cluster", environment=there) as cluster,
        driver(
            cluster, tmp_path, "penstock", "run", str(file), "--json", "--master", cluster.url
        ) as process,
    ):
        said = json.loads(ended(process, tmp_path, cluster))
    expected = by_local_engine(text).query("sliding").results()
    found = said["queries"]["sliding"]["results"]
    assert Counter((row["srcIP"], row["n"]) for row in found) == Counter(
        expected.select("srcIP", "n").rows()
    )
    assert f"has Penstock 0.0.9 in {package}; the driver's" in (tmp_path / "errors").read_text()


@pytest.mark.slow
def test_a_checkpoint_that_executors_do_not_see_is_refused(tmp_path: Path) -> None:
    """Workers have an empty folder of the same name, as on another machine."""
    if subprocess.run([*ELSEWHERE, str(tmp_path), "true"], check=False).returncode:
        pytest.skip("needs the right to mount file systems (unshare --mount)")
    file, _ = small_run(tmp_path)
    kept = tmp_path / "kept"
    kept.mkdir()
    command = ["penstock", "run", str(file), "--checkpoint", str(kept)]
    with (
        standalone_cluster(tmp_path / "cluster", 1, prefix=[*ELSEWHERE, str(kept)]) as cluster,
        driver(cluster, tmp_path, *command, "--master", cluster.url) as process,
    ):
        assert process.wait(LONG) == 1
        said = (tmp_path / "errors").read_text()
    assert f"does not see `{kept}/sliding` of the driver" in said, said
    assert "name a checkpoint on such storage" in said


@pytest.mark.slow
def test_queries_of_every_kind_survive_the_loss_of_every_worker_that_they_began_on(
    cluster: Cluster, tmp_path: Path
) -> None:
    """One is killed while tasks run, and another joins; then all are killed at once."""
    write_streams(tmp_path, files=12, rows=150)
    arguments = ["tests.spark.cluster.cluster_runs", str(tmp_path), cluster.url]
    with driver(cluster, tmp_path, *arguments) as process:
        for count in (1, 2):
            assert run_until(process, partial(commits, tmp_path), commits(tmp_path) + 8)
            for worker in cluster.workers[:count]:
                worker.kill()
            cluster.start_workers(count)
        said = json.loads(ended(process, tmp_path, cluster))
    assert said == {"groups": "2", "files": ["./penstock.zip/penstock/__init__.pyc"]}
    assert wrong(tmp_path) == {}


def lose_executor(cluster: Cluster, chance: random.Random) -> None:
    """Its worker starts another."""
    executors = [each for worker in cluster.workers for each in worker.executors()]
    os.kill(chance.choice(executors), signal.SIGKILL)


def lose_worker(cluster: Cluster, chance: random.Random) -> None:
    """With its executor; another worker joins."""
    chance.choice(cluster.workers).kill()
    cluster.start_workers()


def lose_master(cluster: Cluster, chance: random.Random) -> None:
    """Executors that are there stay."""
    cluster.daemons[0].kill()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_queries_come_and_go_on_a_cluster_that_loses_workers(
    seed: int, cluster: Cluster, tmp_path: Path
) -> None:
    chance, folder = random.Random(seed), tmp_path / "life"
    losses = [lose_worker, lose_executor, lose_worker, lose_master]
    plan = planned(folder, chance, 12)
    arguments = ["tests.spark.living_runs", str(folder), cluster.url]
    with driver(cluster, tmp_path, *arguments) as process:
        for step, loss in zip((2, 5, 8, 10), losses, strict=True):
            assert run_until(process, partial(steps_done, folder), step)
            time.sleep(chance.uniform(0, 2))
            loss(cluster, chance)
        ended(process, tmp_path, cluster)
    check(folder, plan)
