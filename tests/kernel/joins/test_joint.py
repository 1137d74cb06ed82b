"""Bounds on the pair of timestamps: true whatever comes, and earlier than those on one.

Two inputs in disorder, with bounds in between. After each bound on a box, no result may come
that lies in it; and a group of both timestamps closes when the box passes it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import polars as pl
import pytest

from penstock.kernel.block import Block
from penstock.kernel.joins.joint import is_box, joint
from penstock.kernel.joins.window_join import WindowJoin
from penstock.local.engine import LocalEngine
from penstock.model.joins import JoinKind
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END, SECOND
from penstock.windows import Band, JoinBand, TumblingBand
from tests.kernel.joins.feeding import punctuate, push, rows, spec
from tests.ticks import push_ticks

BANDS = (Band(-2, 3), Band(0, 0), Band(4, 9), Band(-20, 20), TumblingBand(5), TumblingBand(7, 3))


class Judge:
    """An output that keeps boxes and refuses results in them."""

    def __init__(self) -> None:
        self.boxes: list[tuple[int, int]] = []
        self.sent = {"l.ts": BEGINNING, "r.ts": BEGINNING}

    def batch(self, block: Block) -> None:
        for left, right in block.rows.select("l.ts", "r.ts").rows():
            if left is not None and right is not None:
                assert not any(left < b0 and right < b1 for b0, b1 in self.boxes)

    def punctuation(self, punctuation: Punctuation) -> None:
        if not punctuation.where:
            self.sent[punctuation.on] = punctuation.bound
        elif punctuation.on == "l.ts":
            self.boxes.append((punctuation.bound, punctuation.where[0][1][1]))


def events(chance: random.Random) -> Iterator[tuple[int, pl.DataFrame | int]]:
    """(port, rows or a bound); one side may be far ahead, or fall silent."""
    bounds, lead = [0, 0], chance.choice([0, 0, 8, 40])
    for _ in range(30):
        port = chance.choice([0, 0, 1, 1, chance.randrange(2)])
        if chance.random() < 0.5:
            bounds[port] += chance.choice([0, 1, 3, 8])
            yield port, bounds[port]
        else:
            first = bounds[port] + (lead if port else 0)
            times = [first + chance.randrange(12) for _ in range(chance.randrange(1, 4))]
            yield port, rows(*((chance.choice("xy"), n, ts) for n, ts in enumerate(times)))


@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL])
@pytest.mark.parametrize("band", BANDS, ids=str)
def test_no_result_comes_in_a_box_that_is_complete(band: JoinBand, kind: JoinKind) -> None:
    boxes = 0
    for seed in range(12):
        join, judge = WindowJoin(spec(band, "k", kind=kind), punctuates_pairs=True), Judge()
        for port, event in events(random.Random(seed)):
            if isinstance(event, int):
                punctuate(join, port, event, judge)  # type: ignore[arg-type]
            else:
                push(join, port, event, judge)  # type: ignore[arg-type]
        boxes += len(judge.boxes)
    assert boxes > 0 or band in (Band(0, 0), Band(4, 9))


def test_a_box_is_punctuation_where_its_corners_could_join() -> None:
    for band in BANDS:
        for left in range(0, 30, 3):
            for right in range(0, 30, 2):
                assert is_box(band, left, right) == band.joins(left, right)
    assert not is_box(Band(-2, 2), BEGINNING, BEGINNING)
    assert not is_box(Band(-2, 2), END, END)


def test_what_one_timestamp_says_alone_is_not_said_again_of_both() -> None:
    assert list(joint(Band(-2, 3), ("l", "r"), [10, 11], [8, 8]))
    assert not list(joint(Band(-2, 3), ("l", "r"), [10, 11], [10, 8]))
    assert not list(joint(Band(-2, 3), ("l", "r"), [10, 30], [8, 8]))


# --- Q7-1: pairs counted per pair of timestamps ------------------------------------------------

Q7_1 = (
    "SELECT a.ts AS l, b.ts AS r, count(*) AS n FROM a [RANGE 2 SECONDS], b [RANGE 2 SECONDS] "
    "WHERE a.k = b.k GROUP BY a.ts, b.ts"
)


def closing_times(width: int, pairs: bool) -> list[int]:
    """For each group, how many seconds of the streams go by until it is out."""
    engine = LocalEngine()
    for name in "ab":
        engine.sql(f"CREATE STREAM {name} (k INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED")
    query = engine.sql(Q7_1.replace("2 SECONDS", f"{width} SECONDS"))
    if not pairs:
        for node in engine._host.graph.nodes.values():
            if isinstance(node.operator, WindowJoin):
                node.operator.punctuates_pairs = False
    waited = []
    for second in range(25):
        for name in "ab":
            push_ticks(engine, name, [{"k": 1, "ts": second * SECOND}])
            engine.punctuate(name, (second + 1) * SECOND)
        for row in query.fetch().to_dicts():
            newest = max(row["l"], row["r"])
            waited.append(second - newest.hour * 3600 - newest.minute * 60 - newest.second)
    return waited


@pytest.mark.parametrize("width", [2, 10])
def test_a_group_of_both_timestamps_closes_when_both_have_passed_it(width: int) -> None:
    by_pairs, by_one = closing_times(width, True), closing_times(width, False)
    assert set(by_pairs) == {0}, "as soon as both inputs are beyond both timestamps"
    assert max(by_one) == width, "only when no partner in the window can come any more"
    assert len(by_pairs) > len(by_one)


def test_only_aggregates_over_both_timestamps_ask_for_pairs() -> None:
    engine = LocalEngine()
    for name in "ab":
        engine.sql(f"CREATE STREAM {name} (k INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED")
    engine.sql("SELECT a.k FROM a JOIN b ON a.k = b.k WITHIN 2 SECONDS")
    engine.sql(
        "SELECT count(*) [RANGE 5 SECONDS, WA a.ts] FROM a JOIN b ON a.k = b.k WITHIN 3 SECONDS"
    )
    joins = [
        n.operator for n in engine._host.graph.nodes.values() if isinstance(n.operator, WindowJoin)
    ]
    assert [join.punctuates_pairs for join in joins] == [False, False]
    engine.sql(
        "SELECT l, r, count(*) AS n FROM (SELECT a.ts AS l, b.ts AS r FROM a JOIN b "
        "ON a.k = b.k WITHIN 3 SECONDS WHERE a.k > 0) GROUP BY l, r"
    )
    joins = [
        n.operator for n in engine._host.graph.nodes.values() if isinstance(n.operator, WindowJoin)
    ]
    assert [join.punctuates_pairs for join in joins] == [False, False, True]
