"""What executors tell of themselves, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.spark.executors import (
    Seen,
    check,
    check_worker_python,
    differences,
    installed,
    look,
    marked,
    packages,
    settled,
    standing,
)
from penstock.spark.session import LOOPBACK, PARTITIONS, settings_of
from penstock.version import __version__

FINE = Seen("far", tuple(packages()), "")
HERE = dict(FINE.packages)


def test_an_executor_that_has_everything_is_fine() -> None:
    check(FINE)
    assert list(differences(FINE, HERE)) == []
    same = replace(FINE, installed=f"{__version__} in /opt")
    assert list(differences(same, HERE)) == []


def test_what_an_executor_lacks_is_named() -> None:
    lacking = replace(FINE, packages=(("polars", None), ("pyarrow", "26.0.1"), ("pandas", None)))
    with pytest.raises(HostError, match="the executor on `far` lacks polars, pandas") as caught:
        check(lacking)
    assert "requirements.lock" in str(caught.value.hint)


def python(folder: Path, line: str) -> str:
    script = folder / "python3"
    script.write_text(f"#!/bin/sh\n{line}\n")
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    "line, complaint",
    [
        ('exec {here} -I -S "$@"', "which has no numpy, pandas, polars, protobuf, pyarrow"),
        ("echo 3.9", "which is Python 3.9, and the driver runs "),
        ("echo broken >&2; exit 3", "which does not start"),
    ],
)
def test_a_python_of_workers_that_cannot_run_tasks_is_named_with_the_line_to_add(
    tmp_path: Path, line: str, complaint: str
) -> None:
    place = python(tmp_path, line.format(here=sys.executable))
    with pytest.raises(HostError, match=complaint) as caught:
        check_worker_python(place)
    assert place in caught.value.message
    assert 'os.environ["PYSPARK_PYTHON"] = sys.executable' in str(caught.value.hint)


def test_a_python_with_the_packages_is_fine_and_one_that_is_missing_is_not(tmp_path: Path) -> None:
    check_worker_python(python(tmp_path, f'exec {sys.executable} "$@"'))
    check_worker_python(sys.executable)
    with pytest.raises(HostError, match="`no-such-python`, which does not start"):
        check_worker_python("no-such-python")


@pytest.mark.slow
def test_a_session_of_the_users_whose_workers_lack_packages_is_refused_at_the_start(
    tmp_path: Path,
) -> None:
    app = tmp_path / "app.py"
    app.write_text(
        "from pyspark.sql import SparkSession\n"
        "from penstock import Engine, HostError\n"
        "engine = Engine(SparkSession.builder.master('local[2,4]').getOrCreate())\n"
        "engine.sql(\"CREATE STREAM s (k INT) FROM workload 'packets' OPTIONS (rows '10')\")\n"
        "engine.sql('SELECT k FROM s')\n"
        "try:\n    engine.start()\n"
        "except HostError as error:\n    print('refused:', error)\n"
    )
    bare = python(tmp_path, f'exec {sys.executable} -S "$@"')
    env = {**os.environ, "PATH": f"{Path(bare).parent}:{os.environ['PATH']}"}
    env.pop("PYSPARK_PYTHON", None)
    done = subprocess.run([sys.executable, app], env=env, capture_output=True, text=True)
    assert f"refused: the workers of this Spark session run `{bare}`" in done.stdout, done.stderr


def test_another_penstock_and_other_packages_are_named_and_no_hindrance() -> None:
    other = replace(FINE, installed="0.0.9 in /opt/penstock", packages=(("polars", "2.0.0"),))
    check(other)
    penstock, polars = differences(other, HERE)
    assert penstock == (
        "the executor on `far` has Penstock 0.0.9 in /opt/penstock; the driver's, "
        f"{__version__}, was shipped there and is used in this session"
    )
    assert f"polars 2.0.0 (driver: {HERE['polars']})" in polars


def test_places_that_an_executor_cannot_use_are_named() -> None:
    with pytest.raises(HostError, match="`far` does not see `/data/in` of the driver") as caught:
        check(replace(FINE, unseen=("/data/in",)))
    assert "--checkpoint" in str(caught.value.hint)
    with pytest.raises(HostError, match="`far` may not write to `/data/kept`"):
        check(replace(FINE, unwritable=("/data/kept",)))


def test_a_folder_of_the_same_name_is_not_the_drivers(tmp_path: Path) -> None:
    """On another machine there may be one, without what the driver has just put there."""
    with marked([tmp_path]) as [mark]:
        assert look([mark], [str(tmp_path)]).unseen == ()
        Path(mark).unlink()
        assert look([mark], [str(tmp_path / "no")]).unseen == (str(tmp_path), str(tmp_path / "no"))
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_yet_stands_for_one_above(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    paths = [str(there / "a" / "b"), f"file://{there}", "s3a://bucket/results"]
    assert standing(paths) == [there]


def test_a_penstock_beside_the_shipped_one_is_found(tmp_path: Path) -> None:
    package = tmp_path / "penstock"
    package.mkdir()
    (package / "__init__.py").touch()
    assert installed([str(tmp_path)]) == f"of an unknown version in {package}"
    (package / "version.py").write_text('"""The version."""\n\n__version__ = "0.0.9"\n')
    assert installed(["./penstock.zip", str(tmp_path)]) == f"0.0.9 in {package}"
    assert installed([str(package)]) == ""


def test_no_executor_is_waited_for_without_end() -> None:
    assert settled(lambda: 0, sleep=lambda _: None) == 0


def test_a_cluster_has_its_own_number_of_groups_and_stays_on_its_interface() -> None:
    assert settings_of(2)[PARTITIONS] == "2"
    on_cluster = settings_of(2, "spark://host:7077")
    assert PARTITIONS not in on_cluster
    assert not LOOPBACK.keys() & on_cluster.keys()
    assert settings_of(2, "spark://127.0.0.1:7077").items() >= LOOPBACK.items()
