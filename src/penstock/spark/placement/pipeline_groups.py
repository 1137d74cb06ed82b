"""Which queries run together in one pipeline.

Queries over the same streams share the reading, the exchange and equal operators, as long as one
way of spreading rows over groups suits them all. Two queries that could only agree on a single
group, where each alone could use many, stay apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.plan.nodes import Node
from penstock.spark.placement.partitioning import Keys, partitioning


@dataclass(frozen=True)
class PipelineGroup:
    """Queries of one pipeline, and by what each of their streams is spread."""

    queries: Mapping[str, Node]
    keys: Mapping[str, Keys]


def assign_pipelines(queries: Mapping[str, Node]) -> list[PipelineGroup]:
    """All queries, distributed over as few pipelines as suit them."""
    found: list[PipelineGroup] = []
    for name, plan in queries.items():
        new = _share({name: plan})
        for place, share in enumerate(found):
            together = _share({**share.queries, name: plan})
            if share.keys.keys() & new.keys.keys() and _suits(together, share, new):
                found[place] = together
                break
        else:
            found.append(new)
    return found


def _share(queries: Mapping[str, Node]) -> PipelineGroup:
    return PipelineGroup(queries, partitioning(*queries.values()))


def _suits(together: PipelineGroup, *alone: PipelineGroup) -> bool:
    """Whether no stream that could be spread has come down to a single group."""
    return all(
        together.keys[stream] != () or keys == ()
        for share in alone
        for stream, keys in share.keys.items()
    )
