"""Figures of joins: which of them are kept where there are too many."""

from __future__ import annotations

import json

import numpy as np

from penstock.kernel.statistics.cell import Cell
from penstock.kernel.statistics.join_meter import key_of
from penstock.kernel.statistics.key_sketch import KeySketch, mixed
from penstock.kernel.statistics.measured_join import MeasuredInput, MeasuredJoin, MeasuredPair
from penstock.model.expressions import Ref
from penstock.model.types import Type
from penstock.optimizer.join_statistics import JoinStatistics


def join(name: str) -> MeasuredJoin:
    """A join of two inputs that no other has."""
    inputs = tuple(MeasuredInput(f"{name}.{end}", "", end, (), "ts") for end in "ab")
    key = (Ref("k", Type.BIGINT),)
    return MeasuredJoin(inputs, (MeasuredPair(name, "", (0, 1), key, key),), (), 10, is_time=True)


def seen(known: JoinStatistics, *names: str) -> JoinStatistics:
    """What is known after a cell of each of these joins."""
    for name in names:
        of = join(name)
        sketch = KeySketch()
        sketch.add(mixed(np.arange(3)))
        sketches = {key_of(of.pairs[0], side): sketch for side in (0, 1)}
        known = known.plus(of, [Cell(0, 10, [3, 3], [24, 24], [3, 3], [1.0, 1.0], sketches)])
    return known


def test_what_was_not_seen_for_longest_is_forgotten_first() -> None:
    known = seen(JoinStatistics(), "old", "long", "new", "old")
    assert list(known.latest(2).pairs) == ["new", "old"]
    assert list(known.latest(4).inputs) == ["new.a", "new.b", "old.a", "old.b"]
    assert known.pairs["old"][4].seen == 12  # it is known from both times


def test_what_is_seen_now_was_seen_after_all_that_is_remembered() -> None:
    before = JoinStatistics.from_json(
        json.loads(json.dumps(seen(JoinStatistics(), "old", "gone").as_json()))
    )
    known = before | seen(JoinStatistics(), "new", "old")
    assert list(known.pairs) == ["gone", "new", "old"]
    assert list(known.latest(4).inputs) == ["new.a", "new.b", "old.a", "old.b"]
    assert known.pairs["old"][4].seen == 6
