"""Files as streams and results as files, end to end."""

from __future__ import annotations

import gzip
import json
import os
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from penstock.errors import DuplicateName, HostError, MalformedRow, NotExecutable
from penstock.local.engine import LocalEngine
from tests.engine.bids import BIDS, NOON, bid, prices

GOOD = [bid(1), bid(None, 1, item=None), bid(3, 2)]


def declared(format: str, path: Path, name: str = "bids") -> str:
    """The stream of bids, from this file or directory."""
    bids = BIDS.replace(" TIMESTAMP BY", f" FROM {format} '{path}' TIMESTAMP BY")
    return bids.replace("bids", name, 1)


def reading(format: str, path: Path) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(declared(format, path))
    return engine


def write(path: Path, format: str, rows: pl.DataFrame) -> Path:
    file = path / f"bids.{format}"
    match format:
        case "parquet":
            rows.write_parquet(file)
        case "csv":
            rows.write_csv(file)
        case "json":
            rows.write_ndjson(file)
    return file


def reasons(engine: LocalEngine) -> list[str]:
    return [row["reason"] for aside in engine.rejected_rows for row in aside.rows.to_dicts()]


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_files_come_in_as_streams(tmp_path: Path, format: str) -> None:
    engine = reading(format, write(tmp_path, format, pl.DataFrame(GOOD)))
    query = engine.sql("SELECT * FROM bids")
    assert list(engine.read_files()) == [("bids", 3)]
    assert query.results().to_dicts() == GOOD
    assert engine.rejected_rows == []


def test_a_directory_is_read_by_name_and_a_pattern_by_what_it_matches(tmp_path: Path) -> None:
    for name, price in (("2.json", 2), ("1.jsonl", 1), ("3.json", 3), ("notes.txt", 4)):
        row = {"item": "lamp", "price": price, "ts": "2026-01-01 12:00:00"}
        (tmp_path / name).write_text(json.dumps(row))
    for path, expected in ((tmp_path, [1, 2, 3]), (tmp_path / "*.json", [2, 3])):
        engine = reading("json", path)
        query = engine.sql("SELECT price FROM bids")
        for _ in engine.read_files():
            pass
        assert prices(query) == expected


def test_streams_are_read_in_turn_and_a_caller_may_stop(tmp_path: Path) -> None:
    for number in (1, 2):
        pl.DataFrame([bid(number)]).write_csv(tmp_path / f"{number}.csv")
    engine = reading("csv", tmp_path)
    engine.sql(declared("csv", tmp_path, "more"))
    query = engine.sql("SELECT price FROM bids")
    reader = engine.read_files()
    assert [next(reader) for _ in range(2)] == [("bids", 1), ("more", 1)]
    assert prices(query) == [1]
    assert list(reader) == [("bids", 1), ("more", 1)]
    assert prices(query) == [1, 2]


def test_json_lines_that_do_not_fit_leave_the_good_ones_alone(tmp_path: Path) -> None:
    good = '{"item": "lamp", "price": 1, "ts": "2026-01-01 12:00:00"}'
    lines = [
        good,
        "not json at all",
        '{"item": "lamp", "price": {"amount": 2}, "ts": "2026-01-01 12:00:00"}',
        '{"item": 7, "price": 2, "ts": "2026-01-01 12:00:00"}',
        '{"price": null, "ts": "2026-01-01 12:00:00", "colour": "red"}',
        "[1, 2]",
        '{"item": "lamp", "price": 2, "ts": "yesterday"}',
        "[" * 100_000,
        "",
        good[:-5],
        good,
    ]
    file = tmp_path / "bids.json"
    file.write_text("\n".join(lines))
    engine = reading("json", file)
    query = engine.sql("SELECT item, price FROM bids")
    assert list(engine.read_files()) == [("bids", 6)]
    lamp = {"item": "lamp", "price": 1}
    assert query.results().to_dicts() == [lamp, {"item": None, "price": None}, lamp]
    assert engine.counts("bids").malformed == 7
    assert [reason[:40] for reason in reasons(engine)] == [
        "no row: not json at all",
        "no row: [1, 2]",
        "no row: " + "[" * 32,
        f"no row: {good[:32]}",
        "price: {'amount': 2} is not a valid INT",
        "item: 7 is not a valid STRING",
        "ts: 'yesterday' is not a valid TIMESTAMP",
    ]


