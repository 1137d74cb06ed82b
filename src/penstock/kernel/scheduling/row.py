"""A row of the scheduling table, and the moves its rule may answer with.

A rule decides from two booleans of the operator that has control: `yield`, its output holds
something for its successor, and `more`, it can consume again. Four words are all that rules are
made of; each gives a move, or None where it does not apply, so that a rule is read as it is told:
`(forward, encore, backtrack)`. Moves are tuples, which are quickly made: there are
several to every row.

    forward     if yield, execute the successor; else the operator whose register this one wrote
    encore      if more, execute the same operator again
    serve       (a Fork) execute the next branch in turn that has something to read
    backtrack   go to the producer of an input that is empty, and decide there, executing nothing

Where there is no producer to go back to, control leaves the unit: `leave`.
Spec: execution-model 2, 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeAlias

from penstock.errors import PenstockBug
from penstock.kernel.graph import GraphNode
from penstock.kernel.operators.fork import Fork


class Execute(NamedTuple):
    """Run `node` next. If it cannot consume anything, its own rule decides instead."""

    node: GraphNode


class Backtrack(NamedTuple):
    """Decide again at `node`, without executing it."""

    node: GraphNode


class Exit(NamedTuple):
    """Give control back to the scheduler; `source` is the one that was found empty, if one was.

    The executor may fill that source and go on instead, which is how a timestamp is generated on
    demand.
    """

    source: GraphNode | None = None


Move: TypeAlias = Execute | Backtrack | Exit


@dataclass(frozen=True)
class Rule:
    """A named way to choose the next move, such as `DFS-NOS`: the first word that applies."""

    name: str
    words: tuple[Word, ...]

    def choose(self, at: Control) -> Move:
        for word in self.words:
            move = word(at)
            if move is not None:
                return move
        raise PenstockBug(f"{self.name} does not say what to do in the end")


@dataclass(frozen=True)
class Row:
    """(state, pred, succ, rule). None stands where there is nobody, or a break in between."""

    state: GraphNode
    preds: tuple[GraphNode | None, ...]  # one per input; none at all for a source
    succ: GraphNode | None
    rule: Rule

    def __str__(self) -> str:
        preds = "|".join(_name(pred) for pred in self.preds) if any(self.preds) else "-"
        return f"({self.state.name}, {preds}, {_name(self.succ)}, {self.rule.name})"


class Control(NamedTuple):
    """Who has control: its rows of the table (a Fork has one per branch).

    `processed` is how many rows of data it has consumed since control came to it; `stuck`, that it
    is known to be unable to consume more.
    """

    rows: tuple[Row, ...]
    processed: int = 0
    stuck: bool = False

    @property
    def node(self) -> GraphNode:
        return self.rows[0].state


Word: TypeAlias = Callable[[Control], Move | None]


def forward(at: Control) -> Execute | None:
    row = at.rows[0]
    if row.succ is not None and row.state.yields(row.succ):
        return Execute(row.succ)
    told = row.state.tsm_successor()
    return Execute(told) if told is not None else None


def encore(at: Control) -> Execute | None:
    node = at.rows[0].state
    return None if at.stuck or not node.more() else Execute(node)


def serve(at: Control) -> Execute | None:
    assert isinstance(at.node.operator, Fork)
    if at.node.output.empty:
        return None  # of a thousand branches none needs to be asked
    turn = at.node.operator.turn % len(at.rows)
    for place in chain(range(turn, len(at.rows)), range(turn)):
        succ = at.rows[place].succ
        if succ is not None and at.node.yields(succ):
            return Execute(succ)
    return None


def backtrack(at: Control) -> Move:
    row = at.rows[0]
    operator = row.state.operator
    if operator is None:
        return leave(at)
    pred = row.preds[operator.starved(row.state.inputs) if len(row.preds) > 1 else 0]
    return Exit() if pred is None else Backtrack(pred)


def leave(at: Control) -> Exit:
    return Exit(at.node if at.node.is_source else None)


def _name(node: GraphNode | None) -> str:
    return "-" if node is None else node.name
