"""What a group reports goes to the driver as it is."""

from __future__ import annotations

from penstock.model.releases import Release, Releases
from penstock.runtime.counts import Tally
from penstock.runtime.migrations import Migration
from penstock.runtime.status import OperatorStatus
from penstock.spark.delivery.group_reports import GroupReport, report_of

REPORT = GroupReport(
    bounds={"s": 5},
    own={"s": 4},
    newest={"s": 9},
    on_time_from={"s": 5},
    awaited=["s"],
    releases={"q": Releases((Release({("s", "ts"): 10}),))},
    operators=[OperatorStatus("WidAggregate-1", ("q", "r"), 3, 1, 2, 64, 0.5, 0.25, 3.0, 1)],
    joins={"j": {"reached": 5}},
    changed={"operators": {}},
    handed={"q": "abc"},
    changing=["q"],
    migrations=[Migration("q", "moving state", "a", "b", "it pays", began=3)],
    rows={"s": 7},
    tallies={"s": Tally(late=2, reasons={"v: no number": 1})},
)


def test_a_report_is_the_same_behind_the_codec() -> None:
    assert GroupReport.of(REPORT.as_bytes()) == REPORT


def test_operators_and_counts_of_groups_add_up() -> None:
    both = report_of(3, [REPORT, REPORT])
    [operator] = both.operators
    assert (operator.queries, operator.rows_in, operator.state_bytes) == (("q", "r"), 6, 128)
    assert (both.tallies["s"].late, both.tallies["s"].read) == (4, 7)
    assert report_of(3, []).bounds == {}
