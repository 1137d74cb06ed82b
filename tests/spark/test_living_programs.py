"""Queries come and go while a pipeline runs: each gives the answer over the rows of its life.

Micro-batches run through the exchange and the groups' processors without Spark; the program changes
between any two of them. A query lives from the batch that it comes with to the one before it goes.
In its life it sees these rows, or, FROM STATE, also those that operators which it shares have kept.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.model.timestamps import END
from penstock.optimizer.optimize import beside, optimize, since_in_state
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program, since_of, walk
from penstock.optimizer.specs import SourceSpec
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.plan.waiting import waits
from penstock.spark.coming import Kept, how_kept
from penstock.spark.exchange.messages import TaskProgress, message_of
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.next_program import Altered, Coming, next_program
from penstock.spark.placement.partitioning import partitioning, suits
from tests.engine.draw import seeds
from tests.runtime.restless import changing_all_the_time
from tests.spark.placement.plans import plan

Row = dict[str, Any]
SECOND = 1_000_000
#: Texts by how rows leave: windows close, pairs are found, rows are found to be without a partner.
WINDOWS = [
    "SELECT k, count(*) AS n FROM a [RANGE 6 SECONDS, SLIDE 2 SECONDS] GROUP BY k",
    "SELECT k, sum(v) AS s FROM a [RANGE 4 SECONDS, SLIDE 2 SECONDS] GROUP BY k",
    "SELECT k, max(v) AS m FROM a [RANGE 9 SECONDS, SLIDE 3 SECONDS] WHERE v > 1 GROUP BY k",
    "SELECT k, count(*) AS n FROM a UNION b [RANGE 3 SECONDS] GROUP BY k",
]
PAIRS = ["SELECT l.k, l.v AS v, r.v AS w FROM a l JOIN b r ON l.k = r.k WITHIN 3 SECONDS"]
LEFT = ["SELECT l.k, l.v AS v, r.v AS w FROM a l LEFT JOIN b r ON l.k = r.k WITHIN 2 SECONDS"]
#: The same with the time of the left row.
TIMED = LEFT[0].replace("SELECT ", "SELECT l.ts AS t, ")
ROWS = ["SELECT k, v FROM a WHERE v > 2"]
TEXTS = WINDOWS + PAIRS + LEFT + ROWS
#: Always there, so that rows are spread by `k`, and nothing that comes or goes may change it.
STAYS = "SELECT k, min(v) AS least FROM a UNION b [RANGE 5 SECONDS] GROUP BY k"


#: What a query may be altered to while it runs; none of it delays results.
OPTIONS = [
    *(Options(aggregation=name) for name in ("auto", "wid", "paned", "adapt")),
    Options(join="mjoin"),
    Options(union="merge"),
]


@dataclass
class Life:
    """A query, the first batch that it sees and the one after its last.

    Windows are judged that begin from `since` on.
    """

    text: str
    plan: Node
    first: int
    last: int = 1 << 60
    results: list[Row] = field(default_factory=list)
    since: int = 0


class Living:
    """A pipeline whose program changes between batches."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.lives: dict[str, list[Life]] = {"stays": [Life(STAYS, plan(STAYS), 0)]}
        self.program: Program = optimize({"stays": plan(STAYS)})
        self.keys = partitioning(plan(STAYS))
        self.batches: list[MicroBatch] = []
        self._worker = Worker(None)
        self._pipeline: FakePipeline | None = None
        self._changes = 0
        self.kept: Counter[Kept] = Counter()  # how often what was kept was kept in which way
        self._time = 0

    def change(self) -> None:
        """Some queries go, some come, some become others."""
        here = [name for name in self.program.queries if name != "stays"]
        dropped = [name for name in here if self.chance.random() < 0.2]
        replaced = [name for name in here if name not in dropped and self.chance.random() < 0.2]
        new = [f"q{len(self.lives) + n}" for n in range(self.chance.randrange(3))]
        self._changes += 1
        plans = {name: plan(self.chance.choice(TEXTS)) for name in (*replaced, *new)}
        self._swap(dropped, replaced, plans, dict.fromkeys(plans, self._changes))

    def alter(self) -> None:
        """One of the queries runs by other options."""
        name = self.chance.choice([*self.program.queries])
        self._changes += 1
        before, now = self.program, self.lives[name][-1]
        altered = Altered(now.plan, self.chance.choice(OPTIONS))
        self.program = next_program(before, self._changes, (), {name: altered})
        kept = how_kept(name, self.program, before)
        self.kept[kept] += 1
        if kept in (Kept.ALL, Kept.HANDED) or not waits(now.plan):
            return
        now.last = len(self.batches)
        later = Life("", now.plan, len(self.batches))
        if kept is Kept.SOME:
            later.since = self._time + 1
        self.lives[name].append(later)

    def _swap(
        self,
        dropped: list[str],
        replaced: list[str],
        plans: dict[str, Node],
        since: dict[str, int],
    ) -> None:
        assert all(suits(self.keys, each) for each in plans.values())
        for name in (*dropped, *replaced):
            self.lives[name][-1].last = len(self.batches)
        come = {name: Coming(each, since[name], Options()) for name, each in plans.items()}
        self.program = next_program(self.program, self._changes, [*dropped, *replaced], come)
        for name, each in plans.items():
            self.lives.setdefault(name, []).append(Life("", each, len(self.batches)))

    def batch(self) -> None:
        """One more micro-batch, in order of time, by whatever program is there now."""
        rows: dict[str, list[list[list[Row]]]] = {"a": [[]], "b": [[]]}
        for _ in range(self.chance.randrange(1, 8)):
            self._time += self.chance.randrange(SECOND)
            row = {
                "k": self.chance.choice("xyz"),
                "j": "j",
                "v": self.chance.randrange(7),
                "d": 0.5,
            }
            rows[self.chance.choice("ab")][0].append([{**row, "ts": self._time}])
        self.run(MicroBatch(rows))

    def run(self, batch: MicroBatch) -> None:
        pipeline = FakePipeline(Exchange(self.program, self.keys, (2, 0, 14)))
        if self._pipeline is not None:
            pipeline.stores, pipeline.outputs = self._pipeline.stores, self._pipeline.outputs
        if self.chance.random() < 0.2:
            self._worker = Worker(None)  # one that remembers nothing
        pipeline.process(batch, lambda group: self._worker)
        for name in self.program.queries:
            self.lives[name][-1].results += pipeline.rows("result", name, slice(-1, None))
        self._pipeline = pipeline
        self.batches.append(batch)

    def rows(self, first: int, last: int) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {"a": [], "b": []}
        for batch in self.batches[first:last]:
            for stream, rows in found.items():
                rows += [{**row, "row_num": 1} for row in batch.arrived(stream)]
        return found

    def bound(self, streams: Iterable[str], last: int) -> int:
        """The bound of streams behind a batch; they come in order."""
        if last >= len(self.batches):
            return END
        rows = self.rows(0, last)
        return min(max((row["ts"] for row in rows[name]), default=0) for name in streams)


