"""Checkpoints that were written when `SET lowering` was there; `earlier/` holds what matters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.checkpoint.layout import FORMAT
from penstock.errors import HostError
from penstock.spark.engine import Engine

EARLIER = Path(__file__).parent / "earlier"
SCRIPT = """
CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet 'in' TIMESTAMP BY ts;
CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k;
"""


def content(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("lowering", ["native", "kernel"])
def test_one_of_either_lowering_is_refused_before_spark_starts_and_stays_as_it_is(
    tmp_path: Path, lowering: str
) -> None:
    shutil.copytree(EARLIER / lowering, tmp_path / "q")
    before = content(tmp_path)
    engine = Engine(checkpoint=tmp_path)
    engine.sql(SCRIPT)
    with pytest.raises(HostError) as refused:
        engine.start()
    assert str(refused.value) == (
        f"the checkpoint `{tmp_path / 'q'}` has a format before {FORMAT}; this release reads and "
        f"writes format {FORMAT}\n"
        "  continue with the release that wrote it, or start over with another checkpoint and "
        "another directory for the results"
    )
    assert engine._spark is None
    assert content(tmp_path) == before
