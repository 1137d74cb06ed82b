"""What only the host in this process can keep is refused on Spark, before anything runs."""

from __future__ import annotations

import pytest

from penstock.catalog import Catalog
from penstock.errors import NotExecutable
from penstock.settings import Settings
from penstock.spark.timing import check_settings, check_timing
from penstock.sql.parse import parse


@pytest.mark.parametrize("clause", ["SKEW 1 SECOND", "LULL 1 SECOND", "HEARTBEAT 1 SECOND"])
def test_a_stream_tied_to_the_clock_is_refused(clause: str) -> None:
    catalog = Catalog()
    stream = f"CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts {clause}"
    for statement in parse(f"{stream}; CREATE QUERY q AS SELECT ts FROM s"):
        catalog.apply(statement)
    with pytest.raises(NotExecutable, match=f"declared by ts, ordered, {clause.lower()}"):
        check_timing(catalog.queries[0].plan)


def test_settings_that_it_does_not_follow_are_refused() -> None:
    check_settings(Settings())
    for name, value in (("late", "drop"), ("mode", "iop")):
        with pytest.raises(NotExecutable, match=f"`{name} = {value}` does not run on Spark"):
            check_settings(Settings().with_value(name, value))
