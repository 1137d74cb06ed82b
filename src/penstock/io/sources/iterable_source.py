"""Streams whose rows the program takes out of an iterable (`io/iterables.py`)."""

from __future__ import annotations

from penstock.io.sources.source_kind import SourceKind
from penstock.model.streams import Stream


class IterableSource(SourceKind):
    """Hosts feed the rows themselves, and know when there are no more."""

    def is_finite(self, stream: Stream) -> bool:
        return True