def test_csv_lines_that_do_not_fit_leave_the_good_ones_alone(tmp_path: Path) -> None:
    file = tmp_path / "bids.csv"
    file.write_text(
        "item,price,ts\n"
        "lamp,1,2026-01-01 12:00:00\n"
        "lamp,cheap,2026-01-01 12:00:00\n"
        "lamp,2\n"
        "lamp,3,2026-01-01 12:00:00,too much\n"
        "NA,,2026-01-01 12:00:00\n"
        '"",4,2026-01-01 12:00:00\n'
    )
    engine = reading("csv", file)
    query = engine.sql("SELECT item, price FROM bids")
    assert sum(rows for _, rows in engine.read_files()) == 4
    assert query.results().to_dicts() == [
        {"item": "lamp", "price": 1},
        {"item": "NA", "price": None},
        {"item": "", "price": 4},
    ]
    assert reasons(engine) == [
        "no row: lamp,2",
        "no row: lamp,3,2026-01-01 12:00:00,too much",
        "price: 'cheap' is not a valid INT",
    ]


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_file_without_one_good_line_is_accounted_for(tmp_path: Path, format: str) -> None:
    file = tmp_path / f"bids.{format}"
    file.write_text("item,price,ts\n1\n2\n" if format == "csv" else "1\n2\n")
    engine = reading(format, file)
    for _ in engine.read_files():
        pass
    assert reasons(engine) == ["no row: 1", "no row: 2"]
    assert (engine.counts("bids").rows, engine.counts("bids").malformed) == (0, 2)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_file_without_rows_is_a_stream_without_rows(tmp_path: Path, format: str) -> None:
    schema = {"item": pl.String(), "price": pl.Int32(), "ts": pl.Datetime("us")}
    engine = reading(format, write(tmp_path, format, pl.DataFrame(schema=schema)))
    query = engine.sql("SELECT count(*) AS n FROM bids [RANGE 1 MINUTE]")
    assert sum(rows for _, rows in engine.read_files()) == 0
    engine.finish()
    assert query.results().height == 0


def test_values_of_other_types_in_parquet_are_fitted_or_set_aside(tmp_path: Path) -> None:
    moment = datetime(1969, 12, 31, 23, 0)
    rows = pl.DataFrame({"item": ["a", "b"], "price": ["1", "x"], "ts": [moment] * 2})
    zoned = rows.with_columns(pl.col("ts").dt.cast_time_unit("ns").dt.replace_time_zone("UTC"))
    engine = reading("parquet", write(tmp_path, "parquet", zoned))
    query = engine.sql("SELECT * FROM bids")
    assert list(engine.read_files()) == [("bids", 2)]
    assert query.results().to_dicts() == [{"item": "a", "price": 1, "ts": moment}]
    assert reasons(engine) == ["price: 'x' is not a valid INT"]


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_column_that_no_row_has_is_an_error(tmp_path: Path, format: str) -> None:
    rows = pl.DataFrame({"item": ["lamp"], "prize": [1], "ts": [NOON]})
    engine = reading(format, write(tmp_path, format, rows))
    with pytest.raises(MalformedRow, match="has no column `price`") as refused:
        list(engine.read_files())
    assert "did you mean `prize`?" in str(refused.value)
    assert refused.value.stream == "bids"


def test_a_path_with_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "*.csv"):
        with pytest.raises(HostError, match="nothing to read at"):
            list(reading("csv", path).read_files())


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_file_of_something_else_is_an_error_with_its_cause(tmp_path: Path, format: str) -> None:
    file = tmp_path / f"bids.{format}"
    file.write_bytes(b"\xff\xfe\x00nonsense")
    with pytest.raises(HostError, match=f"cannot read `.*` as {format}") as refused:
        list(reading(format, file).read_files())
    assert refused.value.__cause__ is not None


