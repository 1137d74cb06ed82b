"""What the operators of a pipeline have come to: rows by micro-batch, and what they keep."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from penstock.runtime.status import OperatorStatus
from penstock.spark.delivery.batch_counts import ByBatch, numbers_by_batch


def operators_of(groups: Iterable[Iterable[OperatorStatus]]) -> tuple[OperatorStatus, ...]:
    """The figures of operators over all groups, each of which says the same names."""
    found: dict[str, OperatorStatus] = {}
    for each in chain.from_iterable(groups):
        known = found.get(each.name)
        found[each.name] = each if known is None else known + each
    return tuple(found.values())


class OperatorFigures:
    """The operators of one pipeline; of rows, all since it was started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # other threads look at them
        self._latest: tuple[OperatorStatus, ...] = ()
        self._rows: dict[str, tuple[ByBatch[int], ByBatch[int], ByBatch[float]]] = {}

    def note(self, batch: int, operators: tuple[OperatorStatus, ...]) -> None:
        """Take the figures of a batch, perhaps again."""
        for each in operators:
            if each.name not in self._rows:
                seconds = ByBatch(float, float.__add__)
                self._rows[each.name] = (numbers_by_batch(), numbers_by_batch(), seconds)
            rows_in, rows_out, seconds = self._rows[each.name]
            rows_in[batch], rows_out[batch] = each.rows_in, each.rows_out
            seconds[batch] = each.processor_seconds
        with self._lock:
            self._latest = operators or self._latest
            # Operators come and go with queries.
            names = {each.name for each in self._latest}
            self._rows = {name: rows for name, rows in self._rows.items() if name in names}

    def statuses(self) -> tuple[OperatorStatus, ...]:
        with self._lock:
            latest = [(each, self._rows[each.name]) for each in self._latest]
        return tuple(
            replace(
                each,
                rows_in=rows_in.total,
                rows_out=rows_out.total,
                processor_seconds=seconds.total,
            )
            for each, (rows_in, rows_out, seconds) in latest
        )
