"""Following: running pipelines follow what statements have changed, all at once.

Statements that were given together change the catalog one by one. What they mean for pipelines is
noted, and carried out when the last one is through: a query that is dropped and declared again is
replaced, and others that come and go with it do so with the same batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.catalog.catalog import QueryEntry
from penstock.errors import NotExecutable
from penstock.optimizer.options import Options
from penstock.runtime.adapting import Why
from penstock.spark.changing import change, is_other
from penstock.spark.next_program import Altered, Coming
from penstock.spark.placement.joining import Joining, joining

if TYPE_CHECKING:
    from penstock.spark.engine import Engine
    from penstock.spark.query import SparkQuery
    from penstock.spark.running_pipeline import RunningPipeline


class Following:
    """What the pipelines of one engine have not followed yet."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._dropped: dict[RunningPipeline, list[SparkQuery]] = {}
        self._altered: dict[SparkQuery, Altered] = {}
        #: Why queries have a pipeline of their own.
        self.apart: dict[str, str] = {}

    def drop(self, running: RunningPipeline, query: SparkQuery) -> None:
        """A query is to leave its pipeline."""
        self._dropped.setdefault(running, []).append(query)

    def alter(
        self, running: RunningPipeline, query: SparkQuery, options: Options, why: Why
    ) -> None:
        """A query is to run by other options; NotExecutable if it cannot."""
        altered = Altered(query.plan, options, why)
        if is_other(running, query, altered):
            self._altered[query] = altered
        else:
            self._altered.pop(query, None)

    def adapt(
        self, running: RunningPipeline, query: SparkQuery, options: Options, why: Why
    ) -> None:
        """Have a query run in another way from the batch on that is about to begin."""
        altered = Altered(query.plan, options, why)
        if not is_other(running, query, altered):
            raise NotExecutable(f"query `{query.name}` runs so already")
        change(running, (), {query: altered})()

    def joining(self, entry: QueryEntry, replaced: SparkQuery | None = None) -> Joining:
        """Which running pipeline a query joins."""
        engine = self._engine
        return joining(entry, engine.catalog.options_of(entry), engine._running, replaced)

    def follow(self) -> Callable[[], str]:
        """Let queries that were dropped leave, and those that were declared begin.

        Gives what waits a moment until batches that had begun before are committed, and changes
        logged; it says what takes effect later.
        """
        engine, waiting = self._engine, list[Callable[[], str]]()
        dropped, self._dropped = self._dropped, {}
        altered, self._altered = self._altered, {}
        changes = self._changes(dropped, altered)
        for running in {**dropped, **changes}:
            names = [query.name for query in dropped.get(running, ())]
            if running not in changes and running.group.queries.keys() <= set(names):
                engine._running = [each for each in engine._running if each is not running]
                waiting.append(engine._stops.stop(running))
            else:
                waiting.append(change(running, names, changes.get(running, {})))
        if engine._planning.waiting():
            engine._start(engine._planning.planned())

        return lambda: "\n".join(dict.fromkeys(filter(None, [each() for each in waiting])))

    def _changes(
        self,
        dropped: dict[RunningPipeline, list[SparkQuery]],
        altered: dict[SparkQuery, Altered],
    ) -> dict[RunningPipeline, dict[SparkQuery, Coming | Altered]]:
        """By pipeline, the queries that come to it, and those that are altered there."""
        engine = self._engine
        gone = {query.name.lower(): query for queries in dropped.values() for query in queries}
        changes: dict[RunningPipeline, dict[SparkQuery, Coming | Altered]] = {}
        for entry in engine._planning.waiting():
            found = self.joining(entry, gone.get(entry.name.lower()))
            self.apart[entry.name] = found.apart
            if found.pipeline is not None and found.coming is not None:
                changes.setdefault(found.pipeline, {})[engine._queries[entry.name]] = found.coming
        for query, each in altered.items():
            running = engine._running_of(query.name)
            if running is not None and engine._queries[query.name] is query:  # it was not dropped
                changes.setdefault(running, {})[query] = each
        return changes
