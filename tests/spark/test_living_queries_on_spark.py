"""Queries that are declared, replaced and dropped while pipelines run on a real Spark session.

The local engine is given the same statements between the same rows. Streams come in order, so that
no row is late on either host.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from penstock.errors import HostError, NotExecutable, UnknownName
from penstock.local.engine import LocalEngine
from penstock.spark import faults
from penstock.spark.catching_up import slices
from penstock.spark.engine import Engine
from penstock.spark.state.program_log import ProgramLog
from tests.spark.packets import same

START = datetime(2026, 1, 1)
STREAM = "CREATE STREAM {name} (k STRING, v BIGINT, ts TIMESTAMP) {origin} TIMESTAMP BY ts ORDERED"
COUNTS = "SELECT k, count(*) AS n FROM a [RANGE 6 SECONDS, SLIDE 2 SECONDS] GROUP BY k"
SUMS = "SELECT k, sum(v) AS s FROM a [RANGE 4 SECONDS] GROUP BY k"
PAIRS = "SELECT x.k, x.v, y.v AS w FROM a x JOIN a y ON x.k = y.k AND x.v < y.v WITHIN 2 SECONDS"
LARGE = "SELECT k, v FROM a WHERE v % 5 = 0"


def rows(first: int, last: int) -> list[dict[str, Any]]:
    return [
        {"k": "xyz"[n % 3], "v": n, "ts": START + timedelta(milliseconds=300 * n)}
        for n in range(first, last)
    ]


def send(folder: Path, first: int, last: int) -> None:
    hidden = folder / "a" / f".{last}"
    pl.DataFrame(rows(first, last)).write_parquet(hidden)
    hidden.rename(folder / "a" / f"{last:05d}.parquet")


class Both:
    """The same program on both hosts; files bring the rows on Spark."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder
        (folder / "a").mkdir()
        self.there, self.here = Engine(spark), LocalEngine()
        self.there.sql(STREAM.format(name="a", origin=f"FROM parquet '{folder}/a'"))
        self.here.sql(STREAM.format(name="a", origin=""))
        self._sent = 0

    def sql(self, text: str) -> None:
        self.there.sql(text)
        self.here.sql(text)

    def start(self) -> None:
        self.there.start()

    def send(self, last: int) -> None:
        """More rows, up to a number; both have processed them."""
        send(self.folder, self._sent, last)
        self.here.push("a", rows(self._sent, last))
        self._sent = last
        self.there.process_available()

    def finish(self) -> None:
        self.there.finish()
        self.here.finish()

    def check(self, *names: str) -> None:
        for name in names:
            answer = self.there.query(name).results()
            assert answer.height, name
            assert same(answer, self.here.query(name).results()), name


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path) -> Iterator[Both]:
    found = Both(spark, tmp_path)
    try:
        yield found
    finally:
        found.there.stop()


def shipped() -> set[str]:
    """The programs that tasks can find."""
    return {file.name for file in Path(SparkFiles.getRootDirectory()).glob("penstock-program-*")}


def test_queries_join_and_leave_a_running_pipeline_and_the_others_go_on(both: Both) -> None:
    before = shipped()
    both.sql(f"CREATE QUERY counts AS {COUNTS}; CREATE QUERY goes AS {SUMS}")
    both.start()
    both.send(20)
    both.sql(f"CREATE QUERY sums AS {SUMS}; CREATE QUERY pairs AS {PAIRS}")
    both.sql(f"CREATE QUERY large AS {LARGE}")
    [running] = both.there._running
    assert list(running.group.queries) == ["counts", "goes", "sums", "pairs", "large"]
    # The newest row is of 5.7 s.
    first = "first complete window is from 2026-01-01 00:00:08 to 2026-01-01 00:00:12"
    assert first in both.there.query("sums").explain()
    both.send(45)
    goes = both.there.query("goes")
    both.sql("DROP QUERY goes")
    assert not goes.isActive
    gone = goes.results().height
    both.send(60)
    names = {name for each in both.there.status().operators for name in each.queries}
    assert names == {"counts", "sums", "pairs", "large"}, "its operators are gone, too"
    assert len(shipped() - before) == 1, "programs that no batch runs again are taken back"
    both.finish()
    assert shipped() == before
    both.check("counts", "sums", "pairs", "large")
    assert goes.results().height == gone


