"""What `bench soak` judges: every row once, and figures of both thirds."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import _soak_run

    yield _soak_run
    for name in ("_soak_run", "_processes"):
        sys.modules.pop(name, None)


def test_every_row_is_counted_once_or_late(soak) -> None:
    run = soak.Soak(fed=1000, counted=998, late=2)
    assert run.wrong is None
    run.counted = 997
    assert run.wrong == "999 rows counted or late of 1,000"


def test_rows_of_a_file_are_of_the_last_second_but_for_a_late_one(soak) -> None:
    rows = soak.tickets(7, 100, is_late=True)
    assert rows["v"].to_list() == list(range(700, 800))
    times = rows["ts"].dt.epoch("us")
    assert 60_000_000 < times.max() - times.min() < 62_000_000
    assert times[1:].max() - times[1:].min() < 1_000_000
    assert rows["k"].is_between(0, soak.KEYS - 1).all()


def test_files_are_counted_with_those_below(soak, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"12345")
    (tmp_path / "a" / "b" / "two").write_bytes(b"67")
    assert soak.files_in(tmp_path) == (2, 7)
    assert soak.files_in(tmp_path / "gone") == (0, 0)


def test_files_that_other_programs_share_do_not_count_and_those_of_ended_queries_do(
    soak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "MEMORY", tmp_path)
    ours = tmp_path / f"penstock-{os.getuid()}"
    for query in ("first", "second", "another-program"):
        (ours / query / "exchange").mkdir(parents=True)
        (ours / query / "exchange" / "rows").touch()
    ids = {"counted": "first", "large": "second", "not-started": None}
    engine = SimpleNamespace(
        queries=[SimpleNamespace(name=name) for name in ids],
        spark_query=lambda name: ids[name] and SimpleNamespace(id=ids[name]),
    )
    run = soak.Soak()
    assert soak._shared_files(engine, run) == 2
    del engine.queries[1]
    assert soak._shared_files(engine, run) == 2
