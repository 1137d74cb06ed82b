"""A node that exists is valid: what is wrong is refused when it is built."""

from __future__ import annotations

import pickle

import pytest

from penstock.errors import CannotJoin, CannotWindow, DuplicateName, TypeMismatch, UnknownName
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Call, Expression, Literal, Named, Ref
from penstock.model.joins import JoinKind
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.plan.nodes import (
    Edge,
    Join,
    Project,
    Result,
    Select,
    Source,
    Union,
    WindowAggregate,
)
from penstock.windows import Sliding, sliding_band

BIDS = Source(
    Stream(
        "bids",
        (Column("item", Type.STRING), Column("price", Type.INT), Column("ts", Type.TIMESTAMP)),
        TimestampKind.EXTERNAL,
        "ts",
        slack=0,
    )
)
PRICE, TS, ROW = Ref("price", Type.INT), Ref("ts", Type.TIMESTAMP), Ref("row_num", Type.BIGINT)
COUNT = (Result("n", Aggregate("count")),)


def test_a_stream_progresses_on_its_timestamp_and_its_row_number() -> None:
    assert BIDS.schema.progressing == {"ts", "row_num"}


def test_a_condition_must_be_boolean() -> None:
    with pytest.raises(TypeMismatch, match="condition must be BOOLEAN"):
        Select(BIDS, PRICE)


def test_an_unknown_column_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="did you mean `price`"):
        Select(BIDS, Call(">", (Ref("pric", Type.INT), Literal(1, Type.INT))))


def test_what_never_falls_when_a_column_rises_keeps_progressing_and_nothing_else() -> None:
    later: Expression = Call("+", (TS, Literal(1, Type.INTERVAL)))
    hour: Expression = Call("hour", (TS,))
    node = Project(BIDS, (Named("time", TS), Named("later", later), Named("hour", hour)))
    assert node.schema.progressing == {"time", "later"}


def test_the_hash_of_a_node_stays_in_its_process() -> None:
    node = Project(Select(BIDS, Call(">", (PRICE, Literal(1, Type.INT)))), (Named("time", TS),))
    kept = hash(node)
    assert hash(Project(node.input, node.columns)) == kept
    sent = pickle.loads(pickle.dumps(node))
    assert kept not in sent.__dict__.values()  # texts have other hashes there
    assert kept not in sent.input.__dict__.values()
    assert (sent, hash(sent)) == (node, kept)


def test_two_columns_cannot_have_one_name() -> None:
    with pytest.raises(DuplicateName):
        Project(BIDS, (Named("a", TS), Named("a", PRICE)))


def test_a_window_needs_a_column_that_progresses() -> None:
    with pytest.raises(CannotWindow, match="does not progress") as caught:
        WindowAggregate(BIDS, Sliding("price", 10, 10), (), COUNT)
    assert caught.value.hint == "windows here can use: ts, row_num"


def test_results_carry_their_window_and_progress_on_it() -> None:
    node = WindowAggregate(BIDS, Sliding("ts", 10, 5), ("item",), COUNT)
    assert node.schema.names == ("item", "n", "window_start", "window_end")
    assert node.schema.progressing == {"window_start", "window_end"}
    assert node.schema["window_end"].type is Type.TIMESTAMP


def test_a_window_over_rows_is_told_in_rows() -> None:
    node = WindowAggregate(BIDS, Sliding("row_num", 10, 5, unit="rows"), (), COUNT)
    assert node.schema["window_end"].type is Type.BIGINT


def test_a_union_widens_types_and_refuses_those_that_do_not_fit() -> None:
    wide = Project(BIDS, (Named("v", Call("/", (PRICE, PRICE))),))
    narrow = Project(BIDS, (Named("v", PRICE),))
    assert Union((narrow, wide)).schema["v"].type is Type.DOUBLE
    with pytest.raises(TypeMismatch, match="one column"):
        Union((narrow, Project(BIDS, (Named("v", Ref("item", Type.STRING)),))))
    with pytest.raises(TypeMismatch, match="1 and 2 columns"):
        Union((narrow, Project(BIDS, (Named("v", PRICE), Named("w", PRICE)))))


def test_behind_a_union_row_numbers_do_not_progress() -> None:
    assert Union((BIDS, BIDS)).schema.progressing == {"ts"}


EDGE = (Edge("a.ts", "b.ts", sliding_band(5, 5)),)


def test_a_join_names_its_inputs_apart() -> None:
    with pytest.raises(CannotJoin, match="two inputs"):
        Join((BIDS, BIDS), ("b", "b"), EDGE)
    join = Join((BIDS, BIDS), ("a", "b"), EDGE, (("a.item", "b.item"),))
    assert join.schema.progressing == {"a.ts", "b.ts"}
    assert "b.price" in join.schema


def test_a_join_of_a_join_calls_columns_as_that_does() -> None:
    inner = Join((BIDS, BIDS), ("a", "b"), EDGE)
    outer = Join((inner, BIDS), ("", "c"), (Edge("b.ts", "c.ts", sliding_band(5, 5)),))
    assert outer.schema.names == tuple(f"{n}.{c}" for n in "abc" for c in BIDS.schema.names)
    assert outer.schema.progressing == {"a.ts", "b.ts", "c.ts"}


def test_a_semi_join_gives_the_left_side_only() -> None:
    join = Join((BIDS, BIDS), ("a", "b"), EDGE, kind=JoinKind.SEMI)
    assert all(name.startswith("a.") for name in join.schema.names)


def test_join_keys_must_be_comparable() -> None:
    with pytest.raises(TypeMismatch, match="cannot compare"):
        Join((BIDS, BIDS), ("a", "b"), EDGE, (("a.item", "b.price"),))
