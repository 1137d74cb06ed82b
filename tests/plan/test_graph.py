"""Equal sub-plans are one node."""

from __future__ import annotations

from penstock.model.expressions import Call, Literal, Named, Ref
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.plan.explain import explain_graph
from penstock.plan.graph import columns_used, rewrite, trace, walk
from penstock.plan.nodes import Node, Project, Select, Source, Union
from penstock.plan.picture import to_dot, to_svg


def stream(name: str) -> Stream:
    columns = (Column("x", Type.INT), Column("ts", Type.TIMESTAMP))
    return Stream(name, columns, TimestampKind.EXTERNAL, "ts", slack=0)


def above(name: str, limit: int) -> Node:
    return Select(Source(stream(name)), Call(">", (Ref("x", Type.INT), Literal(limit, Type.INT))))


def only_x(node: Node) -> Node:
    return Project(node, (Named("x", Ref("x", Type.INT)),))


def only_x_and_ts(node: Node) -> Node:
    names = {"x": Type.INT, "ts": Type.TIMESTAMP, "row_num": Type.BIGINT}
    return Project(node, tuple(Named(name, Ref(name, of)) for name, of in names.items()))


def test_equal_sub_plans_built_apart_are_one_node() -> None:
    met = walk(only_x(above("a", 1)), above("a", 1))
    assert met == [Source(stream("a")), above("a", 1), only_x(above("a", 1))]


def test_a_different_constant_is_a_different_node() -> None:
    assert len(walk(above("a", 1), above("a", 2))) == 3


def test_walking_a_plan_meets_each_node_once_inputs_first() -> None:
    plan: Node = above("a", 1)
    for _ in range(10):  # 2**10 paths, 12 nodes
        plan = Union((plan, plan))
    met = walk(plan)
    assert len(met) == 12
    assert isinstance(met[0], Source)


def test_a_plan_is_rewritten_once_for_equal_nodes_and_stays_the_same_where_nothing_changes() -> (
    None
):
    plan = Union((above("a", 1), only_x_and_ts(above("a", 1))))
    seen: list[Node] = []

    def note(node: Node) -> Node:
        seen.append(node)
        return node

    assert rewrite(plan, note) == plan
    assert seen == list(walk(plan))
    moved = rewrite(plan, lambda node: Source(stream("b")) if isinstance(node, Source) else node)
    assert moved == Union((above("b", 1), only_x_and_ts(above("b", 1))))


def test_a_column_is_traced_down_to_where_rows_come_together() -> None:
    assert trace(only_x(above("a", 1)), "x", Source) == (Source(stream("a")), "x")
    assert trace(Union((above("a", 1), above("b", 1))), "x", Source) is None


def test_columns_that_any_reader_needs_are_used() -> None:
    used = columns_used([only_x(above("a", 1)), above("b", 1)])
    assert used[Source(stream("a"))] == {"x"}
    assert used[Source(stream("b"))] == {"x", "ts", "row_num"}


def test_what_is_shared_is_written_once() -> None:
    text = explain_graph({"p": only_x(above("a", 1)), "q": above("a", 1)})
    assert text == (
        "Query p\n"
        "  Project x\n"
        "    #1 Select x > 1\n"
        "      Source a (by ts, ordered)\n"
        "\n"
        "Query q\n"
        "  #1 (above)"
    )


def test_dot_has_an_arc_for_every_input_and_every_query() -> None:
    dot = to_dot({"p": only_x(above("a", 1)), "q": above("a", 1)})
    assert dot.count(" -> ") == 4
    assert 'label="Select x > 1"' in dot


def test_svg_draws_every_node_apart_and_escapes_text() -> None:
    import xml.etree.ElementTree as ET

    queries = {"p <1>": Union((above("a", 1), above("b", 1))), "q": above("a", 1)}
    root = ET.fromstring(to_svg(queries))
    boxes = [
        tuple(float(r.attrib[k]) for k in ("x", "y", "width", "height"))
        for r in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(boxes) == len(walk(*queries.values())) + len(queries)
    for i, (x, y, w, h) in enumerate(boxes):
        for other_x, other_y, other_w, other_h in boxes[:i]:
            apart_x = x + w <= other_x or other_x + other_w <= x
            apart_y = y + h <= other_y or other_y + other_h <= y
            assert apart_x or apart_y
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes)
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "p <1>" in texts
