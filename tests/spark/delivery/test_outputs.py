"""A directory of results belongs to one checkpoint, which finds it again as it left it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest

from penstock.errors import HostError
from penstock.io.results import write_part
from penstock.io.storage.output_folder import OutputFolder
from penstock.model.streams import Origin, Sink, Stream
from penstock.optimizer.physical import Program
from penstock.spark.delivery.batch_delivery import BatchDelivery
from penstock.spark.delivery.outputs import Destination, Outputs
from penstock.spark.engine import Engine
from penstock.spark.sources.checkpoint_place import check_is_not_read
from penstock.spark.state.checkpoint import Checkpoint
from tests.spark.state.programs import COUNT, ONE
from tests.spark.state.programs import program as program_of


class Run:
    """One run of a pipeline with one sink, as far as its directories go."""

    def __init__(self, checkpoint: Path, out: Path, format: str = "csv", whose: str = "query q"):
        self.checkpoint = Checkpoint(checkpoint, ONE)
        self.whose = whose
        try:
            self.outputs = Outputs(self.checkpoint, {whose: Destination(Sink(format, str(out)))})
            self.checkpoint.confirm(
                ONE, {w: asdict(each.place) for w, each in self.outputs.held.items()}
            )
        except BaseException:
            self.checkpoint.release()
            raise
        self.out = out

    def write(self, batch: int, rows: int = 3) -> Path:
        file = write_part(
            self.out, f"part-{batch:08d}", "csv", pl.DataFrame({"v": list(range(rows))})
        )
        manifest = self.outputs.held[self.whose].manifest
        assert manifest is not None
        manifest.add(batch, file, rows)
        for log in ("offsets", "commits"):
            (self.checkpoint.spark / log).mkdir(parents=True, exist_ok=True)
            Path(str(self.checkpoint.spark / log / str(batch))).write_text("v1\n{}\n-")
        return Path(str(file))

    def stop(self) -> None:
        self.outputs.release()
        self.checkpoint.release()


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The directory of a run that wrote two parts."""
    run = Run(tmp_path / "c", tmp_path / "out")
    run.write(0)
    run.write(1)
    run.stop()
    return tmp_path


def refused(checkpoint: Path, out: Path, **how: str) -> str:
    with pytest.raises(HostError) as caught:
        Run(checkpoint, out, **how)
    return str(caught.value)


def test_the_same_checkpoint_continues_it(ran: Path) -> None:
    run = Run(ran / "c", ran / "out")
    run.write(2)
    run.stop()
    assert len(list((ran / "out").glob("part-*"))) == 3


def test_another_checkpoint_is_refused_while_and_after_it_is_written(tmp_path: Path) -> None:
    first = Run(tmp_path / "c", tmp_path / "out")
    first.write(0)
    assert "another run is writing" in refused(tmp_path / "d", tmp_path / "out")
    first.stop()
    assert "holds results already" in refused(tmp_path / "e", tmp_path / "out")
    other = Run(tmp_path / "f", tmp_path / "there")
    other.write(0)
    other.stop()
    message = refused(tmp_path / "f", tmp_path / "out")
    assert "holds results of another checkpoint" in message
    assert f"continue into csv `{tmp_path / 'there'}`" in message
    Run(tmp_path / "c", tmp_path / "out").stop()


def test_a_directory_in_which_nothing_was_written_may_be_taken_over(tmp_path: Path) -> None:
    Run(tmp_path / "c", tmp_path / "out").stop()
    other = Run(tmp_path / "d", tmp_path / "out")
    other.write(0)
    other.stop()
    assert "holds results already" in refused(tmp_path / "c", tmp_path / "out")


def test_another_place_is_refused_with_the_old_one(ran: Path) -> None:
    message = refused(ran / "c", ran / "other")
    assert f"query q was written into csv `{ran / 'out'}` so far" in message
    assert "move that directory as a whole" in message
    assert "was written into csv" in refused(ran / "c", ran / "out", format="parquet")
    assert "query p was written nowhere so far" in refused(ran / "c", ran / "out", whose="query p")
    Run(ran / "c", ran / "out").stop()


def test_a_directory_that_was_moved_is_followed(ran: Path) -> None:
    (ran / "out").rename(ran / "moved")
    run = Run(ran / "c", ran / "moved")
    run.write(2)
    run.stop()
    Run(ran / "c", ran / "moved").stop()
    assert f"was written into csv `{ran / 'moved'}` so far" in refused(ran / "c", ran / "out")
    (ran / "moved").rename(ran / "lost")
    assert "part-00000000.csv` is gone" in refused(ran / "c", ran / "moved")


def test_a_lost_mark_is_made_again_where_everything_else_fits(ran: Path) -> None:
    [mark] = (ran / "out").glob("_owner.*")
    mark.unlink()
    Run(ran / "c", ran / "out").stop()
    assert mark.exists()


def test_a_part_that_was_deleted_or_edited_is_named(ran: Path) -> None:
    part = ran / "out" / "part-00000000.csv"
    whole = part.read_text()
    part.write_text(whole.replace("2", "7"))
    assert "part-00000000.csv` was changed since" in refused(ran / "c", ran / "out")
    part.unlink()
    assert "part-00000000.csv` is gone, with 3 rows" in refused(ran / "c", ran / "out")
    part.write_text(whole)
    Run(ran / "c", ran / "out").stop()


