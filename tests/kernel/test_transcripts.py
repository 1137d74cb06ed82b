"""Plays every transcript of tests/transcripts; see transcripts.py for what that means."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.operator import Operator
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.types import Type
from penstock.windows import Sliding
from tests.kernel.transcripts import play, scripts


def build(operator: dict[str, Any], ports: int) -> list[Operator]:
    [(name, options)] = operator.items()
    match name:
        case "meld":
            return [Meld(ports)]
        case "merge":
            return [Merge(ports, options["by"])]
        case "wid":
            window = Sliding("ts", options["range"], options["slide"])
            results = (
                ("n", Aggregate("count")),
                ("total", Aggregate("sum", Ref("v", Type.BIGINT))),
            )
            return [Bucket(window), WidAggregate(tuple(options["groups"]), results, window)]
    raise KeyError(name)


@pytest.mark.parametrize("limit", [1, None], ids=["row by row", "whole blocks"])
@pytest.mark.parametrize(
    ("title", "script"), scripts(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_transcript(title: str, script: dict[str, Any], limit: int | None) -> None:
    play(script, build, limit=limit, backwards=False)
    if script.get("order") == "free":
        play(script, build, limit=limit, backwards=True)
