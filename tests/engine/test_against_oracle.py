"""The engine against the slow evaluator, end to end: from SQL text to rows.

Random queries over random streams, in disorder within what was declared, cut into any blocks, with
bounds at any valid place, under every strategy and step size. What a query has put out after
`finish` must be the oracle's answer, as a multiset. Results are never taken back, so this also says
that no group and window is put out twice, and that whatever came early was final.

What each law can catch beyond that: results that come later than the bounds allow (`prompt`);
rows set aside wrongly (`late`); Merge losing order or rows (`merged`); queries that disturb each
other (`shared`). Each is checked by Hypothesis and over many seeds: see `draw`.
"""

from __future__ import annotations

from penstock.kernel.rejected import Reason
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.graph import streams_of
from tests.engine.draw import Draw, several
from tests.engine.laws import Law, checks_of
from tests.engine.random_queries import lengths, queries, row_queries, window_queries
from tests.engine.random_streams import (
    MOSTLY_A,
    UNITS,
    arrivals,
    bounds_of,
    careless_arrivals,
    declarations,
    judged,
    numbered,
    pushed,
)
from tests.engine.running import PROMPT_AGGREGATIONS, assert_right, feed, how, rows_of, started


def a_query_gives_the_oracles_answer(draw: Draw) -> None:
    declared = declarations(draw)
    text = queries(draw, declared[0].time)
    events = arrivals(draw, declared)
    engine = started(declared, *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert engine.rejected_rows == []
    assert [rows for *_, rows, _ in engine.state() if rows] == [], "state of streams that are over"


def queries_that_share_sub_plans_all_give_the_oracles_answer(draw: Draw) -> None:
    declared = declarations(draw)
    texts = several(draw, 1, 3, lambda draw: queries(draw, declared[0].time))
    # The same again, and another one's answers: more is shared than chance would share.
    texts = [*texts, texts[0], f"SELECT * FROM ({texts[-1]})"]
    events = arrivals(draw, declared, blocks=4)
    engine = started(declared, *how(draw))
    standing = [engine.sql(text) for text in texts]
    feed(engine, events)
    engine.finish()
    for text, query in zip(texts, standing, strict=True):
        assert_right(query, pushed(declared, events), text)


def merged_streams_give_the_oracles_answer_in_order(draw: Draw) -> None:
    declared = declarations(draw, ordered=True)
    parts = " UNION ".join(several(draw, 2, 3, lambda draw: draw.choose(MOSTLY_A)))
    text = f"SELECT k, v, ts FROM {parts} WHERE v <> 0"
    windowed = window_queries(draw, UNITS[declared[0].time])
    events = arrivals(draw, declared)
    engine = started(declared, "union = merge", *how(draw))
    ordered, aggregated = engine.sql(text), engine.sql(windowed)
    feed(engine, events)
    engine.finish()
    times = ordered.results().get_column("ts").to_list()
    assert times == sorted(times)
    assert_right(ordered, pushed(declared, events), text)
    assert_right(aggregated, pushed(declared, events), windowed)


def a_window_comes_out_as_soon_as_its_streams_have_passed_it(draw: Draw) -> None:
    union = draw.choose(["meld", "merge"])
    declared = declarations(draw, ordered=union == "merge")[:2]
    (range_, slide), unit = lengths(draw), UNITS[declared[0].time]
    text = (
        f"SELECT k, count(*) AS n, sum(v) AS s FROM a UNION b "
        f"[RANGE {range_}{unit}, SLIDE {slide}{unit}, WA ts] GROUP BY k"
    )
    engine = started(declared, f"union = {union}", *how(draw, PROMPT_AGGREGATIONS))
    query = engine.sql(text)
    events = arrivals(draw, declared, blocks=4)
    for happened, event in enumerate(events, start=1):
        feed(engine, [event])
        low = min(bounds_of(declared, events[:happened]).values())
        answer = evaluate(query.plan, pushed(declared, events[:happened]))
        over = [row for row in answer if row["window_end"] <= low]
        assert same_rows(rows_of(query.to_polars()), over), (text, event, low)


def late_rows_are_set_aside_and_the_rest_is_answered(draw: Draw) -> None:
    declared = declarations(draw)
    events = careless_arrivals(draw, declared)
    is_windowed = draw.choose([True, True, False])
    text = window_queries(draw, UNITS[declared[0].time]) if is_windowed else row_queries(draw)
    engine = started(declared, *how(draw))
    query = engine.sql(text)
    feed(engine, events)
    engine.finish()
    parts = judged(declared, events)
    for name, part in parts.items():
        aside = [each for each in engine.rejected_rows if each.stream == name]
        late = [row for each in aside if each.reason is Reason.LATE for row in each.rows.to_dicts()]
        # Where nothing has windows, late rows pass; what nobody reads is set aside.
        passes = not is_windowed and name in streams_of(query.plan)
        assert late == ([] if passes else part.late)
        malformed = [each.rows.height for each in aside if each.reason is Reason.MALFORMED]
        assert sum(malformed) == part.timeless
        counts = engine.counts(name)
        assert (counts.rows, counts.late, counts.malformed, counts.passed) == (
            len(part.on_time) + (len(part.late) if passes else 0),
            len(part.late),
            part.timeless,
            len(part.late) if passes else 0,
        )
    taken = {name: part.on_time if is_windowed else part.dated for name, part in parts.items()}
    assert_right(query, {name: numbered(rows) for name, rows in taken.items()}, text)


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    a_query_gives_the_oracles_answer: 90,
    queries_that_share_sub_plans_all_give_the_oracles_answer: 20,
    merged_streams_give_the_oracles_answer_in_order: 25,
    a_window_comes_out_as_soon_as_its_streams_have_passed_it: 30,
    late_rows_are_set_aside_and_the_rest_is_answered: 30,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS)