def batch_of(**seconds: list[int]) -> MicroBatch:
    """A batch of rows of these times, by stream."""
    return MicroBatch(
        {
            name: [[[{"k": "x", "j": "j", "v": 1, "d": 0.5, "ts": s * SECOND} for s in times]]]
            for name, times in seconds.items()
        }
    )


def expected(living: Living, life: Life) -> list[Row]:
    """The oracle's answer over a life, as far as it had come when the life was over."""
    rows = living.rows(life.first, life.last)
    if any(life.plan == plan(text) for text in LEFT):
        # Rows wait until no partner can come to the other stream any more.
        bound = living.bound(["b"], life.last)
        answer = evaluate(plan(TIMED), rows)
        out = [row for row in answer if row["w"] is not None or row["t"] + 2 * SECOND < bound]
        return [{name: row[name] for name in ("k", "v", "w")} for row in out]
    answer = evaluate(life.plan, rows)
    bound = living.bound(streams_of(life.plan), life.last)
    return [row for row in answer if row.get("window_end", 0) <= bound]


def judged(life: Life, rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.get("window_start", life.since) >= life.since]


@pytest.fixture(params=["steady", "restless"])
def choosing(request: pytest.FixtureRequest) -> Iterator[None]:
    """Groups keep the aggregates of the program, or choose others all the time."""
    with changing_all_the_time() if request.param == "restless" else nullcontext():
        yield


@pytest.mark.usefixtures("choosing")
@pytest.mark.parametrize("seed", seeds(2, slow=5))
def test_every_query_gives_the_answer_over_its_life(seed: int) -> None:
    living = Living(seed)
    for _ in range(14):
        if living.chance.random() < 0.6:
            living.change()
        if living.chance.random() < 0.4:
            living.alter()
        living.batch()
    living.run(MicroBatch(bounds={"a": END, "b": END}))
    lives = [(name, life) for name, found in living.lives.items() for life in found]
    assert len(lives) > 3
    for name, life in lives:
        answers = judged(life, life.results), judged(life, expected(living, life))
        assert same_rows(*answers), (seed, name, life.first, life.last)


