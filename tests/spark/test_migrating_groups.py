"""Joins give way to others in the groups of a pipeline, behind micro-batches, and no result tells.

Micro-batches run through the exchange and the groups' processors without Spark; a query is altered
between any two of them, also while it still changes. Groups come to other workers, which remember
nothing and restore what was kept; attempts fail and are made again. What `tests/runtime` cannot
catch: groups that have changed at different batches, changes that a restart forgets or makes twice,
segments that are written again although they only moved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.spark.coming import Kept, how_kept
from penstock.spark.control.control_stream import END_OF_RUN
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.next_program import Altered, next_program
from penstock.spark.placement.partitioning import partitioning
from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_many_joins import (
    ManyJoins,
    any_streams,
    many_joins,
    other_queries,
    skewed_arrivals,
)
from tests.engine.random_streams import Event, Push, Row, pushed
from tests.engine.test_join_shapes import named
from tests.optimizer.joins.trees import any_tree
from tests.runtime.test_regrouping import tumbling_joins
from tests.spark.group_pipelines import plans_of

#: The last batch of a run, after which streams may go on.
RUN_ENDS = MicroBatch(bounds={END_OF_RUN: 1})
Shaped: TypeAlias = Callable[[Draw, ManyJoins, str], Options]


def migrating_in_groups_changes_no_result(draw: Draw) -> None:
    asked = many_joins(draw, (3, 3, 4, 4))
    check(draw, asked, [asked.text])


def moving_conditions_in_groups_changes_no_result(draw: Draw) -> None:
    """Another query reads the joins as well, and goes: then conditions are tested before them."""
    asked = many_joins(draw, (2, 3, 3, 4), plain=True)
    one, other = (f" WHERE {draw.choose(asked.names)}d > {draw.between(0, 12)}" for _ in range(2))
    texts = [f"SELECT * FROM ({asked.text}){where}" for where in (one, draw.choose(["", other]))]
    check(draw, asked, texts)


def changing_tactics_in_groups_changes_no_result(draw: Draw) -> None:
    """Joins that keep an order, and joins that do not, take over from each other."""
    asked = many_joins(draw, (3, 3, 4), ordered=True, plain=True)
    check(draw, asked, [asked.text], shaped_or_ordered)


def grouping_elsewhere_in_groups_changes_no_answer(draw: Draw) -> None:
    """Aggregates go below joins, and above them again."""
    text, count = tumbling_joins(draw)
    declared = any_streams(draw)[:count]
    asked = ManyJoins(declared, text, [each.name for each in declared], False, [])
    check(draw, asked, [text], any_grouping)


def queries_that_share_joins_change_one_after_the_other(draw: Draw) -> None:
    """They read other columns of the same joins, and come to share them again."""
    keep_order = draw.choose([False, False, True])
    asked = many_joins(draw, (3, 3, 4), ordered=keep_order, plain=True)
    texts = other_queries(draw, asked, draw.between(2, 3))
    check(draw, asked, texts, shaped_or_ordered if keep_order else any_shape, several=True)


def ending_a_run_lets_everything_out_while_joins_change(draw: Draw) -> None:
    """A run ends with the least bounds that do, of whatever shape the joins are that run."""
    asked = many_joins(draw, (3, 3, 4))
    while not re.search(r"WA \w+\]|ORDER BY", asked.text):
        asked = many_joins(draw, (3, 3, 4))
    check(draw, asked, [asked.text], end=RUN_ENDS)


def check(
    draw: Draw,
    asked: ManyJoins,
    texts: Sequence[str],
    shaped: Shaped | None = None,
    *,
    several: bool = False,
    end: MicroBatch | None = None,
) -> None:
    """The first query is altered again and again, or `several`; the others go when they like.

    `end` is the last batch.
    """
    shaped = shaped or any_shape
    events = skewed_arrivals(draw, asked.declared)
    plans = plans_of(asked.declared, list(texts))
    adapt = draw.choose(["advise", "advise", "off"])
    program = optimize(plans, shaped(draw, asked, adapt))
    groups = (2, 0, 14)[: draw.choose([1, 2, 3])]
    keys = partitioning(plans["q0"])
    workers = [Worker(None) for _ in range(2)]
    pipeline = FakePipeline(Exchange(program, keys, groups))
    over = MicroBatch(bounds={each.name: END for each in asked.declared})
    end = end or draw.choose([over, RUN_ENDS])
    for number, batch in enumerate([*batches_of(draw, events), end]):
        if draw.choose([True, False]):
            how = draw.choose(["auto", "ms", "pt", "pt", "pt_published"])
            options = replace(shaped(draw, asked, adapt), migration=how)
            going = draw.choose([[], [], [name for name in program.queries if name != "q0"]])
            names = ["q0"]
            if several:
                going = draw.choose([*[[]] * 9, going[:1]])
                left = [name for name in program.queries if name not in going]
                names = draw.choose([[draw.choose(left)], left])
            before, altered = program, {name: Altered(plans[name], options) for name in names}
            program = next_program(before, number + 1, going, altered)
            for name in names:
                assert how_kept(name, program, before) in (Kept.ALL, Kept.HANDED)
            later = FakePipeline(Exchange(program, keys, groups))
            later.stores, later.outputs = pipeline.stores, pipeline.outputs
            pipeline = later
        if draw.choose([*[False] * 3, True]):
            workers[draw.between(0, 1)] = Worker(None)  # one that remembers nothing
        pipeline.process(
            batch,
            lambda group: draw.choose(workers),
            failed=lambda group: draw.choose([[], [], [draw.choose(workers)]]),
        )
    rows = pushed(asked.declared, events)
    for name in program.queries:
        found = pipeline.rows("result", name)
        assert same_rows(found, evaluate(plans[name], rows)), (name, texts)
    for store in pipeline.stores.values():
        assert all(count == 1 for count in store.writes.values())
        assert end is not over or store.segments == {}  # the next run may ask for the newest rows


def any_shape(draw: Draw, asked: ManyJoins, adapt: str) -> Options:
    """Options by which its joins have some shape."""
    tree = draw.choose(["auto", named(any_tree(draw, range(len(asked.inputs))), asked.inputs)])
    return Options(join=draw.choose(["oa", "mjoin"]), join_order=tree, adapt=adapt)


def shaped_or_ordered(draw: Draw, asked: ManyJoins, adapt: str) -> Options:
    """The same, or options by which it keeps an order."""
    if draw.choose([True, False]):
        return any_shape(draw, asked, adapt)
    return Options(join=draw.choose(["sync_filter", "filter_order", "adaptive"]), adapt=adapt)


def any_grouping(draw: Draw, asked: ManyJoins, adapt: str) -> Options:
    return Options(group_by=draw.choose(["above", "below"]), adapt=adapt)


def batches_of(draw: Draw, events: Sequence[Event]) -> list[MicroBatch]:
    """The events in order, a few of them in each micro-batch."""
    batches = []
    rest = list(events)
    while rest:
        count = draw.between(1, 3)
        chunk, rest = rest[:count], rest[count:]
        rows: dict[str, list[Row]] = {}
        bounds: dict[str, int] = {}
        for event in chunk:
            if isinstance(event, Push):
                rows.setdefault(event.stream, []).extend(event.rows)
            else:
                bounds[event.stream] = event.bound
        batches.append(MicroBatch({name: [[each]] for name, each in rows.items()}, bounds))
    return batches


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    migrating_in_groups_changes_no_result: 4,
    moving_conditions_in_groups_changes_no_result: 3,
    changing_tactics_in_groups_changes_no_result: 3,
    ending_a_run_lets_everything_out_while_joins_change: 4,
    grouping_elsewhere_in_groups_changes_no_answer: 5,
    queries_that_share_joins_change_one_after_the_other: 3,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=600)
