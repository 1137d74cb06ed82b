"""The cases in which keeping order costs memory, each as a plan that runs in either mode.

One row a second or a minute and stream, so that what is held can be counted. Rows held are those
in queues and in states, after each row.  Spec: window-queries 7.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.kernel.operators.select import Select
from penstock.local.delayed import delay
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import MINUTE, SECOND, from_ticks
from penstock.runtime.clock import VirtualClock

MODES = ("iop", "oop")

LULL = """
CREATE STREAM control (ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM main1 (ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM main2 (ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q AS
  SELECT count(*) AS n FROM (control UNION main1 UNION main2) [RANGE 1 MINUTE];
"""
#: Every fourth row goes through the expensive predicate, which half of them pass.
SPLIT = """
CREATE STREAM packets (len INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT count(*) AS n FROM (
    SELECT ts FROM packets WHERE len % 4 <> 0
    UNION ALL
    SELECT ts FROM packets WHERE len % 4 = 0 AND len % 8 = 0
  ) [RANGE 1 MINUTE];
"""
EXPENSIVE = "8"
LATE = """
CREATE STREAM s0 (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 MINUTES;
CREATE STREAM s1 (k INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT s0.k AS k, s0.ts AS t0, s1.ts AS t1
  FROM s0 [RANGE 2 MINUTES, WA ts], s1 [RANGE 2 MINUTES, WA ts] WHERE s0.k = s1.k;
"""
ORDERED = """
CREATE STREAM s0 (k INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE STREAM s1 (k INT, ts TIMESTAMP) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT s0.ts AS t0, s1.ts AS t1
  FROM s0 [RANGE {r0} MINUTES, WA ts], s1 [RANGE {r1} MINUTES, WA ts] WHERE s0.k = s1.k {order};
"""


def engine_in(mode: str, text: str) -> LocalEngine:
    engine = LocalEngine(clock=VirtualClock())
    engine.sql(f"SET mode = {mode}; {text}")
    return engine


def held(engine: LocalEngine, operator: str | None = None) -> int:
    """Rows in states, of one operator or of all and in queues as well."""
    sizes = engine.state()
    if operator is not None:
        return sum(rows for name, _, rows, _ in sizes if name.split("-")[0] == operator)
    return sum(rows for _, _, rows, _ in sizes) + engine.queued_rows()


def _most(engine: LocalEngine, seconds: Iterable[int], push: Callable[[int], None]) -> int:
    most = 0
    for second in seconds:
        push(second)
        most = max(most, held(engine))
    return most


def lull(mode: str, seconds: int) -> tuple[int, int]:
    """Case 1: the most rows held while Control is silent for so long, and rows counted."""
    engine = engine_in(mode, LULL)
    engine.push("control", [{"ts": from_ticks(0)}])

    def push(second: int) -> None:
        for name in ("main1", "main2"):
            engine.push(name, [{"ts": from_ticks(second * SECOND)}])

    most = _most(engine, range(1, seconds + 1), push)
    engine.finish()
    return most, int(engine.query("q").results()["n"].sum())


def split_plan(mode: str, behind: int, seconds: int = 240) -> tuple[int, int]:
    """Case 2: the same where the expensive branch is so many seconds behind the cheap one."""
    clock = VirtualClock()
    engine = LocalEngine(clock=clock)
    engine.sql(f"SET mode = {mode}; {SPLIT}")
    [expensive] = [
        node
        for node in engine._host.graph.nodes.values()
        if isinstance(node.operator, Select)
        and EXPENSIVE in str(node.operator.condition.expression)
    ]
    delay(expensive, clock, behind * SECOND)

    def push(second: int) -> None:
        clock.wait_until(second * SECOND)
        engine.push("packets", [{"len": second, "ts": from_ticks(second * SECOND)}])

    most = _most(engine, range(seconds), push)
    engine.finish()
    clock.wait_until((seconds + behind) * SECOND)
    engine.advance()
    return most, int(engine.query("q").results()["n"].sum())


def late_input(mode: str) -> dict[str, tuple[int, int]]:
    """Case 3: rows (one a minute) held in the steady state by where they are, least and most."""
    engine = engine_in(mode, LATE)
    seen: dict[str, list[int]] = {"sort of S0": [], "S0": [], "S1": []}
    for minute in range(60):
        for name in ("s0", "s1"):
            engine.push(name, [{"k": 1, "ts": from_ticks(minute * MINUTE)}])
        if minute < 20:
            continue
        # Those of the join, whichever it is: where order is kept it is another one.
        tables = {table: rows for _, table, rows, _ in engine.state() if table in ("left", "right")}
        now = (held(engine, "Order"), tables["left"], tables["right"])
        for rows, count in zip(seen.values(), now, strict=True):
            rows.append(count)
    return {where: (min(rows), max(rows)) for where, rows in seen.items()}


def ordered_output(ordered: bool, r0: int, r1: int) -> tuple[int, list[int]]:
    """Case 4: results withheld in the steady state, and the minutes of S0 that they are of."""
    order = "ORDER BY t0" if ordered else ""
    engine = engine_in("iop" if ordered else "oop", ORDERED.format(r0=r0, r1=r1, order=order))
    out: list[int] = []
    last = 4 * (r0 + r1)
    engine.query("q").subscribe(lambda rows: out.extend(rows["t0"].to_physical().to_list()))
    for minute in range(last + 1):
        for name in ("s0", "s1"):
            engine.push(name, [{"k": 1, "ts": from_ticks(minute * MINUTE)}])
    waiting = held(engine, "Order")
    late = sorted({t // MINUTE - last for t in _seen_after(engine, out)})
    return waiting, late


def _seen_after(engine: LocalEngine, out: list[int]) -> list[int]:
    """The results that come only when the streams end."""
    before = len(out)
    engine.finish()
    return out[before:]
