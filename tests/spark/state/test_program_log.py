"""Which program a batch runs is in the checkpoint before the batch begins, and never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.spark.state.program_log import ProgramLog


@pytest.fixture
def log(tmp_path: Path) -> ProgramLog:
    found = ProgramLog(tmp_path)
    for batch in (0, 3, 3, 7):
        found.append(batch, "id", {"query": {f"q{found.next}": "digest"}}, {})
    return found


def test_a_batch_runs_the_last_program_from_before_it(log: ProgramLog) -> None:
    assert [log.of(batch).number for batch in (0, 2, 3, 6, 7, 100)] == [0, 0, 2, 2, 3, 3]
    last = log.last()
    assert last is not None
    assert (last.number, last.batch, last.program) == (3, 7, {"query": {"q3": "digest"}})


def test_a_new_log_has_nothing(tmp_path: Path) -> None:
    log = ProgramLog(tmp_path)
    assert (log.last(), log.entries(), log.next) == (None, [], 0)


def test_what_no_batch_can_ask_for_is_forgotten_and_numbers_go_on(log: ProgramLog) -> None:
    log.forget(finished=2)
    assert [entry.number for entry in log.entries()] == [0, 1, 2, 3]
    log.forget(finished=3)
    assert [entry.number for entry in log.entries()] == [2, 3]
    log.forget(finished=50)
    assert [entry.number for entry in log.entries()] == [3]
    assert log.append(51, "id", {}, {}).number == 4


def test_an_entry_that_was_edited_is_refused(log: ProgramLog, tmp_path: Path) -> None:
    file = tmp_path / "programs" / "3.json"
    file.write_text(file.read_text().replace("q3", "q4"))
    with pytest.raises(HostError, match=r"3\.json` was changed since it was written"):
        log.last()
