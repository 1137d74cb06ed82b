"""Each query keeps the settings that it was declared with, or altered to; nothing is started."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import BadSetting, NotExecutable
from penstock.local.engine import LocalEngine
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.spark.changing import is_other
from penstock.spark.engine import Engine
from penstock.spark.next_program import Altered

STREAM = "CREATE STREAM packets (src STRING, len INT, ts TIMESTAMP) FROM {} TIMESTAMP BY ts;"
SLIDING = "SELECT src, count(*) AS n FROM packets [RANGE 9 SECONDS, SLIDE 3 SECONDS] GROUP BY src"
TUMBLING = "SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY src"


def engine_with(script: str, source: str = "parquet 'x'") -> Engine:
    engine = Engine()
    engine.sql(STREAM.format(source) + script)
    return engine


def operator(engine: Engine, query: str) -> str:
    return engine._plans[query].spec.name


def test_a_setting_is_for_queries_that_are_declared_after_it() -> None:
    engine = engine_with(
        f"SET aggregation = wid; CREATE QUERY a AS {SLIDING};"
        f"SET aggregation = paned; CREATE QUERY b AS {SLIDING};"
        "SET aggregation = adapt"
    )
    assert [set(share.queries) for share in engine._planning.planned()] == [{"a"}, {"b"}]
    for name, expected in (("a", "WidAggregate"), ("b", "PanedWid")):
        assert operator(engine, name) == expected
        assert f"> {expected}: " in engine.query(name).explain()


def test_queries_of_equal_settings_run_together() -> None:
    engine = engine_with(
        f"CREATE QUERY a AS {SLIDING}; SET join = oa; CREATE QUERY b AS {SLIDING};"
        f"SET join = auto; CREATE QUERY c AS {SLIDING}"
    )
    assert [set(share.queries) for share in engine._planning.planned()] == [{"a", "c"}, {"b"}]
    assert engine._programs["a"].plans == engine._programs["c"].plans


def test_what_all_queries_have_in_common_is_what_is_set_last() -> None:
    engine = engine_with(
        f"CREATE QUERY a AS {SLIDING}; SET late = drop; CREATE QUERY b AS {SLIDING};"
        "SET late = generous; SET strategy = bfs"
    )
    [share] = engine._planning.planned()
    assert (share.options.late, share.options.strategy) == ("generous", "bfs")
    assert operator(engine, "a") == "WidAggregate"  # closed panes take no late rows


def test_what_a_query_that_waits_cannot_follow_is_refused_and_not_set() -> None:
    engine = engine_with(
        "CREATE QUERY pairs AS SELECT l.src FROM packets l JOIN packets r ON l.src = r.src "
        "WITHIN 3 SECONDS"
    )
    with pytest.raises(NotExecutable, match="would violate the punctuation"):
        engine.sql("SET late = generous")
    assert engine.catalog.settings.late == "keep"


def test_explain_of_a_replacement_shows_the_replacement() -> None:
    engine = engine_with(f"CREATE QUERY a AS {SLIDING}")
    assert "RANGE 1 minute" in engine.sql(f"EXPLAIN CREATE OR REPLACE QUERY a AS {TUMBLING}")


def test_a_query_that_waits_to_be_started_can_be_altered() -> None:
    engine = engine_with(f"CREATE QUERY a AS {SLIDING}; CREATE QUERY b AS {SLIDING}")
    engine.sql("ALTER QUERY b SET (aggregation = adapt)")
    assert [set(share.queries) for share in engine._planning.planned()] == [{"a"}, {"b"}]
    assert operator(engine, "b") == "AdaptWid"
    with pytest.raises(BadSetting, match="the setting `lowering` was removed") as refused:
        engine.sql("ALTER QUERY b SET (lowering = native)")
    assert refused.value.position is not None


def test_what_is_declared_can_be_looked_at_before_it_runs() -> None:
    engine = engine_with(f"SET join = oa; CREATE QUERY a INTO parquet 'out' AS {TUMBLING}")
    assert engine.sql("SHOW QUERIES") == (
        "query  state        streams  into           rows\n"
        "a      not started  packets  parquet 'out'     0"
    )
    assert engine.sql("SHOW STREAMS") == (
        "stream   source       event time      rows  late  malformed  bound\n"
        "packets  parquet 'x'  by ts, ordered     0     0          0  nothing yet"
    )
    assert str(engine.sql("DESCRIBE a")).splitlines()[:6] == [
        "query a",
        "  state     not started",
        "  streams   packets",
        "  into      parquet 'out'",
        "  rows      0",
        "  settings  join = oa",
    ]


@pytest.mark.parametrize("engine", [Engine, LocalEngine])
def test_threads_that_change_queries_take_turns(
    engine: type[Engine | LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change has a number that no other has: nobody may look for one while another is made."""
    inside, most = [0], [0]
    together = threading.Barrier(4)

    def wait() -> str:
        together.wait(10)  # what is left to do may be done by all of them at once
        return ""

    def follow() -> Callable[[], str]:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.02)
        inside[0] -= 1
        return wait

    changed = engine()
    monkeypatch.setattr(changed, "_follow_statements", follow)
    threads = [threading.Thread(target=changed.sql, args=("SET join = oa",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert not together.broken


def test_only_what_changes_operators_changes_a_program_that_runs() -> None:
    engine = engine_with(f"SET aggregation = wid; CREATE QUERY a AS {SLIDING}")
    [group] = engine._planning.planned()
    running: Any = SimpleNamespace(
        program=group.program(engine.catalog.streams),
        next_change=1,
        why_apart=lambda *_: "",
        known=Statistics(),
    )
    query, options = engine.query("a"), Options(aggregation="wid")

    def is_changed_by(options: Options) -> bool:
        return is_other(running, query, Altered(query.plan, options))

    assert not is_changed_by(replace(options, join="mjoin"))
    assert is_changed_by(replace(options, aggregation="paned"))
    # The same operators, but those that cost decides for may be chosen again.
    assert is_changed_by(Options())
