"""A checkpoint has one format; one of another format is refused, and stays as it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from penstock.checkpoint import layout
from penstock.checkpoint.layout import FORMAT, Layout
from penstock.cli.status import status
from penstock.errors import HostError
from penstock.optimizer.optimize import optimize
from penstock.optimizer.physical import Program
from penstock.spark.engine import Engine
from penstock.spark.placement.partitioning import partitioning
from penstock.spark.state.checkpoint import Checkpoint, Continued
from tests.spark.placement.plans import plan

SQL = "SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS, SLIDE 5 SECONDS, WA ts] GROUP BY k"
STREAM = "CREATE STREAM a (k BIGINT, x BIGINT, ts TIMESTAMP) FROM json '{}' TIMESTAMP BY ts;"


def program() -> Program:
    return optimize({"q": plan(SQL)})


def begun(folder: Path) -> None:
    """A checkpoint with a program and groups, which ran nothing yet."""
    first = program()
    checkpoint = Checkpoint(folder, first, keys=partitioning(*first.queries.values()))
    checkpoint.groups([0, 1])
    checkpoint.confirm(first)
    checkpoint.release()


def content(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """All there is, with its rights and when it was changed."""
    return {
        str(file.relative_to(folder)): (
            file.stat().st_mode,
            file.stat().st_mtime_ns,
            file.read_bytes() if file.is_file() else b"",
        )
        for file in [folder, *folder.rglob("*")]
    }


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ('{"format": 999}', "format 999"),
        (None, f"a format before {FORMAT}"),
    ],
)
def test_another_format_is_refused_before_spark_starts_and_nothing_is_changed(
    tmp_path: Path, written: str | None, named: str
) -> None:
    place = tmp_path / "checkpoints" / "q"
    begun(place)
    if written is None:
        (place / "format.json").unlink()
    else:
        (place / "format.json").write_text(written)
    place.chmod(0o755)
    before = content(tmp_path)
    engine = Engine(checkpoint=tmp_path / "checkpoints")
    engine.sql(STREAM.format(tmp_path / "in") + f"CREATE QUERY q AS {SQL}")
    refused = []
    for asked in (
        engine.start,
        lambda: Checkpoint(place, program()),
        lambda: Continued.at(place),
        lambda: status(place),
    ):
        with pytest.raises(HostError) as caught:
            asked()
        refused.append(str(caught.value))
    assert engine._session is None, "no Spark was started"
    assert content(tmp_path) == before
    assert len(set(refused)) == 1, "all say the same"
    assert refused[0] == (
        f"the checkpoint `{place}` has {named}; this release reads and writes format {FORMAT}\n"
        "  continue with the release that wrote it, or start over with another checkpoint and "
        "another directory for the results"
    )


@pytest.mark.parametrize("damaged", ["", "7", "[7]", '{"formal": 7}', "\x00"])
def test_a_format_that_cannot_be_read_is_named(tmp_path: Path, damaged: str) -> None:
    begun(tmp_path)
    (tmp_path / "format.json").write_text(damaged)
    with pytest.raises(HostError, match=r"format\.json` cannot be read"):
        Continued.at(tmp_path)


def test_the_format_stands_there_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed at any step leaves what the next one can begin or continue."""

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(layout, "write_private", killed)
        with pytest.raises(Killed):
            begun(tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / ".format.json").write_text('{"for')  # it was being written
    begun(tmp_path)
    assert json.loads((tmp_path / "format.json").read_text()) == {"format": FORMAT}
    shutil.rmtree(tmp_path / "programs")
    (tmp_path / "groups.json").unlink()
    begun(tmp_path)  # killed behind the format
    begun(tmp_path)  # it is continued


def test_what_is_no_checkpoint_has_no_format(tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "notes.json").write_text("{}")
    Layout(tmp_path).check_format()
    assert Continued.at(tmp_path) is None
