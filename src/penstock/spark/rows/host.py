"""RowHost: the kernel graph of a pipeline without groups, which the driver runs.

It is a `GroupHost` that gets the messages of all tasks: how far streams have come, punctuation, and
the rows that tasks did not serve, because these have no time, or are late and do not go in like
others. What it knows then is small, and lies in the checkpoint, a file for each of the last
batches:

    rows/7.json        what is known by the batches before 7

`8.json` is written when the results of batch 7 have been delivered, before Spark commits it. So it
is there when batch 8 begins, and says the same when Spark repeats batch 8. A batch that is repeated
begins from its file, whatever became of the first attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.checkpoint.layout import NumberedFiles
from penstock.errors import PenstockBug
from penstock.io.storage.sealed import PRIVATE_FOLDER, read_sealed, write_sealed
from penstock.kernel.segments import Segment
from penstock.kernel.state import from_ipc
from penstock.optimizer.physical import Program
from penstock.runtime.snapshot import describe, restore
from penstock.spark.control import told
from penstock.spark.control.told import Told
from penstock.spark.delivery.delivery import RESULT, STAGED, OutputRows
from penstock.spark.delivery.group_reports import GroupReport
from penstock.spark.delivery.staging import told_of
from penstock.spark.epochs import Epoch
from penstock.spark.exchange.messages import Message, QueryResults, RowFigures, StagedResults
from penstock.spark.faults import reach, step
from penstock.spark.group_host import Answers, GroupHost
from penstock.spark.group_messages import arrivals
from penstock.spark.state.spark_files import damaged

#: So many files are kept. Spark repeats the last batch only.
KEPT = 10
#: The only group there is.
GROUP = 0


class RowHost:
    """Runs a program, and another one where a batch begins with that."""

    def __init__(self, files: NumberedFiles) -> None:
        self._files = files
        self._epoch: Epoch | None = None  # that the graph belongs to
        self._host: GroupHost | None = None
        self._next = -1  # the batch before which the graph stands
        #: What it reports of the batch that was processed last.
        self.report = GroupReport()

    def open(self, batch: int, epoch: Epoch, sinks: Mapping[str, Sequence[str]]) -> Told:
        """Stand before a batch; gives what its tasks are to be told, with these sinks."""
        if self._host is None or self._next != batch or epoch is not self._epoch:
            self._host = self._restored(batch, epoch.program)
            self._next, self._epoch = batch, epoch
        host = self._host
        return Told(
            host.on_time_from(),
            sinks,
            told.STAGED_FROM,
            host.pass_late(),
            program=epoch.shipped,
        )

    def process(self, batch: int, messages: Sequence[Message]) -> list[OutputRows]:
        """Carry a batch through; gives everything that is to be delivered.

        Messages are in the order of their tasks.
        """
        host, self._host = self._host, None  # another attempt must not find it half way
        if host is None or self._epoch is None or self._next != batch:
            raise PenstockBug(f"batch {batch} was not opened")
        answers = host.process(arrivals(host.program, messages))
        self.report = _with_rows_of_tasks(host.report(answers), messages)
        self._processed = host
        reach("rows.processed")
        return [*_served(messages), *_answered(answers)]

    def keep(self, batch: int) -> None:
        """Keep what is known now: a batch was delivered."""
        host = self._processed
        directory, segments = describe(host.states(), host.graph)
        if segments:
            raise PenstockBug("operators over single rows keep rows")
        self._files.folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        for _ in step("rows.keep"):
            write_sealed(self._files.file(batch + 1), directory)
        self._files.file(batch + 1 - KEPT).unlink(missing_ok=True)
        self._host, self._next = host, batch + 1
        reach("rows.kept")

    def _restored(self, batch: int, program: Program) -> GroupHost:
        """The graph as the batches before this one have left it."""
        host = GroupHost(program)
        if batch == 0:
            return host
        file = self._files.file(batch)
        if not file.exists():
            raise damaged(file, "is gone")
        kept = read_sealed(file)
        restore(host.states(), host.graph, kept, _no_segment)
        if any(name not in kept["states"] for name, _ in host.states()):
            host.repeat_bounds()
        return host


def _with_rows_of_tasks(report: GroupReport, messages: Iterable[Message]) -> GroupReport:
    """The report with rows that operators have read and put out in tasks."""
    operators = {each.name: each for each in report.operators}
    for message in messages:
        if isinstance(message, RowFigures):
            for name, (rows_in, rows_out) in message.operators.items():
                each = operators[name]
                operators[name] = replace(
                    each, rows_in=each.rows_in + rows_in, rows_out=each.rows_out + rows_out
                )
    return replace(report, operators=[*operators.values()])


def _served(messages: Sequence[Message]) -> list[OutputRows]:
    """The results that tasks have sent, and the files of those that they have written."""
    found: list[OutputRows] = []
    for message in messages:
        if isinstance(message, StagedResults):
            staged = told_of(message.payload)
            found.append((GROUP, staged.item(0, "query"), STAGED, staged))
        elif isinstance(message, QueryResults):
            found.append((GROUP, message.query, RESULT, from_ipc(message.payload)))
    return found


def _answered(answers: Answers) -> list[OutputRows]:
    """What came of rows that the graph has seen."""
    found: list[OutputRows] = [
        (GROUP, name, RESULT, rows) for name, rows in answers.results.items()
    ]
    found += [
        (GROUP, name, reason.value, rows) for (name, reason), rows in answers.rejected.items()
    ]
    return found


def _no_segment(number: int, purged: int) -> Segment:
    raise PenstockBug(f"segment {number} of a graph that keeps no rows")
