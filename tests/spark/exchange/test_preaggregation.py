"""Which aggregates the exchange computes in part, of which rows, and when.

That results stay the same is what `test_group_host.py` and others hold against the oracle: the
exchange in memory aggregates all rows that it may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.io.results import write_part
from penstock.kernel.state import from_ipc
from penstock.lab.baselines import with_buffering
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, END
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.spark.control.control_stream import about
from penstock.spark.control.told import Told
from penstock.spark.delivery.delivery import RESULT
from penstock.spark.delivery.group_reports import GroupReport
from penstock.spark.exchange.exchange import Packer
from penstock.spark.exchange.messages import (
    Message,
    PartialAggregates,
    RowBlock,
    StagedResults,
    TaskProgress,
)
from penstock.spark.exchange.preaggregation import (
    folds_for,
    on_time_in,
    preaggregations,
)
from penstock.spark.group_messages import handed_on
from penstock.spark.in_memory.micro_batches import MicroBatch, Worker, block_of
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from tests.engine.random_streams import Declared
from tests.spark.exchange.records import height, messages_in
from tests.spark.group_pipelines import pipeline_of, plans_of

TUMBLING = "SELECT k, count(*) AS n, sum(v) AS total FROM a [RANGE 10 MICROSECONDS] GROUP BY k"
SLIDING = "SELECT k, max(v) AS m FROM a [RANGE 10 MICROSECONDS SLIDE 2 MICROSECONDS] GROUP BY k"
DISTINCT = (
    "SELECT count(DISTINCT v) AS n, count(DISTINCT v) FILTER (WHERE d > 0) AS positive "
    "FROM a [RANGE 10 MICROSECONDS]"
)
GROUPS = (2, 0, 14)


def planned(*texts: str, options: Options | None = None) -> tuple[PipelineGroup, Program]:
    [share] = assign_pipelines(plans_of([Declared("a", 0), Declared("b", 0)], list(texts)))
    return share, optimize(share.queries, options or Options())


def folded_for(*texts: str, options: Options | None = None) -> dict[str, list[str]]:
    share, program = planned(*texts, options=options)
    found = preaggregations(program, share.keys)
    return {n: [one.spec.name for one in each.aggregates] for n, each in found.items()}


@pytest.mark.parametrize(
    "text",
    [
        TUMBLING,
        SLIDING,
        "SELECT avg(v) AS m FROM a [RANGE 10 MICROSECONDS] WHERE v > 2",
        "SELECT kk, sum(w) AS w FROM (SELECT k AS kk, v * 2 AS w, ts AS t FROM a) "
        "[RANGE 10 MICROSECONDS, WA t] GROUP BY kk",
        f"SELECT window_end, max(n) AS most FROM ({TUMBLING}) GROUP BY window_end",
        "SELECT k, count(*) AS n FROM a GROUP BY k, session_window(ts, '10 microseconds')",
        "SELECT v, sum(v) AS s FROM SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), "
        "INTERVAL '10' MICROSECOND) GROUP BY k, v, window_start, window_end",
        DISTINCT,
        "SELECT k, collect_set(v) AS s, mode(v) AS m, heavy_hitters(v, 0.1) AS h, "
        "sum(DISTINCT v) AS t FROM a [RANGE 10 MICROSECONDS SLIDE 2 MICROSECONDS] GROUP BY k",
    ],
)
def test_aggregates_over_a_stream_are_computed_in_part(text: str) -> None:
    assert list(folded_for(text)) == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, max_by(v, d) AS m FROM a [RANGE 10 MICROSECONDS] GROUP BY k",  # an order
        "SELECT median(v) AS m FROM a [RANGE 10 MICROSECONDS]",  # keeps all values
        "SELECT approx_count_distinct(v) AS n FROM a [RANGE 10 MICROSECONDS]",
        "SELECT count(*) AS n FROM a [RANGE 3 ROWS]",
        "SELECT max(row_num) AS n FROM a [RANGE 10 MICROSECONDS]",
        "SELECT row_num, v FROM a",
        "SELECT k, last(v) AS v FROM a GROUP BY k, session_window(ts, '10 microseconds')",
        "SELECT k, count(*) AS n FROM a [RANGE 10 MICROSECONDS] GROUP BY k EMIT CHANGES",
        "SELECT x.k, y.v FROM a x JOIN b y ON x.k = y.k "
        "AND x.ts BETWEEN y.ts AND y.ts + INTERVAL 5 MICROSECONDS",
    ],
)
def test_others_get_their_rows(text: str) -> None:
    assert folded_for(text) == {}


def test_one_reader_that_needs_the_rows_is_enough_for_all_to_get_them() -> None:
    assert folded_for(TUMBLING, SLIDING)["a"]
    ordered = "SELECT k, max_by(v, d) AS m FROM a [RANGE 10 MICROSECONDS] GROUP BY k"
    assert folded_for(TUMBLING, ordered) == {}


def test_algorithms_that_look_at_rows_get_them() -> None:
    assert folded_for(SLIDING, options=Options(aggregation="adapt")) == {}
    share, program = planned(SLIDING, options=Options(aggregation="wid"))
    assert preaggregations(program, share.keys)
    assert preaggregations(program.by(with_buffering(program.plans)), share.keys) == {}
    assert folded_for(SLIDING, options=Options(aggregation="paned"))["a"] == ["PaneStore"]


def rows_of(count: int, keys: int) -> list[dict[str, Any]]:
    return [{"k": str(n % keys), "v": n, "d": 0.5, "ts": n % 50} for n in range(count)]


def packed(
    rows: list[dict[str, Any]], told: dict[str, int] | None, text: str = TUMBLING, **when: Any
) -> list[Message]:
    share, program = planned(text)
    stream: Stream = program.streams[0]
    how = replace(preaggregations(program, share.keys)["a"], **when)
    packer = Packer(0, stream, share.keys["a"], GROUPS, how)
    return messages_in(packer.run(iter([block_of(stream, rows)]), 0, Told(told or {})))


def counted(sent: list[Message]) -> tuple[int, int, int]:
    """Rows that were aggregated, that were not, and all."""
    folded = sum(each.rows for each in sent if isinstance(each, PartialAggregates))
    whole = next(each.rows for each in sent if isinstance(each, TaskProgress))
    return folded, sum(height(each) for each in sent if isinstance(each, RowBlock)), whole


def test_rows_that_may_be_late_are_sent_as_they_are() -> None:
    rows = rows_of(5000, keys=7)
    assert counted(packed(rows, {"a": BEGINNING})) == (5000, 0, 5000)
    assert counted(packed(rows, {"a": 60})) == (0, 5000, 5000)
    late = sum(row["ts"] < 20 for row in rows)
    assert counted(packed(rows, {"a": 20})) == (5000 - late, late, 5000)
    assert counted(packed(rows, {"a": END})) == (0, 5000, 5000)


def test_a_task_that_is_told_nothing_sends_all_rows() -> None:
    rows = rows_of(5000, keys=7)
    assert counted(packed(rows, None)) == counted(packed(rows, {})) == (0, 5000, 5000)


def test_rows_without_a_time_are_sent_as_they_are() -> None:
    rows = [*rows_of(5000, keys=7), {"k": "x", "v": 1, "d": 0.5, "ts": None}]
    assert counted(packed(rows, {"a": BEGINNING})) == (5000, 1, 5001)


def test_few_rows_and_rows_that_do_not_become_fewer_are_sent_as_they_are() -> None:
    assert counted(packed(rows_of(100, keys=7), {"a": BEGINNING})) == (0, 100, 100)
    assert counted(packed(rows_of(5000, keys=5000), {"a": BEGINNING})) == (0, 5000, 5000)
    # Found out by the first of them.
    apart = rows_of(500, keys=500) + rows_of(5000, keys=1)
    assert counted(packed(apart, {"a": BEGINNING}, sample=500)) == (0, 5500, 5500)


def test_sets_are_sent_where_they_hold_fewer_values_than_the_rows() -> None:
    few = [{"k": "x", "v": n % 100, "d": 0.5, "ts": n // 1000} for n in range(5000)]
    many = [{**row, "v": n} for n, row in enumerate(few)]
    assert counted(packed(few, {"a": BEGINNING}, DISTINCT)) == (5000, 0, 5000)
    # Two sets of 5000 values each, of rows of four: one in two. One more value is too many.
    assert counted(packed(many, {"a": BEGINNING}, DISTINCT)) == (5000, 0, 5000)
    three = DISTINCT.replace(" AS positive", " AS positive, count(DISTINCT ts) AS t")
    assert counted(packed(many, {"a": BEGINNING}, three)) == (0, 5000, 5000)


def test_nothing_is_folded_for_groups_that_run_other_operators() -> None:
    report = GroupReport(on_time_from={"a": 7})
    assert on_time_in([report, GroupReport(on_time_from={"a": 9})]) == {"a": 9}
    assert on_time_in([]) == {}
    [share] = assign_pipelines(plans_of([Declared("a", 0)], [TUMBLING]))
    program = optimize(share.queries)
    assert folds_for([report, report], program)
    assert not folds_for([report, GroupReport(changed={"operators": {}})], program)
    [(name, plan)] = program.plans.items()
    altered = replace(program, altered={name: (plan.inputs[0],)})
    assert not folds_for([report], altered)
    assert folds_for([GroupReport(handed={name: plan.fingerprint})], altered)
    [how] = preaggregations(program, share.keys).values()
    assert how.on_time_from(Told({"a": 7}), "a") == 7
    assert how.on_time_from(Told({"a": 7}, folds=False), "a") == END


def test_groups_report_from_when_on_rows_are_on_time_and_count_those_that_came_folded() -> None:
    pipeline, worker = pipeline_of(TUMBLING, Declared("a", 0)), Worker(None)
    pipeline.process(MicroBatch({"a": [[rows_of(20, keys=2)]]}), lambda group: worker)
    reports = [output.report() for output in pipeline.outputs[-1].values()]
    assert [report.on_time_from for report in reports] == [{"a": 19}] * 2
    operators = [each for report in reports for each in report.operators]
    assert sum(each.rows_in for each in operators if "WidAggregate" in each.name) == 20


def test_with_a_bound_on_some_rows_those_above_it_are_surely_on_time() -> None:
    pipeline, worker = pipeline_of(TUMBLING, Declared("a", 0)), Worker(None)
    some: dict[str, Any] = about("a", 30, (("k", ("x",)),))
    pipeline.process(MicroBatch({"a": [[rows_of(20, 2)]]}, some), lambda group: worker)
    reports = [output.report() for output in pipeline.outputs[-1].values()]
    assert [report.on_time_from for report in reports] == [{"a": 30}] * 2


# --- queries that look at single rows ------------------------------------------------------------

READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    "parquet": pl.read_parquet,
    "csv": pl.read_csv,
    "json": pl.read_ndjson,
}
ROWS = "SELECT k, v * 2 AS w, ts FROM a WHERE v >= 10"


def staged(tmp_path: Path, *texts: str, told: Told) -> list[Message]:
    share, program = planned(*texts)
    stream: Stream = program.streams[0]
    packer = Packer(0, stream, share.keys["a"], GROUPS, preaggregations(program, share.keys)["a"])
    return messages_in(packer.run(iter([block_of(stream, rows_of(5000, keys=7))]), 0, told))


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_results_of_queries_over_single_rows_are_written_by_the_tasks(
    tmp_path: Path, format: str
) -> None:
    sinks = {"q0": (format, str(tmp_path))}
    lines = staged(tmp_path, ROWS, told=Told({"a": 20}, sinks))
    [line] = [each for each in lines if isinstance(each, StagedResults)]
    [which] = from_ipc(line.payload).to_dicts()
    expected = [row for row in rows_of(5000, keys=7) if row["v"] >= 10 and row["ts"] >= 20]
    assert (which["query"], which["rows"]) == ("q0", len(expected))
    whole = write_part(
        tmp_path,
        "whole",
        format,
        pl.DataFrame({"k": ["0"], "w": [1], "ts": [2]}),
        [Path(which["file"])],
    )
    assert READERS[format](Path(str(whole))).get_column("w").to_list() == [
        row["v"] * 2 for row in expected
    ] + [1]
    # Rows that may be late go to their group, and nothing is left but the two files.
    assert counted(lines)[1:] == (2000, 5000)
    assert {file.name for file in tmp_path.iterdir()} == {whole.name, Path(which["file"]).name}


def test_results_that_cannot_be_written_where_they_are_made_are_handed_on(tmp_path: Path) -> None:
    """As on a machine of a cluster that has another directory of that name."""
    sinks = {"q0": ("parquet", str(tmp_path), "_owner.another")}
    lines = staged(tmp_path, ROWS, TUMBLING, told=Told({"a": BEGINNING}, sinks))
    assert list(tmp_path.iterdir()) == []
    found = [row for row in handed_on(0, lines) if row["kind"] == RESULT]
    assert {row["name"] for row in found} == {"q0"}
    wanted = [row["v"] * 2 for row in rows_of(5000, keys=7) if row["v"] >= 10]
    results = pl.concat([from_ipc(row["payload"]) for row in found])
    assert results.get_column("w").to_list() == wanted
    assert sum(row["rows"] for row in found) == len(wanted)


def test_where_the_driver_wants_the_results_all_rows_go_to_the_groups(tmp_path: Path) -> None:
    assert counted(staged(tmp_path, ROWS, told=Told({"a": BEGINNING}))) == (0, 5000, 5000)
    sinks = {"q0": ("parquet", str(tmp_path))}
    both = staged(tmp_path, ROWS, TUMBLING, told=Told({"a": BEGINNING}, sinks))
    assert counted(both) == (5000, 0, 5000)
    assert any(isinstance(each, StagedResults) for each in both)
    assert counted(staged(tmp_path, ROWS, TUMBLING, told=Told({"a": 0}))) == (0, 5000, 5000)