def test_a_format_that_this_host_cannot_read_is_refused() -> None:
    engine = reading("kafka", Path("broker"))
    with pytest.raises(NotExecutable, match="cannot read stream `bids` from kafka 'broker'"):
        list(engine.read_files())


def test_finish_reads_what_nobody_has_read(tmp_path: Path) -> None:
    for number in (1, 2):
        pl.DataFrame([bid(number, number)]).write_csv(tmp_path / f"{number}.csv")
    engine = reading("csv", tmp_path)
    query = engine.sql("SELECT count(*) AS n FROM bids [RANGE 1 HOUR]")
    next(engine.read_files())  # and no further
    engine.finish()
    assert query.results()["n"].to_list() == [2]
    assert engine.counts("bids").rows == 2


def test_text_that_is_none_costs_its_row_only(tmp_path: Path) -> None:
    good = b"lamp,1,2026-01-01 12:00:00\n"
    spoilt = b"l\xffmp,2,2026-01-01 12:00:00\n"
    (tmp_path / "1.csv").write_bytes(b"item,price,ts\n" + good + spoilt + good)
    half = '{"item": "%s", "price": 1, "ts": "2026-01-01 12:00:00"}\n'
    (tmp_path / "1.json").write_text("".join(half % item for item in ("a", "b\\ud800", "c")))
    for format, reason in (
        ("csv", "no row: l\ufffdmp,2,2026-01-01 12:00:00"),
        ("json", "item: 'b\\ud800' is not a valid STRING"),
    ):
        engine = reading(format, tmp_path)
        query = engine.sql("SELECT price FROM bids")
        engine.finish()
        assert (prices(query), reasons(engine)) == ([1, 1], [reason])


def test_a_field_may_be_longer_than_what_is_read_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "bids.csv"
    lengths = [1] * 30 + [300_000, 20_000_000] + [5] * 30
    with file.open("w") as text:
        text.write("item,price,ts\nshort\n")
        for length in lengths:
            text.write(f"{'x' * length},1,2026-01-01 12:00:00\n")
        text.write("short\n")
    engine = reading("csv", file)
    query = engine.sql("SELECT length(item) AS n FROM bids")
    engine.finish()
    assert query.results()["n"].to_list() == lengths
    assert reasons(engine) == ["no row: short"] * 2


