"""Small tables that are alike are handled as one, and come apart again as they were."""

from __future__ import annotations

import random
from unittest.mock import patch

import polars as pl

from penstock.kernel import stacks as module
from penstock.kernel.stacks import stacked, stacks, unstacked

KINDS = ({"a": pl.Int64}, {"b": pl.Int64}, {"a": pl.String}, {"a": pl.Int64, "b": pl.Int64})


def drawn(rng: random.Random, name: int) -> pl.DataFrame:
    kind = rng.choice(KINDS)
    height = rng.choice((0, 1, 3, 40))
    return pl.DataFrame({column: [name] * height for column in kind}).cast(kind)  # type: ignore[arg-type]


def test_every_table_is_in_one_stack_and_comes_out_of_it_as_it_was() -> None:
    rng = random.Random(3)
    for _ in range(30):
        tables = {name: drawn(rng, name) for name in range(rng.randrange(12))}
        large, full = rng.choice((64, 1 << 16)), rng.choice((64, 200, 1 << 20))
        with patch.object(module, "LARGE", large), patch.object(module, "FULL", full):
            found = list(stacks(tables))
        assert sorted(name for names in found for name in names) == sorted(tables)
        for names in found:
            members = [tables[name] for name in names]
            parts = unstacked(stacked(members), [each.height for each in members])
            for part, member in zip(parts, members, strict=True):
                assert part.equals(member) and part.schema == member.schema


def test_tables_are_together_as_long_as_they_are_alike_and_small() -> None:
    one, other = pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": ["1", "2"]})
    large = pl.DataFrame({"a": range(module.LARGE // 8)})
    tables = {"p": one, "q": other, "r": large, "s": one, "t": other}
    assert list(stacks(tables)) == [["r"], ["p", "s"], ["q", "t"]]
