"""Told: what the driver tells the tasks of a batch, as a local property of its job.

It is not logged, so a batch that is repeated may be told something else: results must not depend on
it, only how they are computed. But for the program, for what is read again, for the batch's
clock, and for files that are skipped, which the checkpoint has for every batch
(`state/program_log.py`, `catching_up/slice_log.py`, `state/spark_files.py`,
`sources/unreadable_files.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

#: The property's name.
TOLD = "penstock.told"
#: Fewer results may as well go to the driver, which writes them all at once.
STAGED_FROM = 50_000
#: Fewer bytes may as well travel in a message.
SHARED_FROM = 64 << 10


@dataclass(frozen=True)
class Told:
    """What the driver tells the tasks of a batch.

    From which time on rows of streams are surely on time, and the sinks (format, folder) of queries
    whose results tasks may write; a group writes its own if there are as many as `staged_from`.
    Late rows of the streams that `pass_late` names go in like others, and are counted. With `folds`
    tasks may aggregate for the groups. `memory` is the folder by which they hand blocks of
    `shared_from` bytes over. `program` names the program to run (`shipped_programs.py`); empty: the
    one that came with the code. `again` are the files that queries of each change read again, by
    change and stream (`catching_up/`), whose rows are spread by `keys` over `groups`. `now` is
    the batch's clock, where rows are measured by it; `unreadable` are files that are skipped, by
    stream; `running` the queries of Spark's that run in this driver.
    """

    on_time_from: Mapping[str, int] = field(default_factory=dict)
    sinks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    staged_from: int = STAGED_FROM
    pass_late: Sequence[str] = ()
    folds: bool = True
    memory: str | None = None
    shared_from: int = SHARED_FROM
    program: str = ""
    again: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    groups: Sequence[int] = ()
    now: int | None = None
    unreadable: Mapping[str, Sequence[str]] = field(default_factory=dict)
    running: Sequence[str] = ()

    @classmethod
    def of(cls, text: str | None) -> Told:
        return cls(**json.loads(text)) if text else cls()

    def as_text(self) -> str:
        return json.dumps(asdict(self))
