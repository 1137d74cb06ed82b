"""What a graph keeps, as plain data: one format for every host.

A directory, which JSON can hold, and the segments it refers to, each once and under its id:

    states     by name: facts, and for each table its segments as [id, rows purged from its front]
    buffers    by operator: unread items (a segment's id, or punctuation), how far each reader is,
               and the registers that were written and not used yet

Ids name one content for ever. So a host that keeps segments in a store writes those that are new,
and one that has them at hand need not read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from penstock.kernel.block import Block
from penstock.kernel.buffer import Item
from penstock.kernel.graph import Graph
from penstock.kernel.segments import Segment
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation, to_json

Directory: TypeAlias = dict[str, Any]
States: TypeAlias = Iterable[tuple[str, State]]

#: The segment that a waiting block is kept as.
_BLOCKS: WeakKeyDictionary[Block, Segment] = WeakKeyDictionary()


def describe(states: States, graph: Graph) -> tuple[Directory, dict[int, Segment]]:
    """The directory of what is there now, and the segments by id.

    It is to be written at once: operators go on changing their facts.
    """
    segments: dict[int, Segment] = {}
    directory: Directory = {"states": {}, "buffers": {}}
    for name, state in states:
        tables = {}
        for table, content in state.tables():
            tables[table] = [[segment.id, segment.purged] for segment in content.segments]
            segments.update((segment.id, segment) for segment in content.segments)
        directory["states"][name] = {"facts": state.facts(), "tables": tables}
    for name, node in graph.nodes.items():
        items = [] if node.is_fork else node.output.items
        if items or node.active:
            directory["buffers"][name] = {
                "items": [_pack(item, segments) for item in items],
                "places": {} if node.is_fork else node.output.places(),
            }
        if node.active:
            active = [[port, _pack(item, segments)] for port, item in node.active]
            directory["buffers"][name]["active"] = active
    return directory, segments


def restore(
    states: States, graph: Graph, directory: Directory, segment: Callable[[int, int], Segment]
) -> None:
    """Put a directory's content into a graph that has not run yet.

    Operators that are not in the directory begin beside those that are. `segment` gives one by its
    id, with so many rows purged from its front.
    """
    for name, state in states:
        kept = directory["states"].get(name)
        if kept is None:
            continue
        for fact, value in kept["facts"].items():
            setattr(state, fact, value)
        state.restore_tables(
            {table: [segment(*each) for each in parts] for table, parts in kept["tables"].items()}
        )
    for name, operator in graph.operators():
        if name not in directory["states"]:
            operator.begin()
    for name, node in graph.nodes.items():
        kept = directory["buffers"].get(name)
        if kept is None:
            continue
        if not node.is_fork:  # its buffer is its producer's
            items = [_unpack(item, segment) for item in kept["items"]]
            node.output.refill(items, kept["places"])
        node.active = [(port, Punctuation(*item)) for port, item in kept.get("active", ())]


def renamed(directory: Directory, names: Mapping[str, str], moved: tuple[str, str]) -> Directory:
    """A directory for a graph in which operators have other names.

    Whoever read the first of `moved` now reads the second, and finds there what it has not read.
    Everything stands under its old name as well: a graph in which queries share operators may still
    have those, and a twin of each under the new name. What is there under a new name already stays.
    """
    before, after = moved
    buffers = {
        name: {**kept, "places": _places(kept["places"], names)}
        for name, kept in directory["buffers"].items()
    }
    twins = {names[name]: kept for name, kept in buffers.items() if name in names}
    if before in buffers and not buffers.get(after, {}).get("items"):
        buffers.pop(after, None)
        # Registers are the operator's own.
        twins[after] = {key: buffers[before][key] for key in ("items", "places")}
    # Operators go on changing their facts, each its own.
    states = {name: deepcopy(kept) for name, kept in directory["states"].items()}
    others = {_operator(name, names): kept for name, kept in directory["states"].items()}
    return {**directory, "states": {**others, **states}, "buffers": {**twins, **buffers}}


def _places(places: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The places of readers under their old names, and under their new ones."""
    return {**{_reader(reader, names): at for reader, at in places.items()}, **places}


def _operator(state: str, names: Mapping[str, str]) -> str:
    kind, _, name = state.partition(" ")
    return f"{kind} {names.get(name, name)}"


def _reader(cursor: str, names: Mapping[str, str]) -> str:
    name, _, port = cursor.rpartition(" ")
    return f"{names.get(name, name)} {port}"


def _pack(item: Item, segments: dict[int, Segment]) -> Any:
    if isinstance(item, Punctuation):
        return [item.on, item.bound, to_json(item.where)]
    segment = _BLOCKS.setdefault(item, Segment(item.rows))
    segments[segment.id] = segment
    return segment.id


def _unpack(item: Any, segment: Callable[[int, int], Segment]) -> Item:
    if not isinstance(item, int):
        return Punctuation(*item)
    found = segment(item, 0)
    block = Block(found.whole)
    _BLOCKS[block] = found
    return block
