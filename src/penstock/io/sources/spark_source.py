"""FROM any other format: whatever Spark can stream, by its name and options, unchanged."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.io.sources.source_kind import SourceKind


@dataclass(frozen=True)
class SparkSource(SourceKind):
    """A format that only Spark knows; `package`: where it is from, if Spark lacks it."""

    package: str | None = None
    has_files = True
