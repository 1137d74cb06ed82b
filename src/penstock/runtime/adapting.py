"""Adapting: joins of running queries get other plans by themselves, or it is said which and why.

    adapt = off       nothing is looked at
    adapt = advise    EXPLAIN LIVE and the log say what would be better, with numbers
    adapt = on        it is done, as ALTER QUERY would do it

A host asks whenever cells of joins are over (`kernel/statistics/`), with all rows run: then nothing
is on its way. When and what is decided in `optimizer/adaptation/`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.catalog.catalog import QueryEntry
from penstock.errors import NotExecutable
from penstock.optimizer.adaptation.controller import shown
from penstock.optimizer.adaptation.plan_memory import PlanMemory, Plans
from penstock.optimizer.adaptation.watching import Advice, OperatorLoads, Running, Watching
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.statistics import Statistics
from penstock.runtime.status import OperatorStatus

_LOG = logging.getLogger("penstock")
ON = "on"


@dataclass(frozen=True)
class Why:
    """What an alteration is told by: the reason, and how joins are to give way to others.

    `how` empty: as the query's option `migration` has it. `by_itself`: nobody has asked for it, so
    the query must not begin anew.
    """

    reason: str = "ALTER QUERY"
    how: str = ""
    by_itself: bool = False


@dataclass(frozen=True)
class Progress:
    """What a host has come to: its operators, and rows that wait in front of them."""

    plans: Mapping[str, PhysicalPlan]
    bounds: Callable[[QueryEntry], int]  # how far the streams of a query have come
    operators: Iterable[OperatorStatus]
    waiting: Callable[[QueryEntry], float]  # rows in front of the operators of a query

    @cached_property
    def loads(self) -> OperatorLoads:
        return OperatorLoads(
            {each.name: each.rows_out for each in self.operators},
            {each.name: each.state_bytes for each in self.operators},
        )


class Adapting:
    """The queries of one engine; `change` has one of them run its join in another shape."""

    def __init__(self, change: Callable[[QueryEntry, Advice, Why], None]) -> None:
        self._change = change
        self._watching: dict[str, tuple[QueryEntry, Options, Watching]] = {}
        self._told: dict[str, str] = {}  # what was said last of each query

    def advice_of(self, query: str) -> list[str]:
        """What would be better than what runs, in words."""
        _, _, watching = self._watching.get(query, (None, None, None))
        found = [] if watching is None else watching.standing
        return [shown(proposal, names) for names, proposal in found]

    def plans_of(self, queries: Collection[str], before: Plans) -> Plans:
        """What is worth knowing of their plans after a restart: of queries that nobody has looked
        at, what was known before."""
        known = {name: before[name] for name in queries if name in before}
        watched = {name: self._watching[name][2] for name in queries if name in self._watching}
        return {**known, **{name: watching.memory for name, watching in watched.items()}}

    def forget(self, query: str) -> None:
        """A query is gone."""
        self._watching.pop(query, None)
        self._told.pop(query, None)

    def look(
        self,
        queries: Iterable[tuple[QueryEntry, Options]],
        known: Statistics,
        progress: Callable[[], Progress],
        remembered: Plans | None = None,
    ) -> None:
        """Look at queries of which more is known now; those that are just changing are not among
        them. `remembered` is what was known of their plans before a restart."""
        seen: Progress | None = None
        for entry, options in queries:
            watching = self._of(entry, options, (remembered or {}).get(entry.name))
            if not watching.is_news(known.joins):
                continue
            seen = seen or progress()
            bound, waiting = seen.bounds(entry), seen.waiting(entry)
            running = Running(seen.plans[entry.name], bound, seen.loads, waiting)
            for advice in watching.look(running, known):
                self._take(entry, options, advice)

    def _of(
        self, entry: QueryEntry, options: Options, remembered: Mapping[str, PlanMemory] | None
    ) -> Watching:
        was, by, watching = self._watching.get(entry.name, (None, None, None))
        if watching is None or was is None or was.plan is not entry.plan or by != options:
            known = remembered if watching is None else watching.memory
            watching = Watching(entry.plan, options, known)
            self._watching[entry.name] = entry, options, watching
        return watching

    def _take(self, entry: QueryEntry, options: Options, advice: Advice) -> None:
        text = shown(advice.proposal, advice.names)
        if options.adapt != ON:
            self._say(entry.name, f"its joins would be better off as {text}", by=text.split(":")[0])
            return
        try:
            self._change(entry, advice, Why(f"adapt: {text}", advice.how, by_itself=True))
        except NotExecutable as refused:
            why = refused.message
            self._say(entry.name, f"its joins cannot change now to {text}: {why}", by=why)
        else:
            advice.is_carried_out()

    def _say(self, query: str, text: str, by: str) -> None:
        """Log something, unless the same was said last: `by` tells, numbers always differ."""
        if self._told.get(query) != by:
            self._told[query] = by
            _LOG.info("%s: %s", query, text)
