"""Spark that cannot be had: no Java, no master. One sentence and the way out, no stack."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.spark.masters import check_reachable

SCRIPT = """CREATE STREAM s (v INT) FROM rate;
CREATE QUERY q AS SELECT v FROM s"""


def run(tmp_path: Path, *options: str, **surroundings: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "run.sql"
    file.write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, "-m", "penstock", "run", *options, str(file)],
        env={**os.environ, **surroundings},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("home", "way_out"),
    [
        ("", "there is no Java: install version 17 or newer, or set JAVA_HOME"),
        ("/nowhere", "JAVA_HOME is `/nowhere`, where there is no bin/java: fix it, or unset it"),
    ],
)
def test_without_java_the_way_out_is_told(tmp_path: Path, home: str, way_out: str) -> None:
    ran = run(tmp_path, PATH="", JAVA_HOME=home)
    assert ran.returncode == 1
    assert "Spark does not start: " in ran.stderr
    assert ran.stderr.endswith(f"\n  {way_out}\n")
    assert "Traceback" not in ran.stderr
    assert "\tat " not in ran.stderr


def test_a_master_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    ran = run(tmp_path, "--master", "spark://localhost:1")
    assert ran.returncode == 1
    assert "the Spark master `spark://localhost:1` does not answer: localhost:1: " in ran.stderr
    assert "is it running, and reachable from here?" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        check_reachable(f"spark://localhost:1,localhost:{port}")
    check_reachable("local[2]")


@pytest.mark.parametrize("master", ["spark://localhost", "spark://localhost:many", "spark://"])
def test_a_master_without_a_port_is_refused(master: str) -> None:
    with pytest.raises(HostError, match="does not answer"):
        check_reachable(master)


@pytest.mark.parametrize("master", ["localhost:7077", "host", "yarn-client"])
def test_what_is_no_address_of_a_master_is_refused_with_those_that_are(master: str) -> None:
    with pytest.raises(HostError, match=f"`{master}` is not the address") as caught:
        check_reachable(master)
    assert "spark://host:7077" in str(caught.value.hint)


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local-cluster[2,1,1024]", "yarn", "k8s://h"]
)
def test_masters_of_other_kinds_are_left_to_spark(master: str) -> None:
    check_reachable(master)
