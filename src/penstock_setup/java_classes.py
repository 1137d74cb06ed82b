"""`python -I java_classes.py ROOT HOME JAVA_HOME`: an archive of Spark's classes, for quick starts.

Java writes down what it has loaded when it ends (`-XX:ArchiveClassesAtExit`), takes it from there
at its next start, checked already, and starts in half the time. RocksDB's library is laid beside
it, which Java would unpack from its jar at every start.

It takes a minute or several, so a command that has run on Spark starts it in the background when it
has shown its results. It runs at the lowest priority, one at a time, and what it makes gets its
name when it is whole. Without it Spark only starts more slowly: PENSTOCK_CLASSES=none does without.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

# Isolated mode (-I) keeps the user's directory and PYTHONPATH out, and with them the way to us.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from penstock_setup.places import Places

#: A machine that takes longer is too busy.
LIMIT_SECONDS, WRITING_SECONDS, POLL_SECONDS = 900.0, 300.0, 0.2
_LIBRARIES = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}


def begin(places: Places, java_home: str) -> None:
    """Have it made in the background, unless it is there or not wanted."""
    if not is_wanted(places, java_home):
        return
    python = str(places.env_python)
    subprocess.Popen(
        [python, "-I", __file__, str(places.root), str(places.home), java_home],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # it goes on when the terminal is closed
    )


def is_wanted(places: Places, java_home: str) -> bool:
    stamp = places.java_classes / "made-for"
    is_made = stamp.is_file() and stamp.read_text(encoding="utf-8") == _made_for(places, java_home)
    return bool(java_home) and not is_made and os.environ.get("PENSTOCK_CLASSES") != "none"


def archive_classes(places: Places, java_home: str) -> bool:
    """Make the archive; gives whether there is one now. What fails is not tried again."""
    if not is_wanted(places, java_home):
        return False
    os.nice(19)
    with (places.home / "java-classes.lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False  # another process is at it
        shutil.rmtree(places.java_classes, ignore_errors=True)
        places.java_classes.mkdir(parents=True)
        _unpack_rocksdb(places)
        archive = places.java_classes / "spark.new"
        made = _run(places, java_home, archive) and _wait(lambda: _is_whole(archive))
        if made:
            archive.rename(archive.with_suffix(".jsa"))
        stamp = places.java_classes / "made-for"
        stamp.write_text(_made_for(places, java_home), encoding="utf-8")
        return made


def _made_for(places: Places, java_home: str) -> str:
    return f"{java_home}\n{places.lock.read_text(encoding='utf-8')}"


def _run(places: Places, java_home: str, archive: Path) -> bool:
    """A small run, whose Java writes the archive when it ends."""
    option = f"spark.driver.extraJavaOptions=-XX:ArchiveClassesAtExit={archive}"
    command = [str(places.env_python), "-m", "penstock", "run", "examples/talkers.sql"]
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    env |= {
        "PYTHONPATH": str(places.root / "src"),
        "PENSTOCK_HOME": str(places.home),
        "PENSTOCK_CLASSES": "none",  # it is being made
        "PYSPARK_PYTHON": str(places.env_python),
        "JAVA_HOME": java_home,
    }
    try:
        done = subprocess.run(
            [*command, "--conf", option],
            cwd=places.root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _wait(is_so: Callable[[], bool]) -> bool:
    """Java goes on writing when the run is over."""
    end = time.monotonic() + WRITING_SECONDS
    while not is_so() and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    return is_so()


def _is_whole(archive: Path) -> bool:
    """Whether Java has written all of it: how it begins is written last."""
    if not archive.is_file():
        return False
    with archive.open("rb") as file:
        return file.read(4).strip(b"\0") != b""


def _unpack_rocksdb(places: Places) -> None:
    """Its library, where Java looks for one of that name."""
    name = _LIBRARIES.get(platform.machine()) if platform.system() == "Linux" else None
    jars = places.env.glob("lib/python*/site-packages/pyspark/jars/rocksdbjni-*.jar")
    jar: Path | None = next(jars, None)
    if name is None or jar is None:
        return
    with zipfile.ZipFile(jar) as packed:
        if name in packed.namelist():
            (places.java_classes / "librocksdbjni.so").write_bytes(packed.read(name))


if __name__ == "__main__":
    root, home, java = sys.argv[1:]
    archive_classes(Places(Path(root), Path(home)), java)
