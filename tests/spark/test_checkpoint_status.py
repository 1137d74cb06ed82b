"""`penstock status DIR` reads a checkpoint from outside, while its pipeline runs and afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.cli.status import status
from penstock.errors import HostError
from penstock.spark.engine import Engine
from tests.spark.packets import script, write_packets

COUNTS = "SELECT srcIP, count(*) AS n FROM packets [RANGE 4 SECONDS] GROUP BY srcIP"
ROWS = 3000


def test_a_checkpoint_is_read_while_its_pipeline_runs_and_afterwards(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(folder: Path) -> Any:
        status(folder, as_json=True)
        [found] = json.loads(capsys.readouterr().out)
        return found

    out = tmp_path / "out"
    with pytest.raises(HostError, match="there is no checkpoint at"):
        status(tmp_path)
    write_packets(tmp_path / "in", range(1), rows=ROWS)
    engine = Engine(spark)
    engine.sql(script(tmp_path / "in", {"counted": COUNTS}, out))
    engine.start()
    engine.process_available()
    running = read(out)
    engine.finish()
    rows = engine.query("counted").rows
    ended = read(out / "counted" / "_checkpoint")
    assert (running["is_running"], ended["is_running"]) == (True, False)
    place = f"parquet '{out / 'counted'}'"
    assert running["queries"].keys() == {"counted"}
    assert ended["queries"] == {"counted": {"into": place, "rows": rows}}
    counts = engine.counts("packets")
    [stream] = ended["streams"].values()
    assert (stream["rows"], stream["late"], stream["malformed"]) == (counts.rows, counts.late, 0)
    assert counts.rows == ROWS and 0 <= running["batch"] < ended["batch"]
    status(out / "counted")
    shown = capsys.readouterr().out
    assert "_checkpoint: not running, micro-batch" in shown and place in shown
