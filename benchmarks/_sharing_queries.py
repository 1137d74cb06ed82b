"""The queries of the sharing benchmark: in our SQL, in Spark's, and what they come to in a batch.

Queries are drawn with a fixed seed, one after the other, so that the first ten of a thousand are
the ten. Every twentieth, from the tenth on, joins orders with refunds of the same shop and number
up to 20 s later; the others are aggregates by shop, half of them over windows of 10 s and half over
windows of 60 s that slide by 10 s. Each has a filter of its own:

    region = R AND price >= P        a region is 5 % of the orders
    product BETWEEN P AND Q          1 to 5 % of the products
    price BETWEEN P AND Q            2 to 10 % of the orders
    region IN (R, S) AND quantity >= N    up to 10 % of the orders

and one of three sets of functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

SECOND = 1_000_000
SLIDE, RANGES = 10, (10, 60)
#: Seconds after an order in which a refund is joined with it.
REFUND_WITHIN = 20
REGIONS, PRODUCTS, PRICES, QUANTITIES, SHOPS = 20, 1_000, 10_000, 10, 100
#: One in so many queries is a join.
JOIN_EVERY = 20

FUNCTIONS: tuple[dict[str, tuple[str, pl.Expr, pl.Expr]], ...] = (
    # name: in SQL, of rows, of what panes have
    {
        "n": ("count(*)", pl.len().cast(pl.Int64), pl.col("n").sum()),
        "total": ("sum(price)", pl.col("price").sum(), pl.col("total").sum()),
    },
    {
        "n": ("count(*)", pl.len().cast(pl.Int64), pl.col("n").sum()),
        "highest": ("max(price)", pl.col("price").max(), pl.col("highest").max()),
    },
    {
        "pieces": ("sum(quantity)", pl.col("quantity").sum(), pl.col("pieces").sum()),
        "lowest": ("min(price)", pl.col("price").min(), pl.col("lowest").min()),
    },
)


@dataclass(frozen=True)
class Query:
    """One query: a condition on orders, and a window, or none for a join."""

    name: str
    where: str
    functions: int = 0
    range: int | None = None

    @property
    def is_join(self) -> bool:
        return self.range is None

    @property
    def ours(self) -> str:
        if self.range is None:
            return self._join
        return (
            f"SELECT shop, {self._results} FROM orders "
            f"[RANGE {self.range} SECONDS, SLIDE {SLIDE} SECONDS] WHERE {self.where} GROUP BY shop"
        )

    @property
    def rival(self) -> str:
        if self.range is None:
            return self._join
        window = f"window(ts, '{self.range} seconds', '{SLIDE} seconds')"
        names = ", ".join(FUNCTIONS[self.functions])
        return (
            f"SELECT shop, {names}, w.end AS window_end FROM "
            f"(SELECT shop, {self._results}, {window} AS w FROM orders "
            f"WHERE {self.where} GROUP BY shop, {window})"
        )

    @property
    def _results(self) -> str:
        functions = FUNCTIONS[self.functions].items()
        return ", ".join(f"{sql} AS {name}" for name, (sql, _, _) in functions)

    @property
    def _join(self) -> str:
        # Columns of refunds have names of their own, so that the filter needs no prefix.
        return (
            "SELECT number, price, refunded, reason FROM orders JOIN refunds "
            "ON shop = refund_shop AND number = refund_number "
            f"AND refunded BETWEEN ts AND ts + INTERVAL {REFUND_WITHIN} SECONDS WHERE {self.where}"
        )

    def answer(self, orders: pl.DataFrame, refunds: pl.DataFrame) -> pl.DataFrame:
        """What it comes to over all rows, by Polars; times are microseconds."""
        rows = orders.filter(pl.sql_expr(self.where))
        if self.range is None:
            theirs = ["refund_shop", "refund_number"]
            joined = rows.join(refunds, left_on=["shop", "number"], right_on=theirs)
            after = pl.col("refunded") - pl.col("ts")
            joined = joined.filter(after.is_between(0, REFUND_WITHIN * SECOND))
            return joined.select("number", "price", "refunded", "reason")
        functions = FUNCTIONS[self.functions]
        panes = rows.group_by("shop", pane=pl.col("ts") // (SLIDE * SECOND)).agg(
            made.alias(name) for name, (_, made, _) in functions.items()
        )
        # A pane is in the windows that end with it or up to RANGE - SLIDE later.
        ends = [pl.col("pane") + later for later in range(1, self.range // SLIDE + 1)]
        windows = panes.with_columns(window_end=pl.concat_list(ends)).explode("window_end")
        answer = windows.group_by("shop", "window_end").agg(
            merged.alias(name) for name, (_, _, merged) in functions.items()
        )
        return answer.with_columns(pl.col("window_end") * (SLIDE * SECOND))


def draw_queries(number: int, seed: int = 7) -> list[Query]:
    """So many queries; the first of them are the same however many are drawn."""
    rng = np.random.default_rng(seed)
    return [_drawn(place, rng) for place in range(number)]


def _drawn(place: int, rng: np.random.Generator) -> Query:
    where = _filter(rng)
    functions, range_ = int(rng.integers(len(FUNCTIONS))), RANGES[int(rng.integers(2))]
    if place % JOIN_EVERY == JOIN_EVERY // 2 - 1:
        return Query(f"q{place}", where)
    return Query(f"q{place}", where, functions, range_)


def _filter(rng: np.random.Generator) -> str:
    match int(rng.integers(4)):
        case 0:
            region, least = rng.integers(REGIONS), rng.integers(PRICES)
            return f"region = {region} AND price >= {least}"
        case 1:
            first, many = rng.integers(PRODUCTS), rng.integers(PRODUCTS // 100, PRODUCTS // 20)
            return f"product BETWEEN {first} AND {first + many}"
        case 2:
            first, many = rng.integers(PRICES), rng.integers(PRICES // 50, PRICES // 10)
            return f"price BETWEEN {first} AND {first + many}"
        case _:
            first, least = rng.integers(REGIONS), rng.integers(2, QUANTITIES)
            regions = f"{first}, {(first + rng.integers(1, REGIONS)) % REGIONS}"
            return f"region IN ({regions}) AND quantity >= {least}"
