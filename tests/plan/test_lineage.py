"""Every node knows its children, where its columns come from, its order, and what it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.model.aggregates import Aggregate
from penstock.model.exploding import Exploding
from penstock.model.expressions import Call, Expression, Literal, Named, Ref
from penstock.model.joins import JoinKind
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.tables import StaticTable
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.plan.nodes import Node
from penstock.windows import Sliding, sliding_band

COLUMNS = (Column("k", Type.INT), Column("v", Type.INT), Column("ts", Type.TIMESTAMP))
K, V, TS = (Ref(column.name, column.type) for column in COLUMNS)


def source(name: str, **changes: object) -> nodes.Source:
    stream = Stream(name, COLUMNS, TimestampKind.EXTERNAL, "ts", slack=0)
    return nodes.Source(replace(stream, **changes))  # type: ignore[arg-type]


A, B, LATE = source("a"), source("b"), source("late", slack=5)
TABLE = StaticTable("t", (Column("id", Type.INT), Column("name", Type.STRING)))
MORE: Expression = Call("+", (V, Literal(1, Type.INT)))

SELECT = nodes.Select(A, Call(">", (V, Literal(1, Type.INT))))
PROJECT = nodes.Project(A, (Named("w", V), Named("more", MORE), Named("time", TS)))
UNION = nodes.Union((A, PROJECT.input, B))
RENAMED = nodes.Union(
    (
        nodes.Project(A, (Named("x", V), Named("ts", TS))),
        nodes.Project(B, (Named("y", K), Named("at", TS))),
    )
)
ORDERED = nodes.Ordered(LATE, "ts")
COUNTED = nodes.WindowAggregate(
    A, Sliding("ts", 10, 10), ("k",), (nodes.Result("total", Aggregate("sum", V)),)
)
UNEQUAL = Call("<", (Ref("a.v", Type.INT), Ref("b.v", Type.INT)))
BAND = sliding_band(5, 5)
JOIN = nodes.Join(
    (A, B), ("a", "b"), (nodes.Edge("a.ts", "b.ts", BAND),), (("a.k", "b.k"),), (UNEQUAL,)
)
LATER = nodes.Project(
    JOIN,
    (Named("later", Call("greatest", tuple(Ref(f"{n}.ts", Type.TIMESTAMP) for n in "ab"))),),
)
THREE = nodes.Join(
    (A, B, LATE),
    ("a", "b", "c"),
    (nodes.Edge("a.ts", "b.ts", BAND), nodes.Edge("b.ts", "c.ts", BAND)),
    (("a.k", "b.k"), ("b.k", "c.k")),
    (Call("<", (Ref("a.v", Type.INT), Ref("c.v", Type.INT))),),
)
LOOKED_UP = nodes.TableJoin(A, TABLE, ("a", "t"), (("k", "id"),))
LISTS = Column("list", Type("ARRAY<INT>"))
EXPLODED = nodes.Explode(
    source("a", columns=(*COLUMNS, LISTS)),
    ("k", "ts"),
    Exploding(Ref(LISTS.name, LISTS.type), ("element",)),
)


def kind(join: nodes.Join | nodes.TableJoin, of: JoinKind) -> Node:
    return replace(join, kind=of)


@pytest.mark.parametrize(
    ("node", "column", "origins"),
    [
        (A, "k", ()),
        (SELECT, "v", ((0, "v"),)),
        (PROJECT, "w", ((0, "v"),)),
        (PROJECT, "more", ()),
        (ORDERED, "v", ((0, "v"),)),
        (RENAMED, "x", ((0, "x"), (1, "y"))),
        (EXPLODED, "k", ((0, "k"),)),
        (EXPLODED, "element", ()),
        (COUNTED, "k", ((0, "k"),)),
        (COUNTED, "total", ()),
        (COUNTED, "window_end", ()),
        (JOIN, "a.v", ((0, "v"),)),
        (JOIN, "b.k", ((1, "k"), (0, "k"))),
        (THREE, "c.k", ((2, "k"), (0, "k"), (1, "k"))),
        (kind(JOIN, JoinKind.LEFT), "a.k", ((0, "k"), (1, "k"))),
        (kind(JOIN, JoinKind.LEFT), "b.k", ()),
        (kind(JOIN, JoinKind.FULL), "a.v", ()),
        (kind(JOIN, JoinKind.ANTI), "a.v", ((0, "v"),)),
        (LOOKED_UP, "a.v", ((0, "v"),)),
        (LOOKED_UP, "t.id", ((0, "k"),)),
        (LOOKED_UP, "t.name", ()),
        (kind(LOOKED_UP, JoinKind.LEFT), "t.id", ()),
    ],
)
def test_a_column_is_traced_to_those_it_is_taken_from(
    node: Node, column: str, origins: tuple[tuple[int, str], ...]
) -> None:
    assert node.lineage(column) == origins


@pytest.mark.parametrize(
    ("node", "order"),
    [
        (A, "ts"),
        (LATE, None),
        (SELECT, "ts"),
        (PROJECT, "time"),
        (nodes.Project(A, (Named("w", V),)), None),
        (UNION, "ts"),
        (RENAMED, "ts"),
        (nodes.Union((A, LATE)), None),
        (ORDERED, "ts"),
        (COUNTED, None),
        (JOIN, "a.ts b.ts"),  # of the greater one
        (LATER, "later"),
        (nodes.Project(JOIN, (Named("t", Ref("a.ts", Type.TIMESTAMP)),)), None),
        (kind(JOIN, JoinKind.LEFT), None),
        (LOOKED_UP, "a.ts"),
        (EXPLODED, "ts"),
        (replace(EXPLODED, kept=("k",)), None),
    ],
)
def test_a_node_knows_the_order_of_its_rows(node: Node, order: str | None) -> None:
    assert node.order == frozenset(() if order is None else order.split())


@pytest.mark.parametrize(
    ("node", "used", "reads"),
    [
        (A, {"k"}, []),
        (SELECT, {"k"}, [{"k", "v"}]),
        (PROJECT, {"more"}, [{"v"}]),
        (ORDERED, {"k"}, [{"k", "ts"}]),
        (RENAMED, {"x"}, [{"x"}, {"y"}]),
        (COUNTED, {"window_end"}, [{"k", "v", "ts"}]),
        (JOIN, {"b.ts"}, [{"k", "v", "ts"}, {"k", "v", "ts"}]),
        (replace(JOIN, conditions=()), {"b.v"}, [{"k", "ts"}, {"k", "v", "ts"}]),
        (THREE, {"b.v"}, [{"k", "v", "ts"}, {"k", "v", "ts"}, {"k", "v", "ts"}]),
        (replace(THREE, conditions=()), {"b.v"}, [{"k", "ts"}, {"k", "v", "ts"}, {"k", "ts"}]),
        (LOOKED_UP, {"t.name"}, [{"k"}]),
        (EXPLODED, {"k", "element"}, [{"k", "list"}]),
    ],
)
def test_a_node_knows_what_it_reads(node: Node, used: set[str], reads: list[set[str]]) -> None:
    assert node.reads(frozenset(used)) == tuple(map(frozenset, reads))


@pytest.mark.parametrize(
    "node",
    [SELECT, PROJECT, UNION, ORDERED, COUNTED, JOIN, THREE, LOOKED_UP],
    ids=lambda n: n.label,
)
def test_a_node_can_stand_over_other_children(node: Node) -> None:
    assert node.with_children(node.children) is node
    others = tuple(source(f"other{number}", slack=5) for number, _ in enumerate(node.children))
    moved = node.with_children(others)
    assert moved.children == others
    assert moved.with_children(node.children) == node


def test_a_node_that_cannot_tell_cannot_be_made() -> None:
    class Mute(Node):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Mute()  # type: ignore[abstract]
