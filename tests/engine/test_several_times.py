"""Streams with several columns that progress, each with a slack of its own, against the oracle."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.errors import CannotWindow, SyntaxFault, UnknownName
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.oracle.lateness import StreamStep, Verdict, judge, taken_in
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import seeds

Row = dict[str, Any]

FLOWS = "CREATE STREAM f (k STRING, v INT, s BIGINT, e BIGINT) TIMESTAMP BY e {} , s SLACK {}"
OWN = ("ORDERED", "SLACK 2", "SLACK 3 ROWS", "PUNCTUATED")
QUERIES = (
    "SELECT k, count(*) [RANGE {0}, SLIDE {1}, WA s] AS n FROM f GROUP BY k",
    "SELECT sum(v) [RANGE {0}, SLIDE {1}, WA e] AS n FROM f",
    "SELECT count(*) [RANGE {0}, WA g] AS n FROM (SELECT greatest(s, e - 3) AS g FROM f)",
    "SELECT s, e, k FROM f ORDER BY s",
    "SELECT s, count(*) AS n, max(e) AS m FROM f GROUP BY s",
    "SELECT greatest(s, e) AS t, count(*) AS n FROM f GROUP BY t",
    "SELECT k, least(s, e) AS t FROM f ORDER BY t",
    "SELECT sum(v) AS n FROM (SELECT v, s FROM f WHERE v > 0) [RANGE {0} ROWS, SLIDE {1} ROWS]",
    "SELECT sum(v) AS n FROM (SELECT v, k, s FROM f) [RANGE {0} ROWS, SLIDE {1} ROWS, PA k]",
    "SELECT sum(v) AS n FROM f [RANGE {0}, RATTR s, SLIDE {1} ROWS, SATTR row-num]",
)
#: They must not matter.
MODES = ("oop", "oop", "iop")


def flows(rng: random.Random, count: int) -> list[Row]:
    """Flows in the order of their ends, more or less; now and then without a beginning."""
    rows = []
    for n in range(count):
        end = 2 * n - rng.choice((0, 0, 0, 1, 2, 5))
        begin = end - rng.randint(0, 9)
        rows.append(
            {
                "k": rng.choice("xyz"),
                "v": rng.randint(-9, 9),
                "s": None if rng.random() < 0.03 else begin,
                "e": None if rng.random() < 0.03 else end,
            }
        )
    return rows


def drawn(seed: int) -> tuple[LocalEngine, Any, list[list[Row]], str]:
    rng = random.Random(seed)
    engine = LocalEngine()
    engine.sql(FLOWS.format(rng.choice(OWN), rng.choice((0, 4, 9, 12))))
    engine.sql(f"SET mode = {rng.choice(MODES)}")
    text = rng.choice(QUERIES).format(rng.randint(1, 9), rng.randint(1, 9))
    rows = flows(rng, rng.randint(1, 40))
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(3))
    blocks = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return engine, engine.sql(text), blocks, text


@pytest.mark.parametrize("seed", seeds(24, slow=120))
def test_this_process_takes_in_what_keeps_above_all_bounds_and_answers_it(seed: int) -> None:
    engine, query, blocks, text = drawn(seed)
    for block in blocks:
        engine.push("f", block)
        assert str(query.why())
    engine.finish()
    stream = engine.declared_stream("f").stream
    judged = judge(stream, [StreamStep(block) for block in blocks], by_batch=False)
    expected = evaluate(query.plan, {"f": taken_in(judged)})
    assert same_rows(query.results().to_dicts(), expected), text
    assert [rows for *_, rows, _ in engine.state() if rows] == []
    verdicts = [verdict for batch in judged for verdict, _ in batch]
    counts = engine.counts("f")
    assert counts.late == verdicts.count(Verdict.LATE)
    assert counts.malformed == verdicts.count(Verdict.TIMELESS)


@pytest.mark.parametrize("seed", seeds(12, slow=60))
def test_groups_take_in_what_keeps_above_all_bounds_and_answer_it(seed: int) -> None:
    engine, query, blocks, text = drawn(seed)
    [share] = assign_pipelines({"q": query.plan})
    pipeline = FakePipeline(Exchange(optimize(share.queries), share.keys, (0, 1, 2)))
    worker = Worker(None)
    end = MicroBatch(bounds={"f": END})
    for batch in [*(MicroBatch({"f": [[block]]}) for block in blocks), end]:
        pipeline.process(batch, lambda group: worker)
    stream = engine.declared_stream("f").stream
    judged = judge(stream, [StreamStep(block) for block in blocks], by_batch=True)
    expected = evaluate(query.plan, {"f": taken_in(judged)})
    assert same_rows(pipeline.rows("result", "q"), expected), text
    late = [row for batch in judged for verdict, row in batch if verdict is Verdict.LATE]
    assert same_rows(pipeline.rows("late", "f"), late)


def test_the_bound_of_a_further_time_follows_from_its_own_slack() -> None:
    engine = LocalEngine()
    engine.sql(FLOWS.format("SLACK 1", 10))
    by_begin = engine.sql("SELECT count(*) [RANGE 10, WA s] AS n FROM f")
    by_end = engine.sql("SELECT count(*) [RANGE 10] AS n FROM f")
    engine.push("f", [{"k": "a", "v": 1, "s": 5, "e": 8}, {"k": "a", "v": 1, "s": 14, "e": 19}])
    assert (by_begin.results().height, by_end.results().height) == (0, 1)
    assert "s 10" in str(by_begin.why()) and "s of 20" in str(by_begin.why())
    engine.push("f", [{"k": "a", "v": 1, "s": 20, "e": 21}])
    assert (by_begin.results().height, by_end.results().height) == (1, 2)
    engine.push("f", [{"k": "a", "v": 1, "s": 9, "e": 22}])
    assert engine.counts("f").late == 1  # by its beginning


def test_a_stream_says_the_slack_of_all_its_times() -> None:
    engine = LocalEngine()
    engine.sql(FLOWS.format("SLACK 1", 10))
    assert engine.declared_stream("f").stream.disorder() == "by e, slack 1, s slack 10"


@pytest.mark.parametrize(
    ("clause", "error", "text"),
    [
        ("BY e, e", CannotWindow, "twice"),
        ("BY e, x SLACK 1", UnknownName, "no column `x`"),
        ("BY e, k SLACK 1", CannotWindow, "it is STRING"),
        ("BY e, s SLACK 1 SECOND", CannotWindow, "cannot measure `s`"),
        ("BY e, s SLACK 1 ROW", CannotWindow, "cannot measure `s`"),
        ("BY e, s PUNCTUATED", SyntaxFault, "only the first time"),
        ("BY e,", SyntaxFault, "a column"),
    ],
)
def test_what_cannot_be_a_further_time_is_refused(clause: str, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        LocalEngine().sql(f"CREATE STREAM f (k STRING, s BIGINT, e BIGINT) TIMESTAMP {clause}")