def test_a_query_that_replaces_another_keeps_what_both_compute(both: Both) -> None:
    text = f"CREATE OR REPLACE QUERY often AS {COUNTS} HAVING count(*) > {{}}"
    both.sql(f"CREATE QUERY sums AS {SUMS}; {text.format(6)}")
    both.start()
    both.send(30)
    both.sql(text.format(2))
    both.send(60)
    both.finish()
    both.check("often", "sums")
    whole = LocalEngine()
    whole.sql(STREAM.format(name="a", origin=""))
    query = whole.sql(f"{COUNTS} HAVING count(*) > 2")
    whole.push("a", rows(0, 60))
    whole.finish()
    # All windows that end after the change are whole.
    later = query.results().filter(pl.col("window_end") > rows(29, 30)[0]["ts"])
    assert same(both.there.query("often").results(), later)


def test_from_state_it_has_what_running_queries_have_kept(both: Both) -> None:
    both.sql(f"CREATE QUERY counts AS {COUNTS}")
    both.start()
    both.send(30)
    early = both.there.query("counts").fetch().height
    assert early
    both.sql(f"CREATE QUERY again FROM STATE AS {COUNTS}; CREATE QUERY now FROM NOW AS {COUNTS}")
    both.send(60)
    both.finish()
    both.check("again", "now")
    later = both.there.query("counts").results()
    assert same(both.there.query("again").results(), later)
    assert not same(both.there.query("now").results(), later), "its first windows are not whole"


def test_what_cannot_join_gets_a_pipeline_of_its_own_and_explain_says_why(both: Both) -> None:
    both.sql(f"CREATE QUERY counts AS {COUNTS}")
    both.start()
    both.send(30)
    whole = "SELECT count(*) AS n FROM a [RANGE 3 SECONDS]"
    with pytest.raises(NotExecutable, match="cannot begin FROM STATE: not beside counts: it needs"):
        both.there.sql(f"CREATE QUERY other FROM STATE AS {whole}")
    assert "other" not in [query.name for query in both.there.queries]
    both.there.sql(f"CREATE QUERY whole AS {whole}; CREATE QUERY start FROM START AS {whole}")
    assert len(both.there._running) == 2
    said = both.there.query("whole").explain()
    assert (
        "a pipeline of its own: not beside counts: it needs its streams to be partitioned by "
        "other columns" in said
    )
    both.send(60)
    both.there.finish()
    assert same(both.there.query("start").results(), both.there.query("whole").results())


def test_from_start_a_query_catches_up_in_the_pipeline_and_is_one_of_its_queries_then(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "LEAST", 1)  # a slice for every earlier batch
    left = PAIRS.replace("JOIN", "LEFT JOIN").replace("x.v < y.v", "x.v < y.v AND y.v % 3 = 0")
    texts = {"counts": COUNTS, "pairs": PAIRS, "left_": left, "large": LARGE}
    both.sql("; ".join(f"CREATE QUERY {name} AS {text}" for name, text in texts.items()))
    both.start()
    for last in (10, 20, 30, 40):
        both.send(last)
    again = [f"CREATE QUERY {name}2 FROM START AS {text}" for name, text in texts.items()]
    both.there.sql("; ".join([*again, f"CREATE QUERY now AS {COUNTS}"]))
    [running] = both.there._running
    said = both.there.query("counts2").explain()
    assert "counts2 reads its streams from their beginning; ca" in said
    both.send(60)  # which they read in their turn
    assert running.program.catching_up == ()
    said = both.there.query("counts2").explain()
    assert "caught up, and runs beside the others from batch" in said
    both.send(80)
    both.finish()
    both.check(*texts)
    for name in texts:
        mine, whole = both.there.query(f"{name}2").results(), both.there.query(name).results()
        assert same(mine, whole), name
    assert not same(both.there.query("now").results(), both.there.query("counts").results())


def results_in(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "*.parquet")


