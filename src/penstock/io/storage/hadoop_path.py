"""HadoopPath: a file or folder in one of the file systems that Spark reaches, by its URI.

It has the methods of `pathlib.Path` that `StoragePath` names, and fails as a path does, with an
`OSError`. Whoever has a Spark session says so once (`connect`): the session's Hadoop configuration
knows how stores are reached, and with which credentials. Until something is asked of a path nothing
needs to be there.

What is written appears whole or not at all: by Spark's own manager of checkpoint files, which knows
for each store how.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from penstock.errors import NotExecutable

#: The parts of a URI.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(/.*)")

#: The setting that names a class for checkpoint files.
_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"

_CONNECTED: list[Callable[[], Any]] = []


def connect(session: Callable[[], Any]) -> None:
    """Reach stores through this Spark session from now on."""
    _CONNECTED[:] = [session]


@dataclass(frozen=True)
class Facts:
    """What a store says of a file."""

    st_size: int
    st_mtime_ns: int
    is_folder: bool

    @property
    def st_mtime(self) -> float:
        return self.st_mtime_ns / 1e9


class HadoopPath:
    """A place by its URI.

    >>> place = HadoopPath("hdfs://host/data/") / "a.json"
    >>> place.name, place.stem, str(place.parent), place.with_name("b").name
    ('a.json', 'a', 'hdfs://host/data', 'b')
    """

    def __init__(self, uri: str) -> None:
        found = _URI.fullmatch(uri)
        if found is None:
            raise NotExecutable(
                f"`{uri}` is not a URI of files", hint="write it like hdfs://host/data/in"
            )
        scheme, host, path = found.groups()
        self.scheme = scheme.lower()
        self._root = f"{self.scheme}://{host or ''}"
        self._parts = tuple(part for part in path.split("/") if part not in ("", "."))

    def _beside(self, parts: tuple[str, ...]) -> HadoopPath:
        found = object.__new__(HadoopPath)
        found.scheme, found._root, found._parts = self.scheme, self._root, parts
        return found

    def __str__(self) -> str:
        return f"{self._root}/{'/'.join(self._parts)}"

    def __repr__(self) -> str:
        return f"HadoopPath('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HadoopPath) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __lt__(self, other: HadoopPath) -> bool:
        return str(self) < str(other)

    def __truediv__(self, name: str) -> HadoopPath:
        return self._beside((*self._parts, *(part for part in name.split("/") if part)))

    @property
    def name(self) -> str:
        return self._parts[-1] if self._parts else ""

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    @property
    def parent(self) -> HadoopPath:
        return self._beside(self._parts[:-1])

    def with_name(self, name: str) -> HadoopPath:
        return self.parent / name

    def resolve(self) -> HadoopPath:
        """Itself: there are no links, and nothing it is relative to."""
        return self

    # -- looking ------------------------------------------------------------------------------

    def stat(self) -> Facts:
        with _failing(self):
            return _facts(self._store().getFileStatus(self._path()))

    def exists(self) -> bool:
        with _failing(self):
            return bool(self._store().exists(self._path()))

    def is_dir(self) -> bool:
        return self._is(folder=True)

    def is_file(self) -> bool:
        return self._is(folder=False)

    def _is(self, *, folder: bool) -> bool:
        try:
            return self.stat().is_folder is folder
        except FileNotFoundError:
            return False

    def listed(self) -> dict[str, Facts]:
        """What lies in a folder, by name, all of it asked for at once."""
        with _failing(self):
            found = self._store().listStatus(self._path())
            return {str(each.getPath().getName()): _facts(each) for each in found}

    def iterdir(self) -> Iterator[HadoopPath]:
        return (self / name for name in self.listed())

    def glob(self, pattern: str) -> Iterator[HadoopPath]:
        """What lies in a folder under names that a pattern matches; nothing, if there is none."""
        try:
            names = self.listed()
        except FileNotFoundError:
            return iter(())
        return (self / name for name in names if fnmatchcase(name, pattern))

    def read_bytes(self) -> bytes:
        with _failing(self):
            java = _java()
            stream = self._store().open(self._path())
            try:
                return bytes(java.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def read_text(self) -> str:
        return self.read_bytes().decode()

    # -- writing ------------------------------------------------------------------------------

    def write_whole(self, data: bytes) -> None:
        """Write a file in one piece, in place of one that is there."""
        with _failing(self):
            out = self._manager().createAtomic(self._path(), True)
            try:
                out.write(data)
                out.close()
            except BaseException:
                out.cancel()
                raise

    def create(self, data: bytes) -> None:
        """Write a small file that is not there yet; raises FileExistsError if it is."""
        with _failing(self):
            out = self._store().create(self._path(), False)
            out.write(data)
            out.close()

    @contextmanager
    def written(self) -> Iterator[Path]:
        """A file of this machine to write to, which is then copied here under a hidden name."""
        with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
            local = Path(folder) / self.name
            yield local
            with _failing(self):
                self._store().copyFromLocalFile(True, True, _path(f"file:{local}"), self._path())

    def fetched(self, to: Path) -> Path:
        """Copy the file into a folder of this machine."""
        with _failing(self):
            local = to / self.name
            self._store().copyToLocalFile(False, self._path(), _path(f"file:{local}"), True)
            return local

    def touch(self) -> None:
        with _failing(self):
            self._store().create(self._path(), True).close()

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        with _failing(self):
            permission = _java().org.apache.hadoop.fs.permission.FsPermission
            self._store().mkdirs(self._path(), permission(f"{mode:03o}"))

    def rename(self, target: HadoopPath) -> HadoopPath:
        """Give it a name that nothing has."""
        with _failing(self):
            if not self._store().rename(self._path(), target._path()):
                raise OSError(f"`{self}` cannot be renamed to `{target}`")
        return target

    def replace(self, target: HadoopPath) -> HadoopPath:
        """Give it a name, in place of what has it."""
        target.remove()
        return self.rename(target)

    def unlink(self, missing_ok: bool = False) -> None:
        if not self.remove() and not missing_ok:
            raise FileNotFoundError(f"there is nothing at `{self}`")

    def remove(self) -> bool:
        """Remove it with all that is in it; gives whether anything was there."""
        with _failing(self):
            return bool(self._store().delete(self._path(), True))

    def _path(self) -> Any:
        return _path(str(self))

    def _store(self) -> Any:
        return self._path().getFileSystem(_configuration())

    def _manager(self) -> Any:
        checkpointing = _java().org.apache.spark.sql.execution.streaming.checkpointing
        return checkpointing.CheckpointFileManager.create(self.parent._path(), _configuration())


def _facts(status: Any) -> Facts:
    written = int(status.getModificationTime()) * 1_000_000
    return Facts(int(status.getLen()), written, bool(status.isDirectory()))


def _session() -> Any:
    if not _CONNECTED:
        raise NotExecutable(
            "files of a URI are read and written through Spark, which is not here",
            hint="run it on Spark, or name a path of this machine",
        )
    return _CONNECTED[0]()


def _java() -> Any:
    return _session()._jvm


def _configuration() -> Any:
    found = _session()._jsparkSession.sessionState().newHadoopConf()
    found.unset(_MANAGER)  # Spark chooses by the store
    return found


def _path(uri: str) -> Any:
    return _java().org.apache.hadoop.fs.Path(uri)


@contextmanager
def _failing(path: HadoopPath) -> Iterator[None]:
    """What Java raises, as Python has it."""
    try:
        yield
    except (OSError, NotExecutable):
        raise
    except Exception as cause:
        java = getattr(cause, "java_exception", None)
        if java is None:
            raise
        name, said = str(java.getClass().getSimpleName()), str(java.getMessage())
        if name == "FileNotFoundException":
            raise FileNotFoundError(f"there is nothing at `{path}`") from cause
        if name == "FileAlreadyExistsException":
            raise FileExistsError(f"`{path}` is there already") from cause
        raise OSError(f"`{path}`: {said.splitlines()[0] if said else name}") from cause
