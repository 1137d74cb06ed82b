"""A pipeline has groups only where rows meet, are counted or are put in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.rows.choice import GROUPS, ROWS
from penstock.spark.state.checkpoint import Checkpoint, Continued
from tests.engine.random_streams import Declared
from tests.spark.group_pipelines import plans_of

STREAMS = [Declared("a", 0), Declared("b", 0), Declared("c", 5)]
PICKED = "SELECT k, v * 2 AS w FROM a WHERE v > 2"
COUNTS = "SELECT k, count(*) AS n FROM a [RANGE 10 MICROSECONDS] GROUP BY k"


def group_of(*texts: str) -> PipelineGroup:
    [group] = assign_pipelines(plans_of(STREAMS, list(texts)))
    return group


def form_of(*texts: str) -> str:
    group = group_of(*texts)
    return group.form(group.program()).step


@pytest.mark.parametrize(
    "text", [PICKED, "SELECT * FROM a", "SELECT w FROM (SELECT v AS w FROM a)"]
)
def test_queries_over_single_rows_need_no_groups(text: str) -> None:
    assert form_of(text) == form_of(text, PICKED) == ROWS


@pytest.mark.parametrize(
    "text",
    [
        COUNTS,
        "SELECT row_num, v FROM a",
        "SELECT v, ts FROM c ORDER BY ts",
        "SELECT k, v FROM a UNION b",
        "SELECT x.k AS k FROM a x JOIN b y ON x.k = y.k WITHIN 2 MICROSECONDS",
    ],
)
def test_others_have_them(text: str) -> None:
    assert form_of(text) == GROUPS


def test_one_query_that_needs_groups_is_enough() -> None:
    assert form_of(PICKED, COUNTS) == GROUPS


def begun(folder: Path, group: PipelineGroup, form: str) -> Continued:
    checkpoint = Checkpoint(folder, group.program(), form=form, keys=group.keys)
    checkpoint.confirm(group.program())
    checkpoint.release()
    found = Continued.at(folder)
    assert found is not None
    return found


def test_a_checkpoint_with_groups_goes_on_with_them(tmp_path: Path) -> None:
    group = group_of(PICKED)
    [again] = assign_pipelines(group.queries, continued=[begun(tmp_path, group, GROUPS)])
    form = again.form(again.program())
    assert (form.step, form.reason) == (GROUPS, "its checkpoint was begun with it")


def test_a_query_that_needs_groups_does_not_join_a_checkpoint_without(tmp_path: Path) -> None:
    before = begun(tmp_path, group_of(PICKED), ROWS)
    plans = plans_of(STREAMS, [PICKED, COUNTS, "SELECT v FROM a"])
    first, second = assign_pipelines(plans, continued=[before])
    assert (list(first.queries), list(second.queries)) == (["q0", "q2"], ["q1"])
    assert first.form(first.program()).step == ROWS
    assert second.form(second.program()).step == GROUPS


def test_a_checkpoint_without_groups_is_refused_with_them(tmp_path: Path) -> None:
    group = group_of(PICKED)
    begun(tmp_path, group, ROWS)
    with pytest.raises(HostError, match="was begun without state"):
        Checkpoint(tmp_path, group.program(), form=GROUPS)
