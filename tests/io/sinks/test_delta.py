"""INTO delta: one transaction of the table per batch, each once; another schema is refused."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.errors import HostError, NotExecutable
from penstock.io.sinks.delta import DeltaTables
from penstock.io.sinks.sink_kind import SinkWriter
from penstock.io.sinks.tables import as_arrow
from penstock.local.engine import LocalEngine
from penstock.model.schema import Column, Schema
from penstock.model.streams import Sink
from penstock.model.types import Type
from tests.io.sinks.rows import ALL, NAMES, PARTS, SCHEMA, SMALL, small, target, with_parts


def opened(folder: Path, schema: Schema = SMALL, application: str = "a1:query q") -> SinkWriter:
    return DeltaTables().open(target(Sink("delta", str(folder)), schema, application))


def table(folder: Path) -> pl.DataFrame:
    found = pl.from_arrow(DeltaTable(str(folder)).to_pyarrow_table())
    assert isinstance(found, pl.DataFrame)
    return found


def version(folder: Path) -> int:
    return DeltaTable(str(folder)).version()


def test_the_table_is_made_with_the_columns_of_the_query(tmp_path: Path) -> None:
    opened(tmp_path / "t", SCHEMA)
    fields = DeltaTable(str(tmp_path / "t")).schema().fields
    assert [field.name for field in fields] == NAMES
    assert [field.type.type for field in fields][-3:] == ["binary", "date", "timestamp"]
    assert table(tmp_path / "t").is_empty()


def test_values_of_all_types_come_back_and_times_are_utc(tmp_path: Path) -> None:
    opened(tmp_path / "t", SCHEMA).write(0, ALL)
    found = table(tmp_path / "t")
    assert found.drop("ts").rows() == ALL.drop("ts").rows()
    assert found["ts"][0] == datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=timezone.utc)
    assert found["ts"].to_list()[2] is None


def test_parts_exact_numbers_and_times_of_no_zone_come_back(tmp_path: Path) -> None:
    opened(tmp_path / "t", PARTS).write(0, with_parts())
    opened(tmp_path / "t", PARTS, "b2:query q").write(0, with_parts())
    types = DeltaTable(str(tmp_path / "t")).schema().to_arrow()
    assert str(pa.schema(types).field("clock").type) == "timestamp[us]"
    found = pa.table(DeltaTable(str(tmp_path / "t")).to_pyarrow_table()).sort_by("id")
    wanted = as_arrow(with_parts(), PARTS).to_pylist()
    assert found.to_pylist() == [row for row in wanted for _ in range(2)]
    other = Schema.of(Column(c.name, Type.STRING) for c in PARTS)
    with pytest.raises(HostError, match=r"`visits` is array<struct<page: string, ms: integer>>"):
        opened(tmp_path / "t", other)


def test_a_batch_is_one_transaction_and_one_without_rows_is_none(tmp_path: Path) -> None:
    sink = opened(tmp_path / "t")
    sink.write(0, small(("a", 1), ("b", 2)))
    sink.write(1, small())
    sink.write(2, small(("c", 3)))
    assert version(tmp_path / "t") == 2
    assert sorted(table(tmp_path / "t").rows()) == [("a", 1), ("b", 2), ("c", 3)]


def test_a_batch_that_is_repeated_is_written_once_also_after_a_restart(tmp_path: Path) -> None:
    opened(tmp_path / "t").write(4, small(("a", 1)))
    again = opened(tmp_path / "t")
    again.write(4, small(("a", 1)))
    again.write(5, small(("b", 2)))
    again.write(5, small(("b", 2)))
    assert sorted(table(tmp_path / "t").rows()) == [("a", 1), ("b", 2)]
    assert DeltaTable(str(tmp_path / "t")).transaction_version("a1:query q") == 5


def test_another_application_and_other_writers_append_to_the_same_table(tmp_path: Path) -> None:
    first, second = opened(tmp_path / "t"), opened(tmp_path / "t", application="b2:query q")
    first.write(0, small(("a", 1)))
    second.write(0, small(("b", 2)))
    write_deltalake(str(tmp_path / "t"), small(("c", 3)).to_arrow(), mode="append")
    first.write(1, small(("d", 4)))
    assert sorted(table(tmp_path / "t")["k"]) == ["a", "b", "c", "d"]


def test_a_table_with_other_columns_is_refused_with_the_differences(tmp_path: Path) -> None:
    opened(tmp_path / "t", SMALL)
    other = Schema.of([Column("k", Type.STRING), Column("n", Type.INT), Column("x", Type.DATE)])
    with pytest.raises(HostError) as refused:
        opened(tmp_path / "t", other)
    assert "query q: the Delta table" in refused.value.message
    assert "`n` is long there instead of integer, `x` is missing there" in refused.value.message
    with pytest.raises(HostError, match="`n` is only there"):
        opened(tmp_path / "t", Schema.of([Column("k", Type.STRING)]))


def test_columns_may_be_in_another_order(tmp_path: Path) -> None:
    opened(tmp_path / "t", Schema.of(reversed(SMALL.columns)))
    opened(tmp_path / "t").write(0, small(("a", 1)))
    assert table(tmp_path / "t").rows() == [(1, "a")]


def test_files_that_are_no_delta_table_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "part-0.parquet").touch()
    with pytest.raises(HostError, match=r"not a Delta table, and holds `part-0.parquet`"):
        opened(tmp_path / "t")
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="is a file"):
        opened(tmp_path / "file")


def test_what_fails_names_the_query_the_table_and_the_cause(tmp_path: Path) -> None:
    sink = opened(tmp_path / "t")
    with (
        patch("deltalake.write_deltalake", side_effect=OSError("No space left on device")),
        pytest.raises(HostError) as failed,
    ):
        sink.write(0, small(("a", 1)))
    assert failed.value.message == (
        f"query q: cannot write into delta `{tmp_path / 't'}`: No space left on device"
    )
    sink.write(0, small(("a", 1)))
    assert table(tmp_path / "t").height == 1


@pytest.mark.parametrize(
    ("into", "words"),
    [
        ("delta", "INTO delta needs a path"),
        ("delta 't' OPTIONS (mode 'overwrite')", "has no options for a directory"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(into: str, words: str) -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k STRING, ts TIMESTAMP) TIMESTAMP BY ts")
    with pytest.raises(NotExecutable, match=words):
        engine.sql(f"CREATE QUERY q INTO {into} AS SELECT k FROM s")
    with pytest.raises(NotExecutable, match="no type for the column `d`, which is INTERVAL"):
        engine.sql("CREATE QUERY q INTO delta 't' AS SELECT ts - ts AS d FROM s")


def test_without_the_package_the_extra_is_named(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k STRING)")
    with (
        patch("penstock.io.extras.find_spec", return_value=None),
        pytest.raises(HostError, match=r"(?s)needs the package `deltalake`.*penstock\[delta\]"),
    ):
        engine.sql(f"CREATE QUERY q INTO delta '{tmp_path}/t' AS SELECT k FROM s")


def test_results_of_this_process_go_into_a_table(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql(
        "CREATE STREAM s (k STRING, n BIGINT, ts TIMESTAMP) TIMESTAMP BY ts "
        f"LATE INTO delta '{tmp_path}/late';"
        f"CREATE QUERY q INTO delta '{tmp_path}/t' AS SELECT k, n, ts FROM s;"
    )
    for n, ts in enumerate(["2026-01-01 00:00:01", "2026-01-01 00:00:02", "bad"]):
        engine.push("s", [{"k": "a", "n": n, "ts": ts}])
    engine.finish()
    assert sorted(table(tmp_path / "t")["n"]) == [0, 1]
    [late] = table(tmp_path / "late").to_dicts()
    assert (late["why"], late["k"]) == ("malformed", None)


def test_a_query_whose_table_does_not_fit_is_not_declared(tmp_path: Path) -> None:
    opened(tmp_path / "t")
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k STRING)")
    with pytest.raises(HostError, match="has other columns"):
        engine.sql(f"CREATE QUERY q INTO delta '{tmp_path}/t' AS SELECT k FROM s")
    assert engine.queries == [] and engine.catalog.get("q") is None
    engine.sql("CREATE QUERY q AS SELECT k FROM s")