@contextmanager
def begun(
    spark: SparkSession, folder: Path, queries: dict[str, str], *, accept_changes: bool = False
) -> Iterator[Engine]:
    """An engine with these queries, INTO files, over the checkpoint beside them."""
    engine = Engine(spark, checkpoint=folder / "checkpoint")
    engine.sql(STREAM.format(name="a", origin=f"FROM parquet '{folder}/a'"))
    for name, text in queries.items():
        engine.sql(f"CREATE QUERY {name} INTO parquet '{folder}/{name}' AS {text}")
    try:
        engine.start(accept_changes=accept_changes)
        yield engine
    finally:
        engine.stop()


def test_results_go_into_files_while_a_query_lives(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    send(tmp_path, 0, 20)
    with begun(spark, tmp_path, {"counts": COUNTS}) as engine:
        engine.process_available()
        engine.sql(f"CREATE QUERY sums INTO parquet '{tmp_path}/sums' AS {SUMS}")
        send(tmp_path, 20, 40)
        engine.process_available()
        # A name in another case is the same name, and goes on in the same directory.
        again = f"CREATE OR REPLACE QUERY Counts INTO parquet '{tmp_path}/counts' AS {COUNTS}"
        engine.sql(f"DROP QUERY sums; {again}")
        send(tmp_path, 40, 60)
        engine.process_available()
        # The directory is free again, and its results stay.
        assert not (tmp_path / "sums" / "_lock").exists()
        with pytest.raises(HostError, match="has the columns k STRING, s BIGINT, window_start"):
            engine.sql(f"CREATE OR REPLACE QUERY counts INTO parquet '{tmp_path}/counts' AS {SUMS}")
    local = LocalEngine()
    local.sql(STREAM.format(name="a", origin=""))
    counts = local.sql(COUNTS)
    local.push("a", rows(0, 20))
    sums = local.sql(SUMS)
    local.push("a", rows(20, 40))
    assert same(results_in(tmp_path / "sums"), sums.results())
    local.push("a", rows(40, 60))
    assert same(results_in(tmp_path / "counts"), counts.results())


def test_a_directory_changes_hands_while_a_batch_writes_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A query is replaced, and dropped and declared again, into the directory that it had."""
    (tmp_path / "a").mkdir()
    engine = Engine(spark)
    engine.sql(STREAM.format(name="a", origin=f"FROM parquet '{tmp_path}/a'"))
    by_value = "SELECT v, {} AS n FROM a [RANGE 1 HOUR] GROUP BY v"
    columns = "v, v AS n, ts AS window_start, ts AS window_end"
    into = f"QUERY moves INTO parquet '{tmp_path}/out' AS "
    engine.sql(f"CREATE QUERY counts AS {COUNTS}; CREATE {into}{by_value.format('count(*)')}")
    engine.sql(f"CREATE QUERY stays AS {by_value.format('max(k)')}")
    # It suits both pipelines, and gives nothing.
    none = f"SELECT {columns} FROM a WHERE v < 0"
    place = faults.folder()
    assert place is not None

    def hold(first: int, last: int) -> None:
        """Have a batch of the writer take its time."""
        faults.disarm(place)
        faults.arm(place, "deliver.begin", "delay", times=2)
        send(tmp_path, first, last)
        while len(faults.hits(place)) < 2:
            engine.check()

    send(tmp_path, 0, 20)
    engine.start()
    try:
        assert [list(each.group.queries) for each in engine._running] == [
            ["counts"],
            ["moves", "stays"],
        ]
        engine.process_available()
        hold(20, 25)
        engine.sql(f"CREATE OR REPLACE {into}{none}")
        assert "moves" in engine._running[1].group.queries  # which has the directory
        engine.process_available()
        hold(25, 30)
        engine.sql("DROP QUERY moves")
        engine.sql(f"CREATE {into}{none}")
        assert "moves" in engine._running[0].group.queries
        faults.disarm(place)
        engine.finish()
    finally:
        faults.disarm(place)
        engine.stop()
    assert engine.query("moves").exception() is None


def test_a_restart_finds_the_program_as_it_was_left_or_follows_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    send(tmp_path, 0, 20)
    with begun(spark, tmp_path, {"counts": COUNTS}) as engine:
        engine.process_available()
        engine.sql(f"CREATE QUERY sums INTO parquet '{tmp_path}/sums' AS {SUMS}")
        send(tmp_path, 20, 40)
        engine.process_available()
    log = ProgramLog(tmp_path / "checkpoint" / "counts")
    assert sorted(log.entries()[-1].program["query"]) == ["counts", "sums"]
    with begun(spark, tmp_path, {"counts": COUNTS, "sums": SUMS}) as engine:
        send(tmp_path, 40, 50)
        engine.process_available()
        assert len(engine._running) == 1
    left = {"counts": COUNTS, "pairs": PAIRS}
    with (
        pytest.raises(HostError, match="query sums gone; query pairs new"),
        begun(spark, tmp_path, left),
    ):
        pass
    with begun(spark, tmp_path, left, accept_changes=True) as engine:
        send(tmp_path, 50, 70)
        engine.finish()
    local = LocalEngine()
    local.sql(STREAM.format(name="a", origin=""))
    counts = local.sql(COUNTS)
    local.push("a", rows(0, 50))
    pairs = local.sql(PAIRS)
    local.push("a", rows(50, 70))
    local.finish()
    assert same(results_in(tmp_path / "counts"), counts.results())
    assert same(results_in(tmp_path / "pairs"), pairs.results())


def test_a_statement_is_acknowledged_while_a_batch_runs(both: Both, tmp_path: Path) -> None:
    """It says when it takes effect, and does; meanwhile another one may take it back."""
    place = faults.folder()
    assert place is not None
    both.sql(f"CREATE QUERY counts AS {COUNTS}; CREATE QUERY goes AS {SUMS}")
    both.start()
    both.send(20)
    [running] = both.there._running
    faults.arm(place, "deliver.computed", "hold")
    try:
        send(tmp_path, 20, 40)
        while not faults.hits(place):
            time.sleep(0.01)
        batch = running.batches.last_over + 2
        takes_effect = f"takes effect with micro-batch {batch}, when the one that runs is over"
        sums = both.there.sql(f"CREATE QUERY sums AS {SUMS}")
        assert sums.status.message == takes_effect
        assert takes_effect in both.there.explain("sums", sums.plan)
        assert both.there.sql("DROP QUERY goes") == takes_effect
        assert both.there.sql(f"CREATE QUERY never AS {SUMS}").name == "never"
        assert both.there.sql("DROP QUERY never") == takes_effect
        with pytest.raises(UnknownName):
            both.there.sql("CREATE QUERY wrong AS SELECT nothing FROM a")
    finally:
        faults.disarm(place)
    both.there.process_available()
    assert not running.coming
    assert "runs from batch" in both.there.explain("sums", sums.plan)
    both.here.push("a", rows(20, 40))
    both.here.sql(f"DROP QUERY goes; CREATE QUERY sums AS {SUMS}")
    both._sent = 40
    both.send(60)
    both.finish()
    both.check("counts", "sums")


def test_the_last_query_of_a_pipeline_is_dropped_while_a_batch_runs(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = faults.folder()
    assert place is not None
    (tmp_path / "a").mkdir()
    into = f"INTO parquet '{tmp_path}/out'"
    engine = Engine(spark)
    engine.sql(STREAM.format(name="a", origin=f"FROM parquet '{tmp_path}/a'"))
    engine.sql(f"CREATE QUERY large {into} AS {LARGE}")
    engine.start()
    faults.arm(place, "deliver.computed", "hold")
    try:
        send(tmp_path, 0, 20)
        while not faults.hits(place):
            time.sleep(0.01)
        assert engine.sql("DROP QUERY large") == "large ends with the micro-batch that runs"
        assert not engine._running
    finally:
        faults.disarm(place)
    # Its place is free when the batch is over, which was delivered.
    engine.sql(f"CREATE QUERY large {into} AS {LARGE}")
    send(tmp_path, 20, 40)
    engine.finish()
    assert sorted(results_in(tmp_path / "out")["v"]) == list(range(0, 40, 5))
