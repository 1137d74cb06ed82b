"""AdaptWID through SQL: when it is chosen; what it hears of a union."""

from __future__ import annotations

import pytest

from penstock.kernel.aggregation.adapt.adapt_wid import AdaptState, AdaptWid
from penstock.kernel.operators.tag import SOURCE
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.optimizer.optimize import choose
from penstock.optimizer.options import Options
from tests.optimizer.plans import STREAMS, Built, plan
from tests.ticks import push_ticks

SUM = "SELECT k, sum(v) AS s FROM {} [RANGE 10 SECONDS, SLIDE 1 SECOND] GROUP BY k"


def test_it_is_chosen_where_it_is_asked_for_and_windows_slide() -> None:
    chosen = choose(plan(SUM.format("a")), Options(aggregation="adapt"))
    assert chosen.names == ("Bucket", "AdaptWid")
    on_panes = choose(plan(SUM.format("a")), Options(aggregation="adapt_paned"))
    assert on_panes.names == ("AdaptPaneStore", "PanedWid")
    landmark = plan("SELECT k, count(*) [RANGE ALL, SLIDE 1 MINUTE, WA ts] FROM a GROUP BY k")
    assert choose(landmark, Options(aggregation="adapt")).names[1] == "LandmarkAggregate"


def test_the_chooser_says_why_it_is_not_chosen() -> None:
    grouped = choose(plan("SELECT k, sum(v) FROM a [RANGE 1 MINUTE] GROUP BY k"), Options())
    assert "AdaptWID takes less memory where most groups have few rows" in grouped.reason
    alone = choose(plan("SELECT sum(v) FROM a [RANGE 1 MINUTE]"), Options())
    assert "AdaptWID" not in alone.reason


@pytest.mark.parametrize(("union", "tagged"), [("meld", True), ("merge", False)])
def test_rows_of_a_union_say_by_which_input_they_came(union: str, tagged: bool) -> None:
    built = Built()
    text = SUM.format("(SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM b)")
    built.one(text, union=union, aggregation="adapt")
    assert ("Tag" in built.operators) is tagged


def test_offsets_of_the_sources_are_measured_and_never_show_in_answers() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql("SET aggregation = adapt; SET ets = none")
    query = engine.sql(SUM.format("a UNION b"))
    for second in range(30):
        push_ticks(engine, "a", [{"k": "x", "v": 1, "ts": (second + 4) * SECOND}] * 3)
        push_ticks(engine, "b", [{"k": "x", "v": 1, "ts": second * SECOND}])
    state = adapt_state(engine)
    assert state.highs["0"] - state.highs["1"] == 4 * SECOND
    assert state.shares == pytest.approx({"0": 0.75, "1": 0.25}, abs=0.1)
    assert state.duration > 10 * SECOND  # b holds windows open
    engine.finish()
    assert SOURCE not in query.results().columns
    full = [row["s"] for row in query.results().to_dicts()]
    assert max(full) == 40


def adapt_state(engine: LocalEngine) -> AdaptState:
    operators = [node.operator for node in engine._host.graph.nodes.values()]
    [state] = [each.state for each in operators if isinstance(each, AdaptWid)]
    return state
