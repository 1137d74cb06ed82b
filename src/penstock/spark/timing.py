"""What may be declared about time and order that this host cannot keep yet, refused in time."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import NotExecutable
from penstock.model.streams import Timing
from penstock.plan.graph import walk
from penstock.plan.nodes import Node, Source
from penstock.settings import Settings


def check_timing(plan: Node) -> None:
    """Refuse a query over a stream whose time is tied to the clock, or counted in rows."""
    for node in walk(plan):
        if isinstance(node, Source) and replace(node.stream.timing, max_ahead=None) != Timing():
            raise NotExecutable(
                f"cannot run over `{node.stream.name}` on Spark: it is declared "
                f"{node.stream.disorder()}",
                hint="SLACK in time, ORDERED, PUNCTUATED, INTERNAL and MAX AHEAD run; "
                "the rest runs in this process (--local)",
            )


def check_settings(settings: Settings) -> None:
    """Refuse settings that only the host in this process follows."""
    for name, usual in (("late", "keep"), ("mode", "oop")):
        value = getattr(settings, name)
        if value != usual:
            raise NotExecutable(
                f"`{name} = {value}` does not run on Spark",
                hint=f"SET {name} = {usual}, or run in this process (--local)",
            )
