"""Whatever fails, a public call raises nothing but errors of ours."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from penstock.local.engine import LocalEngine
from tests.border_calls import NOW, foreign_errors


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*given: object, **named: object) -> Any:
        raise error

    return fail


def engine_with(folder: Path) -> LocalEngine:
    pl.DataFrame({"k": [1, 2], "ts": [NOW, NOW]}).write_parquet(folder / "1.parquet")
    engine = LocalEngine(max_results=1)
    engine.function("bad", lambda k: 1 // 0, arguments="k BIGINT", returns="BIGINT")
    engine.sql(
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{folder}' TIMESTAMP BY ts;"
        "CREATE STREAM p (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;"
        "CREATE STREAM pushed (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k;"
        f"CREATE QUERY written INTO parquet '{folder / 'out'}' AS SELECT k FROM pushed;"
        "CREATE QUERY spoiled AS SELECT bad(k) AS b FROM pushed WHERE k > 5"
    )
    return engine


FULL = OSError(errno.ENOSPC, "No space left on device")
FAILURES: dict[str, tuple[Any, str, Exception]] = {
    "nothing": (engine_with, "unused", FULL),
    "a file that cannot be opened": (pa.parquet.ParquetFile, "__init__", OSError("broken")),
    "a file that is damaged": (pa.parquet.ParquetFile, "iter_batches", pa.ArrowInvalid("bad")),
    "a full disk": (pl.DataFrame, "write_parquet", FULL),
    "a disk that Polars finds full": (
        pl.DataFrame,
        "write_parquet",
        pl.exceptions.ComputeError("No space left on device"),
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_every_call_raises_only_our_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    owner, name, error = FAILURES[failure]
    engine = engine_with(tmp_path)
    query = engine.query("q")
    monkeypatch.setattr(owner, name, failing(error), raising=False)
    assert foreign_errors(engine) == []
    assert foreign_errors(query) == []
    engine.push("p", [{"k": 1, "ts": NOW}])
    for last in (engine.finish, engine.stop):
        assert foreign_errors(_Only(last)) == []


class _Only:
    """One call, as something that has no others."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call

    def called(self) -> Any:
        return self._call()


@pytest.mark.parametrize(
    "rows",
    [
        [{"k": "x", "ts": NOW}],
        [{"k": 1 << 80, "ts": NOW}],
        [{"k": 1, "ts": "no time"}],
        [{"k": 6, "ts": NOW}],
        [{"k": [1], "ts": object()}],
        [{"other": 1}],
        [(1, NOW, 3)],
        pl.DataFrame({"k": [None], "ts": [None]}),
        pl.DataFrame({"k": [["x"]], "ts": [1.5]}),
        "text",
        None,
        3,
    ],
)
def test_whatever_is_pushed_raises_only_our_errors(tmp_path: Path, rows: Any) -> None:
    engine = engine_with(tmp_path)
    assert foreign_errors(_Only(lambda: engine.push("pushed", rows))) == []
    assert foreign_errors(_Only(engine.stop)) == []
