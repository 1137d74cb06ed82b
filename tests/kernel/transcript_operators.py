"""What a transcript's `operator` names: the operators it is played on, one behind the other.

Aggregates count rows and add up `v`; joins are of `l` and `r` (and `m`), with columns k, v and ts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from penstock.kernel.aggregation.adapt.adapt_pane_store import AdaptPaneStore
from penstock.kernel.aggregation.adapt.adapt_wid import AdaptWid
from penstock.kernel.aggregation.align_windows import AlignWindows
from penstock.kernel.aggregation.baselines.buffering import Buffering
from penstock.kernel.aggregation.baselines.buffering_incremental import BufferingIncremental
from penstock.kernel.aggregation.handover import Handover
from penstock.kernel.aggregation.panes.pane_store import PaneStore
from penstock.kernel.aggregation.panes.paned_wid import PanedWid
from penstock.kernel.aggregation.partitioned import PartitionedAggregate
from penstock.kernel.aggregation.session import SessionAggregate
from penstock.kernel.aggregation.sgb import SGB
from penstock.kernel.aggregation.two_level.flush import Flush
from penstock.kernel.aggregation.two_level.two_level import HighLevel, LowLevel
from penstock.kernel.aggregation.up_to_last_row import UpToLastRow
from penstock.kernel.aggregation.wid.bins import BinsAggregate
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.landmark import LandmarkAggregate
from penstock.kernel.aggregation.wid.revisions import PeriodBucket, RevisingLandmark, RevisingWid
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.joins.baselines.global_order import GlobalOrder
from penstock.kernel.joins.mjoin import MEdge, MJoinSpec
from penstock.kernel.joins.sequences.sequence import SequenceJoin
from penstock.kernel.joins.sequences.spec import SequenceSpec
from penstock.kernel.joins.spec import SideSpec
from penstock.kernel.joins.table_join import TableJoin, TableJoinSpec
from penstock.kernel.joins.tactics.adaptive import Adaptive
from penstock.kernel.joins.tactics.filter_order import FilterOrder
from penstock.kernel.joins.tactics.opib import OPIB
from penstock.kernel.joins.tactics.opob import OPOB
from penstock.kernel.joins.tactics.sync_filter import SyncFilter
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.tsm_join import TSM, TSMJoin
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.matching.match_recognize import MatchRecognize
from penstock.kernel.migration.parallel_track import ParallelTrack
from penstock.kernel.operator import Operator
from penstock.kernel.operators.explode import Explode
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.kernel.operators.number import Number
from penstock.kernel.operators.order import Order
from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.kernel.operators.tag import Tag
from penstock.kernel.state import to_ipc
from penstock.local.engine import LocalEngine
from penstock.model.aggregates import Aggregate
from penstock.model.emit import Emit
from penstock.model.exploding import Exploding
from penstock.model.expressions import Call, Literal, Named, Ref
from penstock.model.joins import JoinKind
from penstock.model.schema import Column
from penstock.model.sequences import SequenceMode
from penstock.model.tables import StaticTable
from penstock.model.types import ArrayType, Type
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.windows import (
    Band,
    Landmark,
    Partitioned,
    Session,
    SlideByRank,
    SlideByRowNumber,
    SlideByTuple,
    Sliding,
)
from penstock.windows.panes import common_panes
from tests.kernel.joins.feeding import COLUMNS, spec

V, TS = Ref("v", Type.BIGINT), Ref("ts", Type.BIGINT)
RESULTS = (("n", Aggregate("count")), ("total", Aggregate("sum", V)))

TACTICS: dict[str, Callable[[], Tactic]] = {
    "oa_join": Tactic,
    "tsm_join": TSM,
    "opob_join": OPOB,
    "opib_join": OPIB,
    "sync_filter": SyncFilter,
    "filter_order": FilterOrder,
    "global_order_join": GlobalOrder,
    # No time passes while it joins: it never finds that joining costs too much.
    "adaptive_order": lambda: Adaptive(alpha=0.05, worked=lambda: 0.0),
}


def build(operator: dict[str, Any], ports: int) -> list[Operator]:
    """The chain of operators that a transcript is about."""
    [(name, options)] = operator.items()
    options = options or {}
    groups = tuple(options.get("groups", ()))
    if name in TACTICS:
        kind = JoinKind(options.get("kind", "inner"))
        joined = spec(Band(*options["band"]), *options["keys"], kind=kind)
        return [(TSMJoin if name == "tsm_join" else WindowJoin)(joined, TACTICS[name]())]
    if name in SLIDING:
        window = Sliding("ts", options["range"], options["slide"])
        return SLIDING[name](groups, window, options)
    match name:
        case "meld":
            return [Meld(ports)]
        case "merge":
            return [Merge(ports, options["by"], options.get("others", ()))]
        case "order":
            return [Order("ts", (options or {}).get("others", ()))]
        case "number":
            return [Number()]
        case "explode":
            tags = Ref("tags", ArrayType(Type.STRING))
            return [Explode([Column("ts", Type.BIGINT)], Exploding(tags, ("tag",)))]
        case "parallel_track":
            return [ParallelTrack([("ts", options["until"])])]
        case "tag":
            return [Tag(options["source"])]
        case "select":
            return [Select(Call(">", (V, Literal(options["above"], Type.BIGINT))))]
        case "project":
            twice = Call("*", (V, Literal(2, Type.BIGINT)))
            return [Project((Named("at", TS), Named("twice_v", twice)))]
        case "landmark":
            landmark = Landmark("ts", options["slide"], 0)
            if "every" in options:
                emit = Emit(options["every"], is_time=False)
                bucket = PeriodBucket(landmark, options["every"])
                return [bucket, RevisingLandmark(groups, RESULTS, landmark, emit)]
            return [Bucket(landmark), LandmarkAggregate(groups, RESULTS, landmark)]
        case "slide_by_tuple":
            ended = SlideByTuple("ts", options["range"])
            return [Bucket(ended), BinsAggregate(groups, RESULTS, ended)]
        case "slide_by_rank":
            ranked = SlideByRank("ts", options["range"], options["every"])
            return [Bucket(ranked), BinsAggregate(groups, RESULTS, ranked)]
        case "slide_by_row_number":
            numbered = SlideByRowNumber("ts", options["range"], options["every"], "row_num")
            return [Bucket(numbered), BinsAggregate(groups, RESULTS, numbered)]
        case "session":
            session = Session("ts", options["gap"], tuple(options.get("partition", ())))
            return [SessionAggregate(groups, RESULTS, session)]
        case "partitioned":
            rows = Partitioned("ts", options["range"], options["slide"], groups)
            return [PartitionedAggregate(groups, RESULTS, rows)]
        case "align_windows":
            longest = Sliding("ts", options["longest"], options["slide"])
            sides = ([("n", Aggregate("count"))], [("total", Aggregate("sum", V))])
            return [AlignWindows(groups, sides, ("n", "total"), longest)]
        case "handover":
            window = Sliding("ts", options["range"], options["slide"])
            return [Handover(window, options["until"])]
        case "sgb":
            window = Sliding("ts", options["range"], options["slide"])
            functions = {"n": "sum", "total": "sum", "least": "min"}
            parts = [(n, Aggregate(of, Ref(n, Type.BIGINT))) for n, of in functions.items()]
            return [SGB(window, options["until"], groups, parts)]
        case "up_to_last_row":
            return [UpToLastRow(Sliding("row_num", options["range"], options["slide"], 0, "rows"))]
        case "mjoin":
            return [_mjoin(Band(*options["band"]), TACTICS[options.get("tactic", "oa_join")]())]
        case "sequence":
            return [_sequence(options)]
        case "match":
            return [_match(options["clauses"])]
        case "table_join":
            return [_table_join(options)]
    raise KeyError(name)


def _panes(store: type[PaneStore]) -> Callable[..., list[Operator]]:
    def chain(groups: tuple[str, ...], window: Sliding, _: Any) -> list[Operator]:
        kept = store(groups, [aggregate for _, aggregate in RESULTS], common_panes([window]))
        return [kept, PanedWid(kept, groups, RESULTS, window)]

    return chain


def _behind_bucket(aggregate: type[WidAggregate]) -> Callable[..., list[Operator]]:
    return lambda groups, window, options: [
        Bucket(window),
        aggregate(groups, RESULTS, window, consistent=options.get("consistent", False)),
    ]


def _two_levels(groups: tuple[str, ...], window: Sliding, options: Any) -> list[Operator]:
    flush = Flush(options.get("flush", "lazy"), windows=1)
    low = LowLevel(groups, RESULTS, options["size"], flush)
    return [Bucket(window), low, HighLevel(groups, RESULTS, window)]


def _revising(groups: tuple[str, ...], window: Sliding, options: Any) -> list[Operator]:
    every = options.get("every")
    bucket = Bucket(window) if every is None else PeriodBucket(window, every)
    return [bucket, RevisingWid(groups, RESULTS, window, Emit(every, is_time=False))]


#: Operators over sliding windows.
SLIDING: dict[str, Callable[..., list[Operator]]] = {
    "wid": _behind_bucket(WidAggregate),
    "adapt": _behind_bucket(AdaptWid),
    "buffering": _behind_bucket(Buffering),
    "buffering_incremental": _behind_bucket(BufferingIncremental),
    "paned": _panes(PaneStore),
    "adapt_paned": _panes(AdaptPaneStore),
    "two_level": _two_levels,
    "emit": _revising,
}


def _match(clauses: str) -> MatchRecognize:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k STRING, v BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED")
    engine.sql(f"CREATE VIEW m AS SELECT * FROM s MATCH_RECOGNIZE ({clauses})")
    plan = engine.catalog.relation("m")
    assert plan is not None
    [match] = [node.match for node in walk(plan) if isinstance(node, nodes.MatchRecognize)]
    return MatchRecognize(match)


def _sequence(options: dict[str, Any]) -> SequenceJoin:
    sides = spec(Band(0, 0), "k").sides
    mode, within = SequenceMode(options["mode"]), options.get("within")
    return SequenceJoin(SequenceSpec(sides, ("l.ts", "r.ts"), mode, within, (("k", "k"),)))


def _mjoin(band: Band, tactic: Tactic) -> WindowJoin:
    """Three inputs l, r and m, each joined with the next by k."""
    names = ("l", "r", "m")
    pairs = [
        (Ref(f"{one}.k", Type.STRING), Ref(f"{other}.k", Type.STRING))
        for one, other in (("l", "r"), ("r", "m"))
    ]
    edges = tuple(MEdge((n, n + 1), band, (pair,)) for n, pair in enumerate(pairs))
    inputs = tuple(SideSpec(name, COLUMNS, "ts") for name in names)
    output = tuple(f"{name}.{column.name}" for name in names for column in COLUMNS)
    conditions = tuple(Call("=", pair) for pair in pairs)
    return WindowJoin(MJoinSpec(inputs, edges, conditions, output, ("l.ts", "m.ts")), tactic)


def _table_join(options: dict[str, Any]) -> TableJoin:
    columns = (Column("k", Type.STRING), Column("name", Type.STRING))
    table = StaticTable("t", columns, content=to_ipc(pl.DataFrame(options["table"])))
    kind = JoinKind(options.get("kind", "inner"))
    return TableJoin(TableJoinSpec(("l", "t"), COLUMNS, table, (("k", "k"),), kind=kind))
