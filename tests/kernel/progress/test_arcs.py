"""Bounds by arc: what goes into a register is about all rows."""

from __future__ import annotations

from penstock.kernel.graph import Graph
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.order import Order
from penstock.kernel.progress.arcs import ArcOutput
from penstock.kernel.progress.eqg import draw_arcs
from penstock.model.punctuation import Punctuation


def test_a_bound_on_some_rows_travels_as_punctuation() -> None:
    graph = Graph()
    meld = graph.add(Meld(2), [graph.add_source("a"), graph.add_source("b")])
    order = graph.add(Order("ts"), [meld])
    draw_arcs(graph)
    out = ArcOutput(meld.output, meld.arcs)
    some, every = Punctuation("ts", 9, (("k", (1,)),)), Punctuation("ts", 5)
    out.punctuation(some)
    assert meld.output.items == [some] and not order.active
    order.inputs[0].take()
    out.punctuation(every)
    assert meld.output.empty and order.active == [(0, every)]
