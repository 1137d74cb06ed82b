"""How tests are shared out: nobody is idle, and few Spark sessions are started."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import spark_first
from tests.spark_first import WORTH_A_SESSION, SparkFirst


class Process:
    """A process that runs nothing: it is told what to run."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.told: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.told += indices

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture(autouse=True)
def files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_first, "has_session", lambda file: file.startswith("spark"))


def run(names: list[str], seconds: dict[Process, int]) -> dict[str, list[str]]:
    """The tests that each process has run if each of them takes it so many seconds."""
    config: Any = SimpleNamespace(
        option=SimpleNamespace(loadscopereorder=True),
        getvalue=lambda option: ["popen"] * len(seconds),
    )
    scheduler = SparkFirst(config, None)
    for process in seconds:
        scheduler.add_node(process)
        scheduler.add_node_collection(process, names)
    scheduler.schedule()
    done: dict[Process, list[str]] = {process: [] for process in seconds}
    for second in range(1, 10_000):
        for process, each in seconds.items():
            if second % each == 0 and len(done[process]) < len(process.told):
                test = process.told[len(done[process])]
                done[process].append(names[test])
                scheduler.mark_test_complete(process, test)
    assert scheduler.tests_finished and all(process.shutting_down for process in seconds)
    assert sorted(test for tests in done.values() for test in tests) == sorted(names)
    assert not any(scheduler.assigned_work.values())
    return {process.gateway.id: tests for process, tests in done.items()}


def suite(sessions: int, others: int) -> list[str]:
    on_spark = [f"spark{file}.py::test_{n}" for file in range(sessions) for n in range(3)]
    return on_spark + [f"other.py::test_{n}" for n in range(others)]


def test_one_process_has_the_session_and_helps_the_others_then() -> None:
    names = suite(sessions=5, others=100)
    done = run(names, {Process("one"): 3, Process("two"): 1})
    assert done["one"][:15] == names[:15]
    assert len(done["two"]) > 60 and not any(test.startswith("spark") for test in done["two"])


def test_few_files_with_a_session_are_left_to_the_process_that_has_one() -> None:
    done = run(suite(WORTH_A_SESSION, others=5), {Process("one"): 10, Process("two"): 1})
    assert not any(test.startswith("spark") for test in done["two"])


def test_many_are_shared_and_no_file_is_torn() -> None:
    done = run(suite(4 * WORTH_A_SESSION, others=5), {Process("one"): 2, Process("two"): 1})
    one, two = ({test.partition("::")[0] for test in tests} for tests in done.values())
    assert one & two <= {"other.py"} and len(two) > WORTH_A_SESSION
