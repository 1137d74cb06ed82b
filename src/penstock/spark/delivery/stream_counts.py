"""What the pipelines that read a stream have counted of it, each by micro-batch."""

from __future__ import annotations

from penstock.model.streams import Stream
from penstock.runtime.counts import StreamCounts, Tally, counts_of
from penstock.runtime.late_warnings import LateWarnings
from penstock.spark.delivery.batch_counts import ByBatch, tallies_by_batch
from penstock.spark.delivery.totals import Totals, stream_counts


class StreamTallies:
    """The tallies of one stream, by the queries of each pipeline that reads it."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._warnings = LateWarnings()
        self._counted: dict[str, tuple[ByBatch[Tally], Totals]] = {}

    def of(self, pipeline: str, totals: Totals) -> ByBatch[Tally]:
        """Where a pipeline counts; `totals` has what it counted in earlier runs."""
        known, _ = self._counted.get(pipeline, (tallies_by_batch(), totals))
        self._counted[pipeline] = (known, totals)
        return known

    def warn(self, stream: Stream, pipeline: str) -> None:
        """Warn if rows that a pipeline has counted are late."""
        tallies, _ = self._counted[pipeline]
        self._warnings.look(stream, tallies.total)

    def forget(self, pipeline: str) -> None:
        """Drop what a pipeline has counted: it starts again from the beginning."""
        self._counted.pop(pipeline, None)

    def counts(self) -> StreamCounts:
        counted = dict(self._counted)  # other threads add to it
        return counts_of(
            {name: tallies.total for name, (tallies, _) in counted.items()},
            [totals.of(stream_counts(self._stream)) for _, totals in counted.values()],
        )
