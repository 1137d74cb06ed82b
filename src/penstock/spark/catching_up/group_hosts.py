"""GroupHosts: the graphs of one partition group, while queries catch up.

One is that of the queries that read what comes (`Program.live`); each change whose queries catch up
has another, fed with slices of the past. State is kept apart in the same way:

    states, buffers, changed, handed, migrating, measured    of the first
    behind                                                   the same of each other, by change

When queries have caught up, the program does not have their change among those any more. Then the
first graph is built with their operators in it, and finds what they have kept (`together`): state
lies under the fingerprints of operators, wherever they ran. What they read from now on are the
sources of the first graph, which have seen the same rows; their bounds are as high, or higher by
what came from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.errors import PenstockBug
from penstock.optimizer.physical import Program
from penstock.runtime.arrivals import Arrivals
from penstock.runtime.snapshot import Directory
from penstock.spark.delivery.group_reports import GroupReport
from penstock.spark.group_host import Answers, GroupHost

#: What is kept of a group's queries that catch up, by change.
BEHIND = "behind"


class GroupHosts:
    """Runs one group's share of a program; `kept` is what the group has kept, if it has."""

    def __init__(self, program: Program, kept: Mapping[str, Any] | None = None) -> None:
        self.program = program
        self.live = _host(program.live, kept)
        behind = {} if kept is None else kept.get(BEHIND, {})
        self.behind = {
            change: _host(program.since(change), behind.get(str(change)))
            for change in program.catching_up
        }

    def process(
        self, arrivals: Sequence[Arrivals], again: Mapping[int, Sequence[Arrivals]]
    ) -> Answers:
        """Carry a micro-batch through: what comes, and by change what is read again.

        Rows that do not go in again did not go in when they came, and were counted then.
        """
        answers = self.live.process(arrivals)
        for change, read in again.items():
            answers.results |= self.behind[change].process(read).results
        return answers

    def hosts(self) -> Iterator[tuple[str, GroupHost]]:
        """All of them, the first under no name."""
        yield "", self.live
        for change, host in self.behind.items():
            yield str(change), host

    def hand_over(self) -> None:
        for _, host in self.hosts():
            host.hand_over()

    def report(self, answers: Answers) -> GroupReport:
        """The report of the batch that was answered."""
        found = self.live.report(answers)
        for host in self.behind.values():
            more = host.report(answers)
            found = replace(
                found,
                operators=[*found.operators, *more.operators],
                changed=_both(found.changed, more.changed),
                handed={**found.handed, **more.handed},
                migrations=[*found.migrations, *more.migrations],
                changing=[*found.changing, *more.changing],
            )
        return found


def together(directory: Directory, catching_up: Collection[int]) -> tuple[Directory, bool]:
    """What a group has kept, with what queries have that caught up, and whether any did."""
    kept: Mapping[str, Directory] = directory.get(BEHIND, {})
    come = [each for change, each in kept.items() if int(change) not in catching_up]
    if not come:
        return directory, False
    found = {**directory, BEHIND: {c: k for c, k in kept.items() if int(c) in catching_up}}
    for each in come:
        found["states"] = {**found["states"], **_of_operators(each["states"])}
        names = {name.removeprefix(_OPERATOR) for name in each["states"]}
        found["buffers"] = {
            **found["buffers"],
            **{name: buffer for name, buffer in each["buffers"].items() if name in names},
        }
        waiting = (b["items"] for name, b in each["buffers"].items() if name not in names)
        if any(waiting):
            raise PenstockBug("rows wait in front of operators that have caught up")
        found["changed"] = _both(found["changed"], each["changed"])
        found["handed"] = {**found.get("handed", {}), **each["handed"]}
    return found, True


_OPERATOR = "operator "


def _of_operators(states: Mapping[str, Any]) -> dict[str, Any]:
    return {name: state for name, state in states.items() if name.startswith(_OPERATOR)}


def _host(program: Program, kept: Mapping[str, Any] | None) -> GroupHost:
    if kept is None:
        return GroupHost(program)
    migrating, measured = kept.get("migrating", ()), kept.get("measured")
    return GroupHost(program, kept["changed"], kept.get("handed", {}), migrating, measured)


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Plans that were chosen anew, of both."""
    return {key: {**one.get(key, {}), **other.get(key, {})} for key in {**one, **other}}
