"""A limit of open files that is too low for Spark is raised, or named."""

from __future__ import annotations

import resource

import pytest

from penstock.errors import HostError
from penstock.spark.engine import Engine
from penstock.spark.open_files import NEEDED, allow_open_files


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The limit that the process has, and those that it is given."""
    known = [(NEEDED, NEEDED)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: known[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: known.append(pair))
    return known


@pytest.mark.parametrize("soft", [NEEDED, 1 << 20, resource.RLIM_INFINITY])
def test_a_limit_that_is_high_enough_stays(limits: list[tuple[int, int]], soft: int) -> None:
    limits[:] = [(soft, resource.RLIM_INFINITY)]
    allow_open_files()
    assert len(limits) == 1


@pytest.mark.parametrize("hard", [1 << 20, resource.RLIM_INFINITY])
def test_a_low_limit_is_raised_as_far_as_needed(limits: list[tuple[int, int]], hard: int) -> None:
    limits[:] = [(256, hard)]
    allow_open_files()
    assert limits[-1] == (NEEDED, hard)


def test_a_limit_that_may_not_be_raised_is_named_before_spark_starts(
    limits: list[tuple[int, int]],
) -> None:
    limits[:] = [(256, 256)]
    engine = Engine(master="local[3]")
    with pytest.raises(HostError, match="ulimit -n 256") as caught:
        _ = engine.spark
    assert "ulimit -n 4096" in str(caught.value.hint)
