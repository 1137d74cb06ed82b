"""Joins of four streams on Spark: the plan that is chosen, against the order that is written.

Streams a, b, c and d, keys at random and rows up to 5 s out of order, each row joined with those of
the next stream within 10 s, of the same shop and with another key in common:

    a ── x, 20 partners ── b ── y, 1 partner ── c ── z, 1 partner for 50 rows ── d

Written from left to right, the first join makes twenty results of every row, the second keeps them,
and the third drops nearly all of them. What is known of the streams comes from an earlier run over
40 s of them in the written order: its checkpoint remembers rates and selectivities, and the plan is
chosen by these, as for any query that is declared there later.

    case                ours               rival                                    ratio
    chosen-vs-written   the chosen plan    the written order, two by two            rival / ours
    chosen-vs-spark     the chosen plan    Spark's chain of stream-stream joins     rival / ours
                                           from d to a, its best order, with the
                                           state store that is faster
    chosen-vs-best      the chosen plan    the fastest plan: those whose joins have rival / ours
                                           a key run over 20 s of the streams, the
                                           three fastest over all rows

Of the 26 plans those are left out that join streams which have the shop in common only: each row
has 200 partners then. Spark's joins run once with each store, and then with the faster one.

What counts is the time from the end of a first small batch to the last result; results go to
parquet files and are compared row by row. A micro-batch takes 20 s of each stream.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path

import polars as pl
from _four_streams import STREAMS, Chain, Fans, declared, query, rival
from _streams import (
    ONCE_ABOVE,
    OURS_IO,
    RIVAL_IO,
    STORES,
    FastestStore,
    run_rival,
    run_to_end,
)
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.engine import Engine
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

FANS = Fans(x=20, y=1, z=0.02)
FULL, QUICK, LEARNT, TRIED = 100, 40, 40, 20  # seconds
#: Plans that run over all rows, of those that are fastest over few.
FINALISTS = 3


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    plans = Plans(spark, Chain(QUICK if quick else FULL, ((0, FANS),)))
    common = {
        "ours": partial(plans.timed, "auto"),
        "repeats": 3,
        "warm_up": 1,
        "once_above": ONCE_ABOVE,
        "ours_io": OURS_IO["parquet"],
    }
    facts: dict[str, object] = {"rows": 4 * plans.chain.rows, "plan": plans.chosen}
    yield Case(
        name="chosen-vs-written",
        rival=partial(plans.timed, "written"),
        rival_name="the written order",
        rival_io=OURS_IO["parquet"],
        extra=facts,
        **common,
    )
    of_spark = dict(facts)
    yield Case(
        name="chosen-vs-spark",
        rival=FastestStore(plans.timed_rival, STORES, of_spark),
        rival_name="Spark's chain of joins",
        rival_io=RIVAL_IO["parquet"],
        extra=of_spark,
        **common,
    )
    of_best = dict(facts)
    yield Case(
        name="chosen-vs-best",
        rival=partial(plans.timed_best, of_best),
        rival_name="the fastest of all plans",
        rival_io=OURS_IO["parquet"],
        extra=of_best,
        **common,
    )


class Plans:
    """One join of four streams, run in any shape."""

    def __init__(self, spark: SparkSession, chain: Chain) -> None:
        self._spark = spark
        self.chain = chain
        self._learnt = Path(tempfile.mkdtemp())

    def timed(self, order: str, chain: Chain | None = None) -> Timed:
        """A run in an order of joins; `auto`: as what is remembered says."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folders = (chain or self.chain).write(folder)
            checkpoint = folder / "checkpoint"
            if order == "auto":
                shutil.copytree(self.remembered, checkpoint / "earlier")
            engine = Engine(self._spark, checkpoint=checkpoint)
            engine.sql(f"{declared(folder)}SET join_order = '{order}';{query(folder)}")
            engine.start()
            seconds = run_to_end(engine, *folders)
            return Timed(_results(folder), seconds)

    @cached_property
    def remembered(self) -> Path:
        """What the checkpoint of an earlier run says of joins."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folders = Chain(LEARNT, ((0, FANS),)).write(folder)
            engine = Engine(self._spark, checkpoint=folder / "checkpoint")
            engine.sql(f"{declared(folder)}SET join_order = written;{query(folder)}")
            engine.start()
            run_to_end(engine, *folders)
            [found] = (folder / "checkpoint").rglob("statistics.json")
            shutil.copy(found, self._learnt)
        return self._learnt

    @cached_property
    def chosen(self) -> str:
        """The plan that is chosen, as EXPLAIN has it."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            Chain(10, ((0, FANS),)).write(folder)
            shutil.copytree(self.remembered, folder / "checkpoint" / "earlier")
            engine = Engine(self._spark, checkpoint=folder / "checkpoint")
            engine.sql(declared(folder) + query(folder))
            shown = str(engine.sql("EXPLAIN (ALTERNATIVES) q"))
            return next(line for line in shown.splitlines() if "chosen" in line).split("  ")[0]

    def timed_best(self, extra: dict[str, object]) -> Timed:
        """A run of the fastest plan, which `extra` learns."""
        extra["best"] = self.best
        return self.timed(self.best)

    @cached_property
    def best(self) -> str:
        """The fastest plan."""
        few = Chain(TRIED, ((0, FANS),))
        keyed = [tree for tree in trees(tuple(STREAMS)) if is_along_the_chain(tree)]
        took = {tree: self.timed(tree, few).seconds for tree in keyed}
        finalists = sorted(took, key=took.__getitem__)[:FINALISTS]
        whole = {tree: self.timed(tree).seconds for tree in finalists}
        return min(whole, key=whole.__getitem__)

    def timed_rival(self, store: str) -> Timed:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folders = self.chain.write(folder)
            joined = partial(rival, self._spark, folder, "dcba")
            seconds = run_rival(self._spark, joined, folder / "out", STORES[store], *folders)
            return Timed(_results(folder), seconds)


