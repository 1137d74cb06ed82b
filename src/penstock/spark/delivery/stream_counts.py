"""What the pipelines that read a stream have counted of it, each by micro-batch."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.runtime.counts import StreamCounts, counts_of
from penstock.spark.delivery.batch_counts import TallyByBatch
from penstock.spark.delivery.totals import Totals, stream_counts


class StreamTallies:
    """The tallies of one stream, by the queries of each pipeline that reads it."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._tallies: dict[str, TallyByBatch] = {}
        self._totals: dict[str, Totals] = {}

    def of(self, pipeline: str, totals: Totals) -> TallyByBatch:
        """Where a pipeline counts; `totals` has what it counted in earlier runs."""
        self._totals[pipeline] = totals
        return self._tallies.setdefault(pipeline, TallyByBatch())

    def forget(self, pipeline: str) -> None:
        """Drop what a pipeline has counted: it starts again from the beginning."""
        self._tallies.pop(pipeline, None)

    def counts(self) -> StreamCounts:
        totals: Mapping[str, Totals] = self._totals
        return counts_of(
            {name: tally.total for name, tally in self._tallies.items()},
            [totals[name].of(stream_counts(self._stream)) for name in self._tallies],
        )
