"""Graphs stay alive in a worker for as long as somebody asks for them."""

from __future__ import annotations

import pytest

from penstock.spark.alive_graphs import IDLE, AliveGraphs
from penstock.spark.catching_up.group_hosts import GroupHosts


def graph() -> GroupHosts:
    """One that nobody looks into."""
    return object.__new__(GroupHosts)


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def alive(clock: list[float]) -> AliveGraphs:
    return AliveGraphs(lambda: clock[0])


def test_a_graph_is_taken_with_the_token_it_was_left_with(alive: AliveGraphs) -> None:
    host = graph()
    alive.leave("q", 1, "token", host)
    assert alive.take("q", 1, "token") is host
    assert alive.take("q", 1, "token") is None  # another attempt must not find it half way


def test_a_graph_that_another_attempt_has_left_is_thrown_away(alive: AliveGraphs) -> None:
    alive.leave("q", 1, "theirs", graph())
    assert alive.take("q", 1, "ours") is None
    assert len(alive) == 0
    alive.leave("q", 1, "theirs", graph())
    assert alive.take("q", 1, None) is None  # nothing is committed


def test_graphs_of_queries_that_ended_or_moved_are_let_go(
    alive: AliveGraphs, clock: list[float]
) -> None:
    for group in range(4):
        alive.leave("ended", group, "token", graph())
    clock[0] = IDLE / 2
    alive.leave("goes on", 0, "token", graph())
    clock[0] = IDLE + 1
    assert alive.take("goes on", 0, "token") is not None
    assert len(alive) == 0
    assert alive.take("ended", 0, "token") is None  # and is restored from the state
