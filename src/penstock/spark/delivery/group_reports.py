"""What the groups of a pipeline say of a micro-batch, as one report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.model.releases import Releases
from penstock.runtime.counts import Tally
from penstock.runtime.migrations import Migration, in_all_groups
from penstock.spark.delivery.delivery import BatchReport
from penstock.spark.delivery.operator_figures import operators_of


def report_of(batch: int, groups: Sequence[Mapping[str, Any]]) -> BatchReport:
    """The report on a batch, by what each group says of it in JSON."""
    # How far whole streams have come, every group says alike.
    whole = groups[0] if groups else {"rows": {}, "bounds": {}, "newest": {}, "own": {}}
    return BatchReport(
        batch,
        whole["rows"],
        whole["bounds"],
        whole["newest"],
        {name for group in groups for name in group["awaited"]},
        releases_of(group["releases"] for group in groups),
        tallies_of([group["tallies"] for group in groups], whole["rows"]),
        operators=operators_of(group["operators"] for group in groups),
        changed=[group["changed"] for group in groups if group["changed"]],
        migrations=in_all_groups(
            Migration.from_json(each) for group in groups for each in group.get("migrations", ())
        ),
        own=whole["own"],
        changing={query for group in groups for query in group.get("changing", ())},
        joins=[group["joins"] for group in groups if group["joins"]],
    )


def releases_of(groups: Iterable[Mapping[str, Any]]) -> dict[str, Releases]:
    """By query, what any group waits for; each group says it in JSON."""
    found: dict[str, list[Releases]] = {}
    for group in groups:
        for query, said in group.items():
            found.setdefault(query, []).append(Releases.from_json(said))
    return {query: Releases.of_all(parts) for query, parts in found.items()}


def tallies_of(groups: Iterable[Mapping[str, Any]], rows: Mapping[str, int]) -> dict[str, Tally]:
    """By stream, what all groups have counted; `rows` of the streams were read."""
    found = {name: Tally() for name in rows}
    for group in groups:
        for name, facts in group.items():
            found[name].add(Tally(**facts))
    for name, tally in found.items():
        tally.read = rows[name]
    return found
