"""Checkpoints, results and inputs that were damaged: a clear error or the right answer.

A run over two files is stopped; one file of what it has left is damaged; a third file comes, and
the run is continued to its end. Everything is real: every kind of file that lies there is emptied,
cut in half, deleted, and has a bit flipped, one at a time. PENSTOCK_DAMAGE, a regular expression,
chooses among these: PENSTOCK_DAMAGE='offsets/N (cut|flipped)'.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine
from tests.spark.packets import same, write_packets

DAMAGES = ("emptied", "cut", "flipped", "deleted")

SQL = """
CREATE STREAM packets
  (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  FROM parquet '{data}' OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 3 SECONDS
  LATE INTO csv '{out}/aside';
CREATE QUERY counts INTO csv '{out}/counts' AS
  SELECT srcIP, count(*) AS n, sum(len) AS bytes FROM packets [RANGE 1 SECOND] GROUP BY srcIP;
CREATE QUERY pairs INTO parquet '{out}/pairs' AS
  SELECT a.srcIP, a.len AS one, b.len AS other FROM packets a LEFT JOIN packets b
  ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort < b.srcPort WITHIN 1 SECOND;
"""
QUERIES = ("counts", "pairs")


def kind_of(file: Path) -> str:
    """A file's path with everything numbered taken for the same."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<![a-z])[0-9a-f]{16,}|\d+", "N", str(file))


def kinds(folder: Path) -> dict[str, Path]:
    """The newest file of every kind."""
    files = (file for file in folder.rglob("*") if file.is_file())
    found: dict[str, Path] = {}
    for file in sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name)):
        found[kind_of(file.relative_to(folder))] = file
    return found


def damage(file: Path, how: str) -> None:
    content = bytearray(file.read_bytes())
    match how:
        case "emptied":
            file.write_bytes(b"")
        case "cut":
            file.write_bytes(bytes(content[: len(content) // 2]))
        case "flipped":
            if content:
                content[len(content) // 2] ^= 1
            file.write_bytes(bytes(content))
        case "deleted":
            file.unlink()


class Story:
    """A run that was stopped, kept as it was left, to be damaged and continued again and again."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.folder = folder
        self.place = folder / "out"
        self.text = SQL.format(data=folder / "in", out=self.place)
        write_packets(folder / "in", range(2), rows=300)
        self._run(finish=False)
        self.place.rename(folder / "kept")
        write_packets(folder / "in", range(2, 3), rows=300)
        self.expected = self._by_local_engine()

    def _by_local_engine(self) -> dict[str, pl.DataFrame]:
        engine = LocalEngine()
        text = re.sub(r"(LATE )?INTO \w+ '[^']*'", "", self.text)
        engine.sql(text)
        for _ in engine.read_files():
            pass
        engine.finish()
        return {name: engine.query(name).results() for name in QUERIES}

    def _run(self, finish: bool) -> None:
        engine = Engine(self._spark)
        engine.sql(self.text)
        try:
            engine.start()
            engine.process_available()
            if finish:
                engine.finish()
        finally:
            stop(engine)

    def put_back(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.folder / "kept", self.place, copy_function=shutil.copy2)

    def continued(self) -> str:
        """What became of it: right, wrong, or what was said."""
        try:
            self._run(finish=True)
        except HostError as refused:
            return str(refused)
        answers = {
            "counts": pl.concat(
                pl.read_csv(file, try_parse_dates=True)
                for file in sorted((self.place / "counts").glob("part-*"))
            ),
            "pairs": pl.read_parquet(self.place / "pairs" / "*.parquet"),
        }
        wrong = [name for name in QUERIES if not same(answers[name], self._like(name, answers))]
        return f"WRONG: {wrong}" if wrong else "right"

    def _like(self, name: str, answers: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        return self.expected[name].cast(answers[name].schema)


def stop(engine: Engine) -> None:
    with suppress(HostError):
        engine.stop()


@pytest.fixture
def story(spark: SparkSession, tmp_path: Path) -> Iterator[Story]:
    yield Story(spark, tmp_path)


def is_clear(said: str) -> bool:
    """Whether somebody knows what is wrong and what to do."""
    return said == "right" or (
        "this is a bug" not in said
        and "WRONG" not in said
        and "\n  " in said
        and bool(re.search(r"`[^`]*/[^`]*`|checkpoint", said))
    )


@pytest.mark.slow
def test_every_kind_of_file_may_be_damaged(story: Story) -> None:
    story.put_back()
    found = kinds(story.place)
    assert len(found) > 15
    outcomes: Counter[str] = Counter()
    unclear = []
    chosen = os.environ.get("PENSTOCK_DAMAGE", "")
    for kind, file in found.items():
        for how in DAMAGES:
            if chosen and not re.search(chosen, f"{kind} {how}"):
                continue
            story.put_back()
            damage(file, how)
            said = story.continued()
            outcomes["tried"] += 1
            outcomes["right"] += said == "right"
            print(f"{kind} {how}: {said}", flush=True)
            if not is_clear(said):
                unclear.append(f"{kind} {how}: {said}")
    wrong = sum("WRONG" in said for said in unclear)
    print(
        f"tried {outcomes['tried']}, right answers {outcomes['right']}, refused "
        f"{outcomes['tried'] - outcomes['right'] - wrong}, wrong answers {wrong}, "
        f"unclear {len(unclear)}"
    )
    assert not unclear, "\n".join(unclear)


@pytest.mark.slow
def test_inputs_may_be_damaged_and_mended_while_a_run_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder, text = tmp_path / "in", SQL.format(data=tmp_path / "in", out=tmp_path / "out")

    def run(finish: bool = False) -> str:
        engine = Engine(spark)
        engine.sql(text)
        try:
            engine.start()
            engine.finish() if finish else engine.process_available()
        except HostError as refused:
            return str(refused)
        finally:
            stop(engine)
        return "right"

    write_packets(folder, range(4), rows=300)
    bad = folder / "002.parquet"
    whole = bad.read_bytes()
    lost = 0
    (folder / "empty.parquet").touch()  # has no rows, and is named by `passed_over`
    for left in (whole[: len(whole) // 2], b"x", whole[:-4] + b"xxxx"):
        bad.write_bytes(left)
        os.utime(bad, (1_700_000_002, 1_700_000_002))
        said = run()
        assert "002.parquet" in said and "\n  " in said, said
        lost += 1
    # What has been read may be replaced: it is not read again.
    (folder / "000.parquet").write_bytes(b"something else")
    bad.write_bytes(whole)
    assert run(finish=True) == "right"
    write_packets(folder, range(1), rows=300)
    engine = LocalEngine()
    engine.sql(re.sub(r"(LATE )?INTO \w+ '[^']*'", "", text))
    for _ in engine.read_files():
        pass
    engine.finish()
    answer = pl.read_parquet(tmp_path / "out" / "pairs" / "*.parquet")
    assert same(answer, engine.query("pairs").results())
    print(f"inputs: {lost + 1} damages, 0 wrong answers, 0 lost, 0 doubled")
