"""Shapes of a join beside each other in one pipeline on Spark, against the oracle.

Partition groups follow from what a query asks for, and not from the shape in which it runs: all
shapes find in a group the rows that belong together, also where two inputs meet first that have
their key in common only through a third.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.optimizer.joins.shape import shaped
from penstock.plan.nodes import Join
from penstock.spark.engine import Engine
from penstock.spark.placement.partitioning import partitioning
from penstock.verification.report import lines
from penstock.verification.run_spark import OnSpark
from penstock.verification.verify import Verification
from penstock.verification.ways import Way
from tests.engine.draw import Seeded
from tests.engine.random_streams import Declared
from tests.optimizer.joins.trees import all_trees
from tests.optimizer.plans import plan
from tests.spark.test_joins_against_oracle_on_spark import cut

SHAPES = (
    "written",
    "(s0, s1, s2, s3)",
    "((s0, s2), s1, s3)",
    "((s0, s3), (s1, s2))",
    "(s3, (s0, (s2, s1)))",
)
TEXT = (
    "SELECT s0.ts AS t0, s1.ts AS t1, s2.ts AS t2, s3.v AS v FROM a AS s0, b AS s1, c AS s2, "
    "a AS s3 WHERE s0.k = s1.k AND s1.k = s2.k AND s2.k = s3.k AND s1.v < s3.v "
    "AND s1.ts BETWEEN s0.ts - INTERVAL '30' MICROSECOND AND s0.ts + INTERVAL '5' MICROSECOND "
    "AND s2.ts BETWEEN s0.ts AND s0.ts + INTERVAL '40' MICROSECOND "
    "AND s3.ts BETWEEN s1.ts - INTERVAL '9' MICROSECOND AND s1.ts + INTERVAL '30' MICROSECOND"
)


def test_rows_that_belong_together_are_in_one_group_for_every_shape() -> None:
    join = plan(
        "SELECT * FROM a [RANGE 3 SECONDS], b [RANGE 5 SECONDS], slack s [RANGE 2 SECONDS], "
        "a AS c [RANGE 1 SECOND] WHERE a.k = b.k AND b.k = s.k AND s.k = c.k AND a.v = c.v"
    ).children[0]
    assert isinstance(join, Join)
    for tree in all_trees(range(4)):
        assert partitioning(shaped(join, tree)) == partitioning(join)


def test_all_shapes_of_a_join_have_the_oracles_answer_in_one_pipeline(spark: SparkSession) -> None:
    declared = [Declared("a", 5), Declared("b", 0), Declared("c", 3)]
    texts = [f"SET join_order = '{shape}';\n{TEXT}" for shape in SHAPES]
    done = Verification(";\n".join([*(each.sql for each in declared), *texts]))
    done.runs["spark"] = OnSpark(lambda place: Engine(spark, checkpoint=place))
    for _ in done.tried(3, Way("spark", seed=3), cut(Seeded(3), declared, batches=3)):
        pass
    assert done.outcome.found is None, "\n".join(lines(done))
    assert len(done.outcome.compared) == len(SHAPES)