def test_what_comes_from_now_on_shares_nothing_that_was_there() -> None:
    program = optimize({"q": plan(WINDOWS[0])})
    both = beside(program, {"p": plan(WINDOWS[0])}, {"p": 1})
    shared = set(walk([both.plans["p"]])) & set(walk([both.plans["q"]]))
    assert not shared
    assert since_of(both.plans["p"]) == 1


@pytest.mark.usefixtures("choosing")
def test_what_begins_from_state_is_whole_from_the_first_window_that_ends_later() -> None:
    living = Living(3)
    living._swap([], [], {"q": plan(WINDOWS[0])}, {"q": 1})
    for _ in range(6):
        living.batch()
    since = since_in_state(plan(WINDOWS[0]), living.program.options, living.program.plans)
    assert since == 1
    came = len(living.batches)
    bound = max(row["ts"] for row in living.rows(0, came)["a"])
    living._swap([], [], {"again": plan(WINDOWS[0])}, {"again": since})
    assert living.program.plans["again"] == living.program.plans["q"]
    for _ in range(6):
        living.batch()
    living.run(MicroBatch(bounds={"a": END, "b": END}))
    [life] = living.lives["again"]
    whole = evaluate(life.plan, living.rows(0, len(living.batches)))
    assert life.first == came
    assert same_rows(life.results, [row for row in whole if row["window_end"] > bound])


@pytest.mark.usefixtures("choosing")
def test_what_replaces_a_query_keeps_the_state_of_what_both_compute() -> None:
    """A condition on results is changed; the windows below it go on."""
    text = f"SELECT k, n FROM ({WINDOWS[0]}) WHERE n > {{}}"
    living = Living(4)
    living._swap([], [], {"q": plan(text.format(1))}, {"q": 1})
    for _ in range(6):
        living.batch()
    since = since_of(living.program.plans["q"])
    living._swap([], ["q"], {"q": plan(text.format(0))}, {"q": since})
    kept = {p for p in walk(living.program.plans.values()) if not isinstance(p.spec, SourceSpec)}
    assert any("Wid" in p.spec.name or "Aggregate" in p.spec.name for p in kept)
    bound = max(row["ts"] for row in living.rows(0, len(living.batches))["a"])
    for _ in range(6):
        living.batch()
    living.run(MicroBatch(bounds={"a": END, "b": END}))
    before, after = living.lives["q"]
    rows = living.rows(0, len(living.batches))
    whole = evaluate(plan(WINDOWS[0]), rows)
    later = [row for row in whole if row["window_end"] > bound and row["n"] > 0]
    assert same_rows(after.results, [{"k": row["k"], "n": row["n"]} for row in later])
    assert before.results


def test_rows_of_a_stream_that_nobody_reads_any_more_are_not_sent() -> None:
    """But how far it has come is: whoever reads it later judges by that what is late."""
    living = Living(5)
    living._swap([], [], {"q": plan(WINDOWS[0])}, {"q": 1})
    living.run(batch_of(b=[1, 2], a=[2]))
    living._swap(["stays"], [], {}, {})
    living._changes = 2
    told = FakePipeline(Exchange(living.program, living.keys, (2, 0))).told()
    batch = batch_of(b=[3, 9], a=[4])
    sent = Exchange(living.program, living.keys, (2, 0)).messages(batch, told)
    numbers = {stream.name: number for number, stream in enumerate(living.program.streams)}
    of_b = [message_of(each) for each in sent if each.stream == numbers["b"]]
    assert {type(message) for message in of_b} == {TaskProgress}
    assert {message.newest for message in of_b if isinstance(message, TaskProgress)} == {9 * SECOND}
    living.run(batch)
    text = "SELECT k, count(*) AS n FROM b [RANGE 3 SECONDS] GROUP BY k"
    living._swap([], [], {"later": plan(text)}, {"later": 2})
    living.run(batch_of(b=[8, 10, 12]))
    living.run(MicroBatch(bounds={"a": END, "b": END}))
    [life] = living.lives["later"]
    # 8 s is late: the stream has come to 9 s.
    assert [row["n"] for row in life.results] == [1, 1]
