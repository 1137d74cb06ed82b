"""What groups report to wait for, together: the law of `tests/engine/test_releases.py` on batches.

Rows are spread over groups, and every group says what lets out its own next row; the driver makes
one answer of it. What that names lets a row out in the next batch, and one tick less does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from penstock.model.releases import Releases
from penstock.model.schema import ROW_NUM
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.spark.delivery.group_reports import releases_of
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    MicroBatch,
    Worker,
)
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from tests.engine.draw import Draw, check_seeds
from tests.engine.random_joins import aggregated_joins, join_queries
from tests.engine.random_queries import nested_queries, window_queries
from tests.engine.random_streams import UNITS, Event, Push, arrivals, declarations
from tests.engine.running import started

SHAPES: dict[str, Callable[[Draw, str], str]] = {
    "windows": window_queries,
    "nested": nested_queries,
    "joins": join_queries,
    "aggregates over joins": aggregated_joins,
}


def batches_of(events: list[Event], size: int) -> list[MicroBatch]:
    found = []
    for first in range(0, len(events), size):
        rows: dict[str, list[dict[str, object]]] = {}
        bounds: dict[str, int] = {}
        for event in events[first : first + size]:
            if isinstance(event, Push):
                rows.setdefault(event.stream, []).extend(event.rows)
            else:
                bounds[event.stream] = event.bound
        found.append(MicroBatch({name: [[each]] for name, each in rows.items()}, bounds))
    return found


def after(share: PipelineGroup, groups: tuple[int, ...], batches: list[MicroBatch]) -> FakePipeline:
    pipeline = FakePipeline(Exchange(optimize(share.queries), share.keys, groups))
    worker = Worker(None)
    for batch in batches:
        pipeline.process(batch, lambda group: worker)
    return pipeline


def reported(pipeline: FakePipeline) -> Releases:
    return releases_of(each.report().releases for each in pipeline.outputs[-1].values())["q"]


def check(draw: Draw, make: Callable[[Draw, str], str]) -> None:
    declared = declarations(draw)
    text = make(draw, UNITS[declared[0].time])
    [share] = assign_pipelines({"q": started(declared).sql(text).plan})
    groups = (2, 0, 14)[: draw.between(1, 3)]
    batches = batches_of(arrivals(draw, declared, blocks=4), draw.between(1, 3))
    batches.append(MicroBatch({}, {"nobody": 0}))  # all groups report
    found = reported(after(share, groups, batches))
    assert found.known, text

    def told(bounds: Mapping[tuple[str, str], int]) -> int:
        said = {stream: bound for (stream, _), bound in bounds.items()}
        pipeline = after(share, groups, [*batches, MicroBatch({}, said or {"nobody": 0})])
        return len(pipeline.rows("result", "q", slice(-1, None)))

    if not found.releases:
        assert told({(name, ""): END for name in share.keys}) == 0, text
    for release in found.releases[:2]:
        if any(on == ROW_NUM for _, on in release.bounds):
            continue
        if release.certain:
            assert told(release.bounds) > 0, (text, release)
        for key, bound in release.bounds.items():
            less = {**release.bounds, key: 10**17 if bound >= END else bound - 1}
            assert told(less) == 0, (text, less)


def law(shape: str) -> Callable[[Draw], None]:
    return lambda draw: check(draw, SHAPES[shape])


@pytest.mark.parametrize("shape", SHAPES)
def test_what_groups_name_together_releases_a_row_and_nothing_less_does(shape: str) -> None:
    check_seeds(6, law(shape))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_what_groups_name_together_releases_a_row_in_many_more_cases(shape: str) -> None:
    check_seeds(100, law(shape))
