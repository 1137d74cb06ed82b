"""Computations with exact numbers that Spark and the kernel both have.

Columns: `a` DECIMAL(10, 2), `c` DECIMAL(20, 6), `e` DECIMAL(38, 10), `n` INT, `id` BIGINT, `x`
DOUBLE, `s` STRING.
"""

from __future__ import annotations

DECIMALS = (
    *("a + c", "a - c", "a * c", "a / c", "a % c", "c / a", "e + e", "e - c", "e * e", "e / c"),
    *("e % a", "a + n", "a - id", "a * n", "n / a", "id * c", "a / 3", "a * 1.5", "a + 1", "2 - c"),
    *("a + x", "a / x", "-a", "-e", "a * a * a", "a + c + e", "(a + c) / (a - c)", "a * c / e"),
    *("abs(a)", "abs(e)", "sign(a)", "round(a)", "round(c, 2)", "round(e, 0)", "round(a, -1)"),
    *("round(c, 8)", "ceil(a)", "floor(c)", "ceil(e)", "pmod(a, c)", "a div c", "id div a"),
    *("cast(a AS INT)", "cast(c AS BIGINT)", "cast(e AS INT)", "cast(a AS DOUBLE)"),
    *("cast(e AS FLOAT)", "cast(a AS STRING)", "cast(c AS STRING)", "cast(c AS DECIMAL(10, 2))"),
    *("cast(e AS DECIMAL(12, 2))", "cast(n AS DECIMAL(5, 1))", "cast(n AS DECIMAL(2, 2))"),
    *("cast(x AS DECIMAL(10, 3))", "cast(s AS DECIMAL(8, 2))", "cast(a AS BOOLEAN)"),
    *("cast(a > 1 AS DECIMAL(3, 1))", "cast(cast(a AS STRING) AS DECIMAL(10, 1))"),
    *("a = c", "a < c", "a <=> c", "a > n", "a >= 1.25", "a <> 1.25BD", "e > x", "c <= id"),
    *("a IN (1.25, 0)", "a BETWEEN -3 AND 1.25", "greatest(a, c)", "least(a, e)"),
    *("coalesce(a, c)", "coalesce(c, n, 0)", "nullif(a, 1.25)", "if(a > c, a, c)"),
    *("CASE WHEN n > 0 THEN a WHEN n < 0 THEN e ELSE 1 END", "sqrt(a)", "power(a, 2)", "exp(c)"),
    *("concat(a, '|', c)", "a * 100BD", "a / 0", "a % 0", "cast(0.1 AS DECIMAL(3, 2)) + a"),
)
AGGREGATES = (
    *("sum(a)", "sum(c)", "sum(e)", "avg(a)", "avg(c)", "avg(e)", "min(a)", "max(e)", "sum(a * c)"),
    *("avg(a / 3)", "count(DISTINCT a)", "sum(a) / count(*)", "round(avg(a), 1)", "sum(n * a)"),
    *("stddev(a)", "sum(a) - avg(c)", "max(a) > avg(a)", "cast(sum(c) AS DECIMAL(12, 1))"),
)
