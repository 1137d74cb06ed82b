"""A left join that comes last gives the oracle's answer, as one does that stays below.

What can go wrong: rows without a partner that leave too early, or twice, because the inner join
below brings them late; a bound on results that is too high for aggregates behind them.
"""

from __future__ import annotations

from penstock.catalog.catalog import Catalog
from penstock.model.joins import JoinKind
from penstock.optimizer.joins.shape_of import shape_joins
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import walk
from penstock.plan.nodes import Join
from penstock.runtime.declarations import apply
from penstock.sql.parse.parser import parse
from tests.engine.draw import Draw
from tests.engine.laws import Law, checks_of
from tests.engine.random_joins import length
from tests.engine.random_streams import UNITS, arrivals, declarations
from tests.engine.test_join_shapes import Given, bound, check

KEYS = ("{0}.k = {1}.k", "{0}.v = {1}.v", "{0}.k = {1}.k AND {0}.v <= {1}.v")


def query(draw: Draw, unit: str, count: int) -> str:
    """A left join below inner ones that ask nothing of its right side."""

    def on(other: str, name: str) -> str:
        key = draw.choose(KEYS).format(other, name)
        low, high = (length(draw.between(0, 9), unit) for _ in range(2))
        return f"{key} AND {name}.ts BETWEEN {other}.ts - {low} AND {other}.ts + {high}"

    streams = [draw.choose(["a", "b", "c"]) for _ in range(count)]
    text = f"FROM {streams[0]} AS s0 LEFT JOIN {streams[1]} AS s1 ON {on('s0', 's1')}"
    for number in range(2, count):
        other = draw.choose(["s0", *(f"s{n}" for n in range(2, number))])
        text += f" JOIN {streams[number]} AS s{number} ON {on(other, f's{number}')}"
    columns = ", ".join(f"s{n}.ts AS s{n}t, s{n}.v AS s{n}v" for n in range(count))
    return f"SELECT {columns} {text}"


def a_left_join_gives_the_same_below_and_last(draw: Draw) -> None:
    declared = declarations(draw)
    count = draw.choose([3, 3, 4])
    text = query(draw, UNITS[declared[0].time], count)
    inner = ", ".join(f"s{n}" for n in range(count) if n != 1)
    last = f"(({inner}), s1)"
    counted = f"SELECT s0t, count(*) AS n, count(s1t) AS met FROM ({text}) GROUP BY s0t"
    given = Given(declared, arrivals(draw, declared, blocks=10, rows=5), [text, counted])
    check(draw, given, [last, "written"])
    catalog = Catalog()
    for stream in declared:
        [statement] = parse(stream.sql)
        apply(statement, catalog)
    made = shape_joins({"q": bound(text, catalog)}, Options(join_order=last), Statistics())["q"]
    assert [node.kind for node in walk(made) if isinstance(node, Join)][-1] is JoinKind.LEFT


LAWS: dict[Law, int] = {a_left_join_gives_the_same_below_and_last: 10}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS, thousands=1000)
