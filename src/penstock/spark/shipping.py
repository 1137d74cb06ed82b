"""The package on its way to executors, so that they run what the driver runs.

Executors need no copy of Penstock: the driver sends its own, as one archive, once for all engines
of a session, and Spark hands it to every executor before its first task, also to those that come
late. It goes before a Penstock that is installed there, which `executors` then names.

A module in an archive is compiled at every import, in every worker; so the archive holds byte code
beside the sources, for this release of Python. Another one passes over it, and compiles.

Functions of users travel inside the program, packed by Spark. It would send only the name of one
that stands in a module, which executors need not have; so modules of the user's own are sent with
what is used of them. Packages that are installed are expected on the executors, too.
"""

from __future__ import annotations

import importlib.util
import marshal
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock.io.storage.scratch import scratch
from penstock.spark.jvm import added_files

#: This package, as it lies on this machine.
PACKAGE = Path(__file__).resolve().parents[1]
#: What it is called where executors find it.
ARCHIVE = "penstock.zip"

#: Byte code that is taken as it is, without a look at the source.
_UNCHECKED = (1).to_bytes(4, "little")


def ship_package(spark: SparkSession) -> None:
    """Send this package to the executors, unless it was: a cluster takes a file's name once."""
    if any(Path(file).name == ARCHIVE for file in added_files(spark.sparkContext)):
        return
    # Executors that come later ask for it, as long as this process lives.
    folder = Path(tempfile.mkdtemp(dir=scratch()))
    write_archive(PACKAGE, folder / ARCHIVE)
    spark.sparkContext.addPyFile(str(folder / ARCHIVE))


def send_by_value(code: object) -> None:
    """Have Spark send users' code itself, unless it is of a package that is installed."""
    found = {type(code).__module__, getattr(code, "__module__", None)}
    found |= {getattr(each, "__module__", None) for each in getattr(code, "__dict__", {}).values()}
    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    for name in found:
        module = sys.modules.get(name or "")
        if module is not None and name != "__main__" and _is_users(module):
            register(module)


def _is_users(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is None or module.__name__.partition(".")[0] == PACKAGE.name:
        return False
    installed = {sysconfig.get_path(each) for each in ("stdlib", "purelib", "platlib")}
    return not any(Path(file).is_relative_to(place) for place in installed)


def write_archive(package: Path, file: Path) -> None:
    """Put a package into an archive from which Python imports it without compiling it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for source in sorted(package.rglob("*")):
            if not source.is_file() or "__pycache__" in source.parts:
                continue
            name = source.relative_to(package.parent).as_posix()
            content = source.read_bytes()
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
            if source.suffix == ".py":
                compiled = zipfile.ZipInfo(f"{name}c")
                archive.writestr(compiled, byte_code(content, name), zipfile.ZIP_DEFLATED)


def byte_code(source: bytes, name: str) -> bytes:
    """A module as Python keeps it in a file, good for as long as the source beside it."""
    code = compile(source, name, "exec", dont_inherit=True)
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source)
    return head + marshal.dumps(code)