def _results(folder: Path) -> pl.DataFrame:
    return pl.concat(pl.read_parquet(file) for file in sorted((folder / "out").glob("*.parquet")))


def trees(names: tuple[str, ...]) -> list[str]:
    """All shapes of a join of these inputs, as `SET join_order` takes them.

    >>> trees(("a", "b", "c"))
    ['(a, b, c)', '(a, (b, c))', '((a, b), c)', '((a, c), b)']
    """
    if len(names) == 1:
        return list(names)
    return [f"({', '.join(parts)})" for split in _splits(names) for parts in _products(split)]


def is_along_the_chain(tree: str) -> bool:
    """Whether all that any operator joins is connected by keys of its own.

    >>> is_along_the_chain("((a, b), (c, d))"), is_along_the_chain("((a, c), b, d)")
    (True, False)
    """
    begun, along = [], "".join(STREAMS)
    for place, letter in enumerate(tree):
        if letter == "(":
            begun.append(place)
        elif letter == ")":
            inside = tree[begun.pop() : place]
            joined = "".join(name for name in along if name in inside)
            if joined not in along:
                return False
    return True


def _splits(names: tuple[str, ...]) -> Iterator[list[tuple[str, ...]]]:
    """The ways to part names into two groups and more."""

    def parted(rest: tuple[str, ...]) -> Iterator[list[tuple[str, ...]]]:
        if not rest:
            yield []
            return
        first, others = rest[0], rest[1:]
        for size in range(len(others) + 1):
            for more in combinations(others, size):
                left = tuple(name for name in others if name not in more)
                for parts in parted(left):
                    yield [(first, *more), *parts]

    yield from (split for split in parted(names) if len(split) > 1)


def _products(split: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    if not split:
        yield ()
        return
    for first in trees(split[0]):
        for rest in _products(split[1:]):
            yield first, *rest
