"""Specs: an operator as a value, with all that it is built from.

A spec holds expressions, windows, aggregates and join conditions, and nothing that runs. Whatever
an operator needs to know stands in its spec, also what other operators ask of it: which panes and
functions a store keeps for all its readers, whether a join punctuates pairs of timestamps, what
becomes of late rows. `build` makes the operator; nothing is told to it afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from penstock.kernel.aggregation.two_level.flush import Flush
from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.kernel.joins.sequences.spec import SequenceSpec
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.joins.table_join import TableJoinSpec
from penstock.model.aggregates import Aggregate
from penstock.model.emit import Emit
from penstock.model.exploding import Exploding
from penstock.model.expressions import Expression, Named
from penstock.model.match import MatchDefinition
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.redaction import redacted, redacted_options
from penstock.windows import Sliding, Tagged, Window
from penstock.windows.panes import Panes

#: The tactic of joins whose pairs leave as soon as they exist.
PLAIN = "OAJoin"

Results: TypeAlias = tuple[tuple[str, Aggregate], ...]
"""Aggregates under the names of their results."""


@dataclass(frozen=True)
class Spec:
    """Root of all specs. `has_state`: something of it is lost where it does not run any more."""

    has_state: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The operator's, for EXPLAIN and for the ids of what runs."""
        return type(self).__name__.removesuffix("Spec")


#: Options by formats that say how fast rows are read, and what becomes of such as are gone.
_HOW_READ = {
    "kafka": (
        *("failondataloss", "maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"),
        *("minpartitions", "maxrecordsperpartition"),
    ),
    "redis": ("removed", "maxrowspertrigger"),
    **dict.fromkeys(("parquet", "csv", "json"), ("unreadable",)),
}


@dataclass(frozen=True)
class SourceSpec(Spec):
    """Where a stream's rows come in; `with_late`: also those below its bound.

    `since` tells from when on: operators over rows of different spans are different operators, with
    state of their own. 0 is the beginning; a later number names a change of the running program.
    Below 0 it names one, too, and means that rows are read again from the beginning.
    """

    has_state = False

    stream: Stream
    with_late: bool = False
    since: int = 0

    @classmethod
    def of(cls, stream: Stream, *, with_late: bool = False, since: int = 0) -> SourceSpec:
        """Without what does not count: secrets, and how the source is read, and not what.

        With others it is still the same stream, and a checkpoint goes on.
        """
        origin = stream.origin
        passed = _HOW_READ.get(origin.format, ())
        options = [(n, v) for n, v in origin.options if n.lower() not in passed]
        shown = replace(
            origin,
            path=None if origin.path is None else redacted(origin.path),
            options=tuple(sorted(redacted_options(options, origin.format).items())),
        )
        return cls(replace(stream, origin=shown), with_late, since)

    @property
    def name(self) -> str:
        return self.stream.origin.format


@dataclass(frozen=True)
class SelectSpec(Spec):
    has_state = False

    predicate: Expression


@dataclass(frozen=True)
class ProjectSpec(Spec):
    has_state = False

    columns: tuple[Named, ...]
    nullable: tuple[str, ...] = ()  # of the columns that progress below


@dataclass(frozen=True)
class ExplodeSpec(Spec):
    """`kept`: the columns that are repeated for each element."""

    has_state = False

    kept: tuple[Column, ...]
    of: Exploding


@dataclass(frozen=True)
class NumberSpec(Spec):
    """Rows get the number in which they come."""


@dataclass(frozen=True)
class MeldSpec(Spec):
    has_state = False

    inputs: int


@dataclass(frozen=True)
class MergeSpec(Spec):
    """`others`: further columns that progress."""

    inputs: int
    on: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class TagSpec(Spec):
    """Rows say by which input of a union they came."""

    has_state = False

    number: int


@dataclass(frozen=True)
class OrderSpec(Spec):
    """`others`: further columns that progress."""

    on: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class BucketSpec(Spec):
    """`every`: it also counts the periods of an EMIT EVERY."""

    has_state = False

    window: Tagged
    every: int | None = None


@dataclass(frozen=True)
class WindowSpec(Spec):
    """An aggregate by `algorithm`, the operator's name.

    `consistent`: a late row is taken by all its windows or by none.
    """

    algorithm: str
    groups: tuple[str, ...]
    results: Results
    window: Window
    emit: Emit | None = None
    consistent: bool = False

    @property
    def name(self) -> str:
        return self.algorithm


@dataclass(frozen=True)
class LowLevelSpec(Spec):
    groups: tuple[str, ...]
    results: Results
    size: int
    flush: Flush


@dataclass(frozen=True)
class PaneStoreSpec(Spec):
    """The panes and functions that all its readers need; `adapts`: groups as partials or rows."""

    groups: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    panes: Panes
    adapts: bool = False

    @property
    def name(self) -> str:
        return "AdaptPaneStore" if self.adapts else "PaneStore"


@dataclass(frozen=True)
class PanedWidSpec(Spec):
    """Windows out of the panes of its input, a store."""

    groups: tuple[str, ...]
    results: Results
    window: Sliding


@dataclass(frozen=True)
class AlignWindowsSpec(Spec):
    groups: tuple[str, ...]
    sides: tuple[Results, ...]
    columns: tuple[str, ...]
    window: Sliding


@dataclass(frozen=True)
class HandoverSpec(Spec):
    """Reads two aggregates of one window: of the first, results of windows that end by `until`."""

    window: Sliding
    until: int


@dataclass(frozen=True)
class SGBSpec(Spec):
    """Reads two aggregates of one window, the first of rows from before a moment, the second of
    those from then on: windows that end by `until` may have rows of the first.

    `results` have the functions that make one result of two.
    """

    window: Sliding
    until: int
    groups: tuple[str, ...]
    results: Results


@dataclass(frozen=True)
class ParallelTrackSpec(Spec):
    """Reads two boxes of joins over the same leaves, of which the second has begun empty.

    `until` are the columns that carry the leaves' times, and the latest of each that only the first
    has stored. `twin` tells operators above apart from those of another query, which compute the
    same and have come from elsewhere. `published`: the first box goes when it stores no such row,
    and not as soon as no result needs one.
    """

    until: tuple[tuple[str, int], ...] = ()
    twin: int = 0
    published: bool = False


@dataclass(frozen=True)
class UpToLastRowSpec(Spec):
    """Reads an aggregate, and the rows that its windows count."""

    window: Sliding


@dataclass(frozen=True)
class WindowJoinSpec(Spec):
    """A join of two inputs, or of several at once; `tactic` is its tactic's name.

    `joint`: it punctuates pairs of timestamps, too. `alpha`: where Adaptive switches. `twin` tells
    it apart from one of another query, which computes the same and holds other results back.
    """

    tactic: str
    join: JoinSpec | MJoinSpec
    joint: bool = False
    alpha: float | None = None
    twin: int = 0

    @property
    def name(self) -> str:
        several = isinstance(self.join, MJoinSpec) and self.tactic == PLAIN
        return "MJoin" if several else self.tactic


@dataclass(frozen=True)
class StaticJoinSpec(Spec):
    has_state = False

    join: TableJoinSpec

    @property
    def name(self) -> str:
        return "TableJoin"


@dataclass(frozen=True)
class MatchRecognizeSpec(Spec):
    match: MatchDefinition


@dataclass(frozen=True)
class SequenceJoinSpec(Spec):
    """A step of a sequence behind those before it."""

    sequence: SequenceSpec

    @property
    def name(self) -> str:
        return f"{self.sequence.mode.value.title()}Sequence"