def test_what_an_unfinished_batch_wrote_is_removed(ran: Path) -> None:
    run = Run(ran / "c", ran / "out")
    part = run.write(2)
    (run.checkpoint.spark / "commits" / "2").unlink()  # killed before it was over
    (ran / "out" / ".part-00000003.csv").write_text("half")
    run.stop()
    Run(ran / "c", ran / "out").stop()
    assert not part.exists()
    assert not (ran / "out" / ".part-00000003.csv").exists()


@pytest.mark.parametrize("name", ["programs/0.json", "results/query q"])
@pytest.mark.parametrize("damage", ["gone", "empty", "half", "flipped"])
def test_every_damaged_list_is_named(ran: Path, name: str, damage: str) -> None:
    file = ran / "c" / name
    content = bytearray(file.read_bytes())
    if damage == "gone":
        file.unlink()
    else:
        content[len(content) // 3] ^= 16
        left = {"empty": b"", "half": bytes(content[:40]), "flipped": bytes(content)}[damage]
        file.write_bytes(left)
    message = refused(ran / "c", ran / "out")
    assert name in message or (damage == "gone" and "programs` is gone" in message)


def test_a_checkpoint_without_batches_takes_no_results_away(ran: Path) -> None:
    (ran / "c" / "spark").rename(ran / "c" / "lost")
    assert "holds results already" in refused(ran / "c", ran / "out")
    assert len(list((ran / "out").glob("part-*"))) == 2


def test_a_checkpoint_is_not_kept_where_a_stream_reads(tmp_path: Path) -> None:
    stream = Stream("s", (), origin=Origin("csv", str(tmp_path / "in")))
    check_is_not_read(tmp_path / "kept", [stream])
    with pytest.raises(HostError, match="where the checkpoint would be"):
        check_is_not_read(tmp_path / "in" / "kept", [stream])


def test_another_key_of_a_server_is_another_place(tmp_path: Path) -> None:
    def described(key: str) -> None:
        checkpoint = Checkpoint(tmp_path / "c", ONE)
        try:
            sink = Sink("redis", "redis://:pw@h", (("key", key),))
            outputs = Outputs(checkpoint, {"query q": Destination(sink)})
            noted = {whose: asdict(each.place) for whose, each in outputs.held.items()}
            checkpoint.confirm(ONE, noted)
            for log in ("offsets", "commits"):
                (checkpoint.spark / log).mkdir(parents=True, exist_ok=True)
                Path(str(checkpoint.spark / log / "0")).write_text("v1\n{}\n-")
        finally:
            checkpoint.release()

    described("a")
    described("a")
    with pytest.raises(HostError, match=r"into redis `redis://:\*\*\*@h key a` so far"):
        described("b")


def test_a_query_that_asks_for_something_else_notes_its_batches_apart(tmp_path: Path) -> None:
    """The batch that is repeated may have been written by the query that was there before."""
    table = {"query q": Destination(Sink("delta", str(tmp_path / "table")))}

    def writer(program: Program) -> str:
        checkpoint = Checkpoint(tmp_path / "c", program, accept_changes=True)
        outputs = Outputs(checkpoint, table)
        checkpoint.confirm(program, {w: asdict(each.place) for w, each in outputs.held.items()})
        for log in ("offsets", "commits"):
            (checkpoint.spark / log).mkdir(parents=True, exist_ok=True)
            Path(str(checkpoint.spark / log / "0")).write_text("v1\n{}\n-")
        checkpoint.release()
        return outputs.held["query q"].place.writer

    other = program_of({"q": COUNT.format(s=1)})
    assert [writer(ONE), writer(ONE)] == ["", ""]
    changed = writer(other)
    assert changed
    assert writer(other) == changed, "it goes on as before"
    assert writer(ONE) not in ("", changed)


def test_the_name_of_a_query_may_be_written_in_another_case(ran: Path) -> None:
    folder = OutputFolder(ran / "out")
    assert folder.owner is not None
    folder.own(folder.owner.replace("query-q", "query-Q"))
    folder.release()
    Run(ran / "c", ran / "out").stop()


@pytest.mark.parametrize(
    ("noted", "first_of", "expected"),
    [
        (None, {"s"}, "late"),
        (None, set(), "late/r"),
        ("late/q", set(), "late/q"),
        ("late/q", {"s"}, "late/q"),
        ("late", set(), "late"),
        ("elsewhere", set(), "late/r"),
    ],
)
def test_late_rows_go_on_where_they_went_whichever_queries_there_are(
    tmp_path: Path, noted: str | None, first_of: set[str], expected: str
) -> None:
    engine = Engine()
    engine.sql(
        f"CREATE STREAM s (k INT, ts TIMESTAMP) FROM csv 'in' TIMESTAMP BY ts "
        f"LATE INTO csv '{tmp_path}/late'"
    )
    delivery = BatchDelivery.__new__(BatchDelivery)
    delivery._engine, delivery._first_of, delivery._first = engine, frozenset(first_of), "r"
    place = None if noted is None else {"place": str(tmp_path / noted)}
    sink = delivery._late_sink("s", place)
    assert sink is not None
    assert sink.path == str(tmp_path / expected)
