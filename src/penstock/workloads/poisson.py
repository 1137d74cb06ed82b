"""Poisson streams: keys and values, for experiments in which only rate, skew and disorder matter.

    key BIGINT, value DOUBLE or BIGINT, ts TIMESTAMP

Spec: timestamps, execution-model and dynamic-optimization run on such streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from penstock.model.schema import Column
from penstock.model.types import Type
from penstock.workloads.draws import Integers
from penstock.workloads.keys import KeyDistribution
from penstock.workloads.options import WorkloadOptions
from penstock.workloads.workload import Values, Workload, declared_columns

_VALUES = 1 << 20
_FRACTION = 1 << 10


@dataclass(frozen=True, kw_only=True)
class Poisson(Workload):
    """Values are evenly spread over 0 … 1024 (DOUBLE) or 0 … 1048575 (BIGINT)."""

    keys: KeyDistribution = field(default_factory=lambda: KeyDistribution(100))
    value: Type = Type.DOUBLE

    name: ClassVar[str] = "poisson"

    @classmethod
    def from_options(cls, options: WorkloadOptions, seed: int) -> Workload:
        return cls.with_own(
            options,
            seed,
            keys=KeyDistribution.from_options(options, count=100, skew=0.0),
            value=Type[options.choice("value", ("double", "bigint"), "double").upper()],
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        return declared_columns(f"key BIGINT, value {self.value}, ts TIMESTAMP")

    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        count = len(times)
        values = self.draws.below(_VALUES, "value", first, count)
        return {
            "key": self.keys.draw(self.draws, "key", first, count),
            # Few binary digits: sums come out equal in whatever order they are added.
            "value": values / _FRACTION if self.value is Type.DOUBLE else values,
        }
