"""An archive of Spark's classes, with which Java starts in half the time; made by one small run.

Java writes down what it has loaded when it ends (`-XX:ArchiveClassesAtExit`), and takes it from
there at its next start, checked already. RocksDB's library is laid beside it, which Java would
unpack from its jar at every start. Without either Spark only starts more slowly, so nothing that
happens here is a reason to fail, and PENSTOCK_CLASSES=none does without.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import zipfile
from pathlib import Path

from penstock_setup.places import Places
from penstock_setup.progress import Progress

#: It takes half a minute, and writing the archive half of that; a machine that takes so much
#: longer is too busy.
LIMIT_SECONDS, WRITING_SECONDS = 240.0, 90.0
_LIBRARIES = {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"}


def archive_classes(places: Places, java_home: str, progress: Progress) -> None:
    """Make both for this Java, unless they are there."""
    made_for = f"{java_home}\n{places.lock.read_text(encoding='utf-8')}"
    stamp = places.java_classes / "made-for"
    is_made = stamp.is_file() and stamp.read_text(encoding="utf-8") == made_for
    if not java_home or is_made or os.environ.get("PENSTOCK_CLASSES") == "none":
        return
    shutil.rmtree(places.java_classes, ignore_errors=True)
    places.java_classes.mkdir(parents=True)
    _unpack_rocksdb(places)
    archive = places.java_classes / "spark.new"
    process = subprocess.Popen(
        [
            *(str(places.env_python), "-m", "penstock", "run", "examples/talkers.sql", "--conf"),
            f"spark.driver.extraJavaOptions=-XX:ArchiveClassesAtExit={archive}",
        ],
        cwd=places.root,
        env={
            **{k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")},
            "PYTHONPATH": str(places.root / "src"),
            "PENSTOCK_HOME": str(places.home),
            "PYSPARK_PYTHON": str(places.env_python),
            "JAVA_HOME": java_home,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    archiving = "archiving Spark's classes, for quick starts"
    progress.wait_for(process, lambda: archiving, LIMIT_SECONDS)
    # Java goes on writing when the run is over.
    if process.returncode == 0 and progress.wait_until(
        lambda: _is_whole(archive), archiving, WRITING_SECONDS
    ):
        archive.rename(archive.with_suffix(".jsa"))
        progress.say(f"archived Spark's classes, after {progress.seconds} s")
    else:
        progress.say("Spark's classes are not archived: it starts more slowly")
    stamp.write_text(made_for, encoding="utf-8")


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
