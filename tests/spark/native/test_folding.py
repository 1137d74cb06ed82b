"""Folded lines against the kernel: the same rows are late, and the same rows are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.kernel.rejected import Reason
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import BEGINNING, END, MILLISECOND, SECOND
from penstock.model.types import Type
from penstock.optimizer.optimize import optimize
from penstock.runtime.arrivals import Arrivals
from penstock.spark.group_host import GroupHost
from penstock.spark.native.books import (
    Books,
    Standing,
    lateness_after,
    standing_after,
)
from penstock.spark.native.folding import BOUND, Folder
from penstock.spark.native.lowering import aggregate_of
from penstock.spark.native.parts import names
from penstock.spark.native.times import LAST, SHIFT, TIME
from penstock.spark.native.watermark import PUNCTUATION
from penstock.spark.sources.direct_files import PATH

COUNT = names(0)[1]
SLACK, RANGE = 2 * SECOND, 5 * SECOND
#: Around 1970, and at both ends of what people have years for.
YEARS = {"1970": 0, "1": -62_135_596_800 * SECOND, "9999": 253_402_300_790 * SECOND}

Batch = tuple[Sequence[Sequence[int | None]], int | None]  # files of times, and a bound


def plan(data: Path) -> Any:
    engine = LocalEngine()
    engine.sql(
        f"CREATE STREAM s (ts TIMESTAMP) FROM parquet '{data}' TIMESTAMP BY ts SLACK 2 SECONDS;"
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 5 SECONDS]"
    )
    return engine.catalog.queries[0].plan


class Folded:
    """Batches through the folder, with Spark's watermark beside it."""

    def __init__(self, folder: Path) -> None:
        self.query = plan(folder)
        node = aggregate_of(self.query)
        (self.stream,) = (s for s in [_source(node)])
        columns = [(TIME, Type.TIMESTAMP), (COUNT, Type.BIGINT), (PUNCTUATION, Type.BOOLEAN)]
        self._folder, self._number = folder, 0
        self._standing, self._newest = Standing(), 0  # Spark's clock begins at 1970
        self.books = Books(str(folder / "books"))
        self._fold = Folder(node, self.stream, columns, self.books)
        self.counts: Counter[int] = Counter()
        self.late: list[list[int]] = []
        self.lateness: list[int] = []
        self.malformed = 0

    def run(self, batch: Batch) -> None:
        files, punctuated = batch
        tasks = [(None, punctuated)] if punctuated is not None else []
        for times in files:
            path = self._folder / f"{self._number}-{len(tasks)}.parquet"
            pl.DataFrame({"ts": times}, schema={"ts": pl.Datetime("us", "UTC")}).write_parquet(path)
            tasks.append((str(path), None))  # type: ignore[arg-type]
        self.books.open(self._number)
        before = self.books.before(self._number)
        assert before == self._standing
        watermark = max(0, self._newest // MILLISECOND * MILLISECOND - SLACK)
        for task, (path_, bound) in enumerate(tasks):
            given = pa.record_batch({PATH: [path_], BOUND: pa.array([bound], pa.int64())})
            for lines in self._fold.run(iter([given]), self._number, task):
                self._take(lines, watermark)
        note = self.books.noted(self._number)
        self.late.append(
            sorted(t for rows in note.aside.get(Reason.LATE, []) for t in rows.get_column("ts"))
        )
        self.lateness.append(lateness_after(before, note, self.stream))
        self.malformed += sum(rows.height for rows in note.aside.get(Reason.MALFORMED, []))
        self._standing = standing_after(before, note, self.stream)
        self.books.close(self._number, self._standing)
        self._number += 1

    def _take(self, lines: pa.RecordBatch, watermark: int) -> None:
        for line in lines.cast(_in_ticks(lines.schema)).to_pylist():
            assert line[TIME] > 0
            if line[PUNCTUATION]:
                self._newest = max(self._newest, line[TIME])
                continue
            start = (line[TIME] - SHIFT) // RANGE * RANGE
            assert start + RANGE + SHIFT > watermark, "Spark would drop this line"
            self.counts[start] += line[COUNT]
            self._newest = max(self._newest, line[TIME])

    @property
    def closed_up_to(self) -> int:
        return self._newest - SLACK


def _source(node: Any) -> Any:
    while hasattr(node, "input"):
        node = node.input
    return node.stream


def _in_ticks(schema: pa.Schema) -> pa.Schema:
    return pa.schema([(f.name, pa.int64() if f.name == TIME else f.type) for f in schema])


def by_kernel(
    query: Any, stream: Any, batches: Sequence[Batch]
) -> tuple[Counter[int], list[Any], list[int]]:
    """Windows with their counts; of each batch the late rows, and how late the latest was."""
    host = GroupHost(optimize({"q": query}))
    counts: Counter[int] = Counter()
    late, lateness = [], []
    for files, punctuated in batches:
        times = [time for file in files for time in file]
        seen = [time for time in times if time is not None]
        blocks = [pl.DataFrame({"ts": times}, schema={"ts": pl.Int64})] if times else []
        newest = max(seen, default=BEGINNING)
        bound = BEGINNING if punctuated is None else punctuated
        answers = host.process([Arrivals(blocks, newest, len(times), bound)])
        for rows in answers.results.values():
            for row in rows.iter_rows(named=True):
                counts[row["window_start"]] += row["n"]
        lateness.append(answers.tallies["s"].lateness)
        found = answers.rejected.get(("s", Reason.LATE))
        late.append([] if found is None else sorted(found.get_column("ts")))
    return counts, late, lateness


def random_batches(draw: Random, around: int) -> list[Batch]:
    """Rows that creep on, with some that come too late, NULLs, and bounds from outside."""
    batches: list[Batch] = []
    for number in range(6):
        now = around + number * 3 * SECOND
        files = [
            [
                None if draw.random() < 0.05 else now + draw.randrange(-6 * SECOND, 3 * SECOND)
                for _ in range(draw.randrange(12))
            ]
            for _ in range(draw.randrange(3))
        ]
        punctuated = now - draw.randrange(SECOND) if draw.random() < 0.3 else None
        batches.append((files, punctuated))
    return [*batches, ([], END), ([[around]], None)]


@pytest.mark.parametrize("year", YEARS)
@pytest.mark.parametrize("seed", range(4))
def test_folded_rows_are_judged_and_counted_as_in_the_kernel(
    seed: int, year: str, tmp_path: Path
) -> None:
    batches = random_batches(Random(f"{seed} {year}"), YEARS[year])
    native = Folded(tmp_path)
    for batch in batches:
        native.run(batch)
    counts, late, lateness = by_kernel(native.query, native.stream, batches)
    assert native.counts == counts
    assert native.lateness == lateness
    assert native.late == late and late[-1] == [YEARS[year]]
    nulls = sum(time is None for files, _ in batches for file in files for time in file)
    assert native.malformed == nulls
    assert native.closed_up_to == LAST - SLACK


def test_a_row_at_the_bound_is_on_time_and_one_a_microsecond_below_is_late(tmp_path: Path) -> None:
    native = Folded(tmp_path)
    native.run(([[10 * SECOND + 500]], None))
    native.run(([[8 * SECOND + 499, 8 * SECOND + 500]], None))  # both in the open window
    assert native.late == [[], [8 * SECOND + 499]]
    assert native.counts == {10 * SECOND: 1, 5 * SECOND: 1}


def test_a_batch_that_is_repeated_judges_as_the_first_time(tmp_path: Path) -> None:
    native = Folded(tmp_path)
    native.run(([[10 * SECOND]], None))
    (path,) = tmp_path.glob("*.parquet")
    again = Books(str(tmp_path / "books"))  # a new driver
    folder = Folder(aggregate_of(native.query), native.stream, native._fold.columns, again)
    given = pa.record_batch({PATH: [str(path)], BOUND: pa.array([None], pa.int64())})
    again.open(0)
    assert again.before(0) == Standing()
    native.books.write(0, 7, again.noted(0))  # a task of the old one is still alive
    list(folder.run(iter([given]), 0, 0))
    assert again.noted(0).rows == 1 and not again.noted(0).aside
    assert again.before(1) == Standing(8 * SECOND, 10 * SECOND)
