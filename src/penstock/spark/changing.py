"""Changes of a pipeline that runs: queries go, others come, and some run by other options.

All that is asked for together takes effect with one batch, the next that begins (`epochs.py`). What
both programs compute goes on (`next_program.py`). Once it is in the log, what a statement has
changed stays changed, whatever is killed then. That is when the batch before is committed. Whoever
asks waits for it, but not long: then the statement is acknowledged, with when it takes effect.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.errors import HostError, NotExecutable
from penstock.optimizer.alter import takeovers
from penstock.spark.catching_up.standing import how_they_came
from penstock.spark.coming import came, costs_of, how_kept
from penstock.spark.control.batch_turns import delivers
from penstock.spark.delivery.batch_delivery import Opened
from penstock.spark.next_program import Altered, Coming, next_program

if TYPE_CHECKING:
    from penstock.spark.query import SparkQuery
    from penstock.spark.running_pipeline import RunningPipeline

_LOG = logging.getLogger("penstock")

#: Seconds until a statement is acknowledged that does not take effect meanwhile.
PATIENCE = 0.5


def is_other(running: RunningPipeline, query: SparkQuery, altered: Altered) -> bool:
    """Whether a query of a pipeline would be computed in another way by other options.

    NotExecutable if it could not run there by them; or if it would begin anew, and nobody has asked
    for the change.
    """
    options = altered.options
    name, there = query.name, running.program
    now, plan = there.plans[name], query.plan
    program = next_program(there, running.next_change, (), {name: altered}, running.known)
    wanted = program.plans[name]
    # What was chosen by cost may be chosen again, what was named may not.
    if wanted == now and costs_of(wanted) == costs_of(now):
        return False
    reason = running.why_apart(plan, options)
    if altered.why.by_itself and wanted != now and name not in program.altered:
        takeovers(name, now, wanted)  # which says why it cannot
    if reason:
        raise NotExecutable(
            f"query `{name}` cannot be altered so while it runs: {reason}",
            hint=f"SET the option and CREATE OR REPLACE QUERY {name}: it gets a pipeline of "
            "its own, which reads its streams from their beginning",
        )
    return True


def change(
    running: RunningPipeline,
    dropped: Collection[str],
    changes: Mapping[SparkQuery, Coming | Altered],
) -> Callable[[], str]:
    """Change a pipeline as soon as can be.

    Gives what waits a moment until the batch before is committed, and says when the change takes
    effect if it is not; empty: it is in the log.
    """
    epochs, delivery = running.pipeline.epochs, running.delivery
    assert epochs is not None
    opened: dict[SparkQuery, Opened] = {}
    named = {query.name: each for query, each in changes.items()}
    added = [query for query, each in changes.items() if isinstance(each, Coming)]
    plans = {name: each.plan for name, each in named.items()}
    try:
        for query in added:
            opened[query] = delivery.hold(query)
        with epochs.changing:  # queries that have caught up change it, too
            before = epochs.program
            known = running.known
            program = next_program(before, running.next_change, dropped, named, known)

            def then(batch: int) -> None:
                delivery.change(batch, dropped, opened, program)
                stay = [name for name, each in named.items() if isinstance(each, Altered)]
                delivery.go_on(batch, stay, program)

            batch = epochs.change(program, delivery.noted(dropped, opened), then)
    except BaseException:
        for query, sink in opened.items():
            delivery.let_go(query, sink)
        raise
    left = {name: each for name, each in running.group.queries.items() if name not in dropped}
    running.group = replace(running.group, queries={**left, **plans})
    running.enabling.follow(program.live.queries, program.merging)
    for query in added:
        query.pipeline = running
    running.pipeline.control.send({})  # the batch in which it takes effect, if nothing comes
    takes_effect = f"takes effect with micro-batch {batch}, when the one that runs is over"
    for name in dropped:
        running.came.pop(name, None)
    running.coming.update(dict.fromkeys(named, (batch, takes_effect)))
    again = {n for n, each in named.items() if isinstance(each, Coming) and each.again}
    running.from_start = running.from_start.difference(dropped, named) | again

    def is_settled(seconds: float = math.inf) -> bool:
        is_logged = running.batches.wait_until_over(
            batch - 1, lambda: running.is_active, epochs.is_logged, seconds
        )
        if not is_logged and running.is_active and not delivers():
            return False
        if not (is_logged or running.is_active):
            names = ", ".join([*dropped, *named])
            raise HostError(
                f"the pipeline has ended before the change of {names} was in its checkpoint",
                hint="start(accept_changes=True) goes on with the queries as they are declared "
                "now; what only those before have kept is forgotten then",
            ) from running.failure()
        newest = running.enabling.newest()
        for name, plan in plans.items():
            if running.coming.get(name, (batch, ""))[0] == batch:
                running.coming.pop(name, None)
            if name not in running.group.queries:
                continue  # another statement has dropped it
            running.came[name] = came(plan, batch, how_kept(name, program, before), newest)
            _LOG.info("%s: %s", name, how_they_came(running)[name])
        return True

    def settle() -> None:
        try:
            is_settled()
        except HostError as error:
            _LOG.warning("%s", error)

    def wait() -> str:
        if is_settled(PATIENCE):
            return ""
        threading.Thread(target=settle, name="penstock-change", daemon=True).start()
        return takes_effect

    return wait


def join(running: RunningPipeline, changes: Collection[int]) -> int:
    """Have queries that have caught up stand among the others, from the batch on that it gives.

    They have seen all rows of the batch that is being delivered, as all others will have.
    """
    epochs = running.pipeline.epochs
    assert epochs is not None
    with epochs.changing:
        before = epochs.program
        program = before.with_catching_up(set(before.catching_up).difference(changes))
        batch = epochs.change(program, running.delivery.noted(), lambda batch: None)
    running.enabling.follow(program.live.queries, program.merging)
    return batch
