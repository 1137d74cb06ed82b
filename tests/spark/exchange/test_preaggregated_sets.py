"""Sets that the exchange makes, and groups unite: the oracle's answer, whatever falls in between.

Random queries of functions that keep each different value once, with NULLs and FILTER, in windows
that overlap or not; batches of tasks and blocks, workers that come and go, attempts that fail. The
exchange in memory aggregates all rows that it may (`test_preaggregation.py` says which).
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.optimizer.options import Options
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import Draw, Drawn, examples, several
from tests.engine.random_queries import CONDITIONS, GROUPS, lengths, sometimes
from tests.engine.random_streams import UNITS, arrivals, declarations
from tests.spark.group_pipelines import assert_answers, assert_kept_well, plans_of, run
from tests.spark.random_batches import as_numbered, micro_batches

SETS = (
    *(f"{call}(DISTINCT {of})" for call in ("count", "sum", "avg") for of in ("v", "d", "v % 3")),
    *(f"count(DISTINCT {of})" for of in ("k", "ts", "v > 0", "CAST(v AS TINYINT)", "NULL")),
    *(f"{call}({of})" for call in ("collect_set", "mode") for of in ("k", "v", "d", "v > 0")),
    "heavy_hitters(v, 0.3)",
    "count(*)",
    "max(d)",
)
FOLDED_BY = tuple(Options(aggregation=each) for each in ("auto", "wid", "paned"))


def set_queries(draw: Draw, unit: str) -> str:
    range_, slide = lengths(draw)
    group, where = draw.choose(GROUPS), sometimes(draw, "WHERE", CONDITIONS)
    calls = several(draw, 1, 5, lambda d: d.choose(SETS) + _filter(d))
    keys = [f"{key} AS g{n}" for n, key in enumerate(group.split(", ")) if key]
    results = [f"{call} AS r{n}" for n, call in enumerate(calls)]
    source = f"a [RANGE {range_}{unit}, SLIDE {slide}{unit}, WA ts]"
    grouped = f" GROUP BY {group}" if group else ""
    return f"SELECT {', '.join(keys + results)} FROM {source}{where}{grouped}"


def _filter(draw: Draw) -> str:
    return f" FILTER (WHERE {draw.choose(CONDITIONS)})" if draw.choose([True, False]) else ""


@examples(15)
@given(st.data(), st.integers(1, 3))
def test_sets_of_the_exchange_are_united_to_the_oracles_answer(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    plans = plans_of(declared, [set_queries(draw, UNITS[declared[0].time])])
    batches = data.draw(micro_batches(arrivals(draw, declared)))
    [share] = assign_pipelines(plans)
    pipeline = run(data, share, groups, batches, "meld", aggregations=FOLDED_BY)
    streams = pipeline.exchange.program.streams
    rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
    assert_answers(pipeline, share, as_numbered(streams, rows))
    assert_kept_well(pipeline)
