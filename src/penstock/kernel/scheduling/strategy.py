"""Strategy: a library of rules, one for each place an operator can have in its fragment.

    role          the operator
    Source        is first: a source of the graph, or stands behind a break
    NOS           has others before and behind it (next-operator selection)
    Sink          is last: feeds sinks only, or stands before a break; it never goes forward
    Source-Sink   is alone
    Fork          shares a buffer among branches

A strategy without a rule for forks schedules paths only: everything else is cut for it with
virtual break nodes.  Spec: execution-model 2, 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from penstock.errors import PenstockBug
from penstock.kernel.scheduling.row import Rule, Word


class Role(Enum):
    """Where an operator stands in its fragment of the graph."""

    SOURCE = "Source"
    NOS = "NOS"
    SINK = "Sink"
    SOURCE_SINK = "Source-Sink"
    FORK = "Fork"

    @classmethod
    def of(cls, *, first: bool, last: bool) -> Role:
        if first:
            return cls.SOURCE_SINK if last else cls.SOURCE
        return cls.SINK if last else cls.NOS


@dataclass(frozen=True)
class Strategy:
    """`prefix` names the rules: `DFS-NOS`; `name` is how people choose it."""

    name: str
    prefix: str
    rules: Mapping[Role, tuple[Word, ...]]

    @property
    def paths_only(self) -> bool:
        return Role.FORK not in self.rules

    def rule(self, role: Role) -> Rule:
        if role not in self.rules:
            raise PenstockBug(f"{self.name} schedules paths only and met a fork")
        return Rule(f"{self.prefix}-{role.value}", self.rules[role])

    def __str__(self) -> str:
        return self.name
