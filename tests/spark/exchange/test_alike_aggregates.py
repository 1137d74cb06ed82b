"""Aggregates folded together, and beside readers that need rows, against the slow evaluator.

What each test can catch: rows of one aggregate among those of another, keys and windows that are
mixed up, rows condensed that pass different filters (`…oracles_answer`); rows that reach an
aggregate twice, folded and as they are, or a join not at all (`…beside…`).
"""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.timestamps import BEGINNING
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.spark.control.told import Told
from penstock.spark.exchange import alike_aggregates as module
from penstock.spark.exchange.messages import (
    Message,
    PartialAggregates,
    RowBlock,
    SharedRows,
    message_of,
)
from penstock.spark.in_memory.micro_batches import Exchange, MicroBatch
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import Draw, Drawn, examples, several
from tests.engine.random_streams import SLACKS, Declared, careless_arrivals
from tests.spark.group_pipelines import (
    GROUPS,
    assert_answers,
    assert_kept_well,
    plans_of,
    run,
)
from tests.spark.random_batches import as_numbered, judged_by_batch, micro_batches

NAMES = ("a", "b", "c")
JOIN = (
    "SELECT x.k, x.v, y.v AS w FROM a x JOIN b y ON x.k = y.k "
    "AND x.ts BETWEEN y.ts AND y.ts + INTERVAL 5 MICROSECONDS"
)


def filtered(draw: Draw) -> str:
    """One of a few kinds of aggregates, with a filter of its own."""
    where = draw.choose(
        [
            f"v = {draw.between(-3, 9)}",
            f"v BETWEEN {draw.between(-3, 3)} AND {draw.between(3, 9)}",
            f"v IN ({draw.between(-3, 9)}, {draw.between(-3, 9)}) AND d > 0",
            f"v > {draw.between(-3, 9)} AND k IS NOT NULL",
            f"d < {draw.between(-3, 9)} OR v IS NULL",
        ]
    )
    calls = draw.choose(["count(*) AS n, sum(v) AS s", "max(v) AS m, count(DISTINCT v) AS c"])
    window = draw.choose(["RANGE 10 MICROSECONDS", "RANGE 12 MICROSECONDS SLIDE 4 MICROSECONDS"])
    return f"SELECT k, {calls} FROM a [{window}] WHERE {where} GROUP BY k"


@examples(15)
@given(st.data(), st.integers(1, 3), st.booleans())
def test_aggregates_together_and_beside_a_join_give_the_oracles_answer(data, groups, joins):
    draw = Drawn(data)
    declared = [Declared(name, draw.choose(SLACKS)) for name in NAMES]
    texts = several(draw, 2, 12, filtered)
    if joins:
        texts.append(f"{JOIN} AND x.v > {draw.between(-3, 9)}")
    batches = data.draw(micro_batches(careless_arrivals(draw, declared)))
    [share] = assign_pipelines(plans_of(declared, texts))
    kinds = [Options(aggregation=each) for each in ("wid", "paned")]
    filters, fewer = draw.choose([1, 2, 8]), draw.choose([0, 1, 4])
    with patch.object(module, "FILTERS", filters), patch.object(module, "FEWER", fewer):
        pipeline = run(data, share, groups, batches, "meld", aggregations=kinds)
    streams = pipeline.exchange.program.streams
    judged = judged_by_batch(declared, batches)
    on_time = {name: found.on_time for name, found in judged.items()}
    assert_answers(pipeline, share, as_numbered(streams, on_time))
    assert_kept_well(pipeline)


def messages(*texts: str, slack: int | None = 5) -> dict[type[Message], int]:
    """How many messages of each kind the exchange sends of some rows."""
    declared = [Declared("a", slack), Declared("b", slack)]
    [share] = assign_pipelines(plans_of(declared, list(texts)))
    exchange = Exchange(optimize(share.queries), share.keys, GROUPS[:1])
    rows = [{"k": "x", "v": n % 7, "d": 0.5, "ts": n} for n in range(40)]
    told = Told(dict.fromkeys(exchange.early, BEGINNING))
    sent = exchange.messages(MicroBatch({"a": [[rows]]}), told)
    return Counter(type(message_of(each)) for each in sent)


COUNT = "SELECT k, count(*) AS n FROM a [RANGE 10 MICROSECONDS] WHERE v {} GROUP BY k"


def test_aggregates_that_differ_in_their_filters_send_one_table() -> None:
    found = messages(*(COUNT.format(f"= {n}") for n in range(5)))
    assert found[PartialAggregates] == 1 and found[SharedRows] == 0
    longer = COUNT.replace("10", "20")
    both = messages(*(text.format(f"> {n}") for n in (1, 2) for text in (COUNT, longer)))
    assert both[PartialAggregates] == 2


def test_beside_a_join_only_rows_that_it_takes_are_sent() -> None:
    found = messages(COUNT.format("= 1"), f"{JOIN} AND x.v = 3")
    assert found[PartialAggregates] == found[SharedRows] == 1
    assert RowBlock not in found
    # What the join reads, too, needs rows.
    assert messages(COUNT.format("= 3"), f"{JOIN} AND x.v = 3")[PartialAggregates] == 0
    # Rows in order are put in order in the groups, all of a batch together.
    assert messages(COUNT.format("= 1"), f"{JOIN} AND x.v = 3", slack=0)[PartialAggregates] == 0