def test_options_of_csv_mean_what_they_mean_on_spark(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("|a;b|;1;2026-01-01 12:00:00\n-;2;2026-01-01 12:00:00\n")
    engine = LocalEngine()
    options = "OPTIONS (sep ';', header 'false', quote '|', nullValue '-', maxFilesPerTrigger '1')"
    engine.sql(declared("csv", tmp_path).replace(" TIMESTAMP BY", f" {options} TIMESTAMP BY"))
    query = engine.sql("SELECT item, price FROM bids")
    engine.finish()
    assert query.results().rows() == [("a;b", 1), (None, 2)]


def test_options_that_would_be_ignored_are_refused(tmp_path: Path) -> None:
    for format, option in (("csv", "timestampFormat"), ("json", "multiLine")):
        engine = LocalEngine()
        options = f" OPTIONS ({option} 'x') TIMESTAMP BY"
        engine.sql(declared(format, tmp_path).replace(" TIMESTAMP BY", options))
        with pytest.raises(NotExecutable, match=f"without the option `{option}`") as refused:
            engine.finish()
        assert "Spark" in str(refused.value.hint)


@pytest.mark.parametrize(
    "option",
    ["sep '||'", "sep ''", "sep '§'", "quote 'ab'", "escape ''", "escape '§'", "header 'perhaps'"],
)
def test_values_of_options_that_this_host_cannot_have_are_refused(
    tmp_path: Path, option: str
) -> None:
    (tmp_path / "1.csv").write_text("item,price,ts\n")
    engine = LocalEngine()
    options = f" OPTIONS ({option}) TIMESTAMP BY"
    engine.sql(declared("csv", tmp_path).replace(" TIMESTAMP BY", options))
    with pytest.raises(NotExecutable, match=f"`{option.split()[0]}` of csv cannot be"):
        engine.finish()


def test_a_line_of_names_alone_is_a_file_without_rows(tmp_path: Path) -> None:
    file = tmp_path / "1.csv"
    file.write_text("item,price,ts")
    reading("csv", file).finish()
    file.write_text('"item,price,ts\na,1,2026-01-01 12:00:00\n')  # a quote that nothing closes
    with pytest.raises(MalformedRow, match="no column `item`"):
        reading("csv", file).finish()


# --- writing ------------------------------------------------------------------------------------


def written(folder: Path, format: str) -> pl.DataFrame:
    parts = sorted(folder.glob(f"part-*.{format}"))
    match format:
        case "parquet":
            return pl.concat([pl.read_parquet(part) for part in parts])
        case "csv":
            return pl.concat([pl.read_csv(part, try_parse_dates=True) for part in parts])
    return pl.concat([pl.read_ndjson(part) for part in parts])


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_results_go_into_numbered_parts_of_a_directory(
    engine: LocalEngine, tmp_path: Path, format: str
) -> None:
    folder = tmp_path / "deep" / "best"
    query = engine.sql(
        f"CREATE QUERY best INTO {format} '{folder}' AS "
        "SELECT max(price) AS best FROM bids [RANGE 1 MINUTE]"
    )
    engine.push("bids", [bid(1), bid(2, 1)])
    engine.push("bids", [bid(4, 2)])
    engine.finish()
    assert sorted(path.name for path in folder.iterdir()) == [
        f"part-{number:05d}.{format}" for number in range(3)
    ]
    rows = written(folder, format)
    assert rows.get_column("best").to_list() == [1, 2, 4]
    assert rows.columns == ["best", "window_start", "window_end"]
    if format != "json":
        assert rows.get_column("window_end").to_list()[0] == NOON + timedelta(minutes=1)
    assert (query.rows, query.results().height) == (3, 0)


def test_what_was_written_can_be_read_again(engine: LocalEngine, tmp_path: Path) -> None:
    for format in ("parquet", "csv", "json"):
        engine.sql(
            f"CREATE QUERY {format} INTO {format} '{tmp_path / format}' AS SELECT * FROM bids"
        )
    engine.push("bids", GOOD)
    for format in ("parquet", "csv", "json"):
        again = reading(format, tmp_path / format)
        query = again.sql("SELECT * FROM bids")
        assert list(again.read_files()) == [("bids", 3)]
        assert query.results().to_dicts() == GOOD


def test_a_query_without_results_writes_nothing(engine: LocalEngine, tmp_path: Path) -> None:
    engine.sql(f"CREATE QUERY q INTO csv '{tmp_path / 'out'}' AS SELECT price FROM bids")
    engine.finish()
    assert not (tmp_path / "out").exists()


def test_results_that_are_there_already_are_not_touched(
    engine: LocalEngine, tmp_path: Path
) -> None:
    (tmp_path / "part-00000.csv").write_text("price\n1\n")
    before = engine.sql("CREATE QUERY q AS SELECT price FROM bids")
    for text in ("CREATE QUERY p", "CREATE OR REPLACE QUERY q"):
        with pytest.raises(HostError, match="holds results already") as refused:
            engine.sql(f"{text} INTO csv '{tmp_path}' AS SELECT price FROM bids")
        assert "INTO" in str(refused.value.hint)
    # Nothing has changed: the name is free, the old query runs.
    assert engine.catalog.get("p") is None
    assert before.status.state == "running"
    engine.push("bids", [bid(5)])
    assert prices(before) == [5]
    assert (tmp_path / "part-00000.csv").read_text() == "price\n1\n"


def test_two_queries_cannot_write_into_one_directory(engine: LocalEngine, tmp_path: Path) -> None:
    engine.sql(f"CREATE QUERY q INTO csv '{tmp_path}/out' AS SELECT price FROM bids")
    with pytest.raises(DuplicateName, match="query `q` writes into"):
        engine.sql(f"CREATE QUERY p INTO json '{tmp_path}/./out/' AS SELECT item FROM bids")
    # Replacing the query that has it is another matter.
    engine.sql(f"CREATE OR REPLACE QUERY q INTO csv '{tmp_path}/out' AS SELECT item FROM bids")
    engine.push("bids", [bid(5)])
    assert (tmp_path / "out" / "part-00000.csv").read_text() == "item\nlamp\n"


def test_a_file_is_no_place_for_results(engine: LocalEngine, tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("mine")
    with pytest.raises(HostError, match="is a file"):
        engine.sql(f"CREATE QUERY q INTO csv '{file}' AS SELECT price FROM bids")
    assert engine.queries == []


def test_a_sink_that_this_host_cannot_write_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(NotExecutable, match="cannot write results into iceberg 'table'"):
        engine.sql("CREATE QUERY q INTO iceberg 'table' AS SELECT price FROM bids")
    assert engine.catalog.get("q") is None


def test_a_directory_that_cannot_be_written_is_a_fault_of_the_machine(
    engine: LocalEngine, tmp_path: Path
) -> None:
    engine.sql(f"CREATE QUERY q INTO csv '{tmp_path}/gone/out' AS SELECT price FROM bids")
    (tmp_path / "gone").write_text("in the way")
    with pytest.raises(HostError, match="cannot write results to") as refused:
        engine.push("bids", [bid(1)])
    assert isinstance(refused.value.__cause__, OSError)


def test_a_query_does_not_write_where_its_stream_reads(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    for place in ("in", "in/deep", "link", "out/../in"):
        engine = reading("csv", tmp_path / "in")
        with pytest.raises(NotExecutable, match="would be read as rows") as refused:
            engine.sql(f"CREATE QUERY q INTO csv '{tmp_path / place}' AS SELECT item FROM bids")
        assert "INTO that is not in" in str(refused.value)
        assert engine.queries == []
    with pytest.raises(NotExecutable, match="would be read as rows"):
        LocalEngine().sql(declared("csv", tmp_path / "in") + f" LATE INTO csv '{tmp_path / 'in'}'")
    engine = reading("csv", tmp_path / "in")
    engine.sql(f"CREATE QUERY q INTO csv '{tmp_path / 'out'}' AS SELECT item FROM bids")
    # Another stream may read what a query writes.
    engine.sql(declared("csv", tmp_path / "out", "bids2"))
    engine.sql(f"CREATE QUERY p INTO csv '{tmp_path / 'more'}' AS SELECT item FROM bids2")


def test_two_runs_do_not_write_into_one_directory(tmp_path: Path) -> None:
    text = f"CREATE QUERY q INTO csv '{tmp_path / 'out'}' AS SELECT price FROM bids"
    one, other = LocalEngine(), LocalEngine()
    for engine in (one, other):
        engine.sql(BIDS)
        engine.sql(text)
    one.push("bids", [bid(1)])
    with pytest.raises(HostError, match="another run is writing its results"):
        other.push("bids", [bid(2)])
    one.finish()
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["part-00000.csv"]
    late = LocalEngine()
    late.sql(BIDS)
    with pytest.raises(HostError, match="holds results already"):
        late.sql(text)


def test_names_tell_which_files_are_ready_whatever_their_case(tmp_path: Path) -> None:
    for name in ("1.CSV", "2.csv", "3.csv.tmp", ".4.csv", "_5.csv", "6.csv.TMP", "notes.txt"):
        (tmp_path / name).write_text(f"v\n{name.strip('._')[0]}\n")
    for path, expected in ((tmp_path, ["1", "2"]), (tmp_path / "*.*", ["1", "2", "n"])):
        engine = LocalEngine()
        engine.sql(f"CREATE STREAM s (v STRING) FROM csv '{path}'")
        query = engine.sql("SELECT v FROM s")
        engine.finish()
        assert query.fetch()["v"].to_list() == expected
    engine.sql(f"CREATE STREAM t (v STRING) FROM csv '{tmp_path}'")
    hidden = [".4.csv (hidden)", "_5.csv (hidden)"]
    assert engine.passed_over("t") == [*hidden, "3.csv.tmp (not ready)", "6.csv.TMP (not ready)"]


@pytest.mark.parametrize("where", ["", "*.csv", "b.csv"])
def test_a_pipe_among_the_files_is_refused_by_name(tmp_path: Path, where: str) -> None:
    (tmp_path / "a.csv").write_text("v\n1\n")
    os.mkfifo(tmp_path / "b.csv")
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (v INT) FROM csv '{tmp_path / where}'; SELECT v FROM s")
    with pytest.raises(HostError, match=r"`.*/b\.csv`: it is not a regular file"):
        engine.finish()
    with pytest.raises(HostError, match=r"`.*/b\.csv`: it is not a regular file"):
        engine.sql(f"CREATE STREAM t FROM csv '{tmp_path / where}'")


def test_a_parquet_file_with_nothing_in_it_is_named_and_costs_nothing(tmp_path: Path) -> None:
    pl.DataFrame({"v": [1, 2]}).write_parquet(tmp_path / "1.parquet")
    (tmp_path / "2.parquet").touch()
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (v INT) FROM parquet '{tmp_path}'")
    query = engine.sql("SELECT v FROM s")
    engine.finish()
    assert query.fetch()["v"].to_list() == [1, 2]
    assert engine.passed_over("s") == ["2.parquet (empty)"]


def unreadable_files(folder: Path) -> dict[str, str]:
    """Files of which none can be read as CSV with the column `v`, and what is said of each."""
    (folder / "1.csv").write_bytes(b"v\xff\n1\n")
    packed = gzip.compress(b"v\n" + b"".join(b"%d\n" % v for v in range(10**6)))
    (folder / "2.csv").write_text("other\n1\n")
    (folder / "3.csv").write_text("v,v\n1,2\n")
    (folder / "4.csv").mkdir()
    os.mkfifo(folder / "5.csv")
    (folder / "packed").mkdir()
    (folder / "packed" / "6.csv.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "6.csv").symlink_to(folder / "gone.csv")
    return {
        "1.csv": "codec can't decode",
        "2.csv": "no column `v`",
        "3.csv": "more than once",
        "4.csv": "is a directory",
        "5.csv": "not a regular file",
        "6.csv": "No such file",
    }


@pytest.mark.parametrize("columns", ["(v INT)", ""])
def test_files_that_cannot_be_read_are_skipped_if_the_stream_says_so(
    tmp_path: Path, columns: str
) -> None:
    expected = unreadable_files(tmp_path)
    if not columns:  # of the others, the first that can be read tells
        expected.pop("2.csv")
        (tmp_path / "2.csv").unlink()
    (tmp_path / "7.csv").write_text("v\n7\n")
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s {columns} FROM csv '{tmp_path}' OPTIONS (unreadable 'skip')")
    query = engine.sql("SELECT v FROM s")
    engine.finish()
    assert query.fetch()["v"].to_list() == [7]
    listed = engine.status().streams["s"].unreadable
    assert listed.keys() == {str(tmp_path / name) for name in expected}
    assert all(part in listed[str(tmp_path / name)] for name, part in expected.items())
    assert str(tmp_path / "1.csv") in repr(engine.status())


def test_a_file_that_is_cut_off_is_skipped_as_a_whole(tmp_path: Path) -> None:
    unreadable_files(tmp_path)
    cut_off = tmp_path / "packed" / "6.csv.gz"
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (v INT) FROM csv '{cut_off}' OPTIONS (unreadable 'skip')")
    query = engine.sql("SELECT v FROM s")
    engine.finish()
    assert query.fetch().is_empty() and engine.counts("s").rows == 0
    assert engine.status().streams["s"].unreadable.keys() == {str(cut_off)}


def test_what_becomes_of_unreadable_files_is_one_of_two_words(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("v\n1\n")
    engine = LocalEngine()
    engine.sql(
        f"CREATE STREAM s (v INT) FROM csv '{tmp_path}' OPTIONS (unreadable 'ignore');"
        "SELECT v FROM s"
    )
    with pytest.raises(NotExecutable, match="`unreadable` cannot be 'ignore'"):
        engine.finish()
