"""What a pipeline has measured of joins, and which plans served them under which load, kept in its
checkpoint for later runs.

The file `statistics.json` is written now and then and when a pipeline stops. No answer depends on
it, so one that is missing, damaged or of another release is as good as none; nor does a pipeline
fail because it cannot be written.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

from penstock.checkpoint.layout import FORMAT, Layout
from penstock.errors import HostError
from penstock.io.storage.sealed import FAILURES, write_private
from penstock.io.storage.storage_path import StoragePath
from penstock.optimizer.adaptation.plan_memory import Plans, plans_as_json, plans_from_json
from penstock.optimizer.join_statistics import JoinStatistics

#: Figures that are kept: of inputs, and of pairs. A pipeline that sees other queries every day
#: would keep those of all of them.
MOST = 1000
#: Plans that are kept, of all joins together.
MOST_PLANS = 256

#: What a file raises that is missing, or was not written by us.
_DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(OSError, RecursionError, TypeError, ValueError),
)

_LOG = logging.getLogger("penstock")


def remember(checkpoint: StoragePath, joins: JoinStatistics, plans: Plans | None = None) -> None:
    """Write down what is known."""
    content = {"format": FORMAT, **joins.latest(MOST).as_json()}
    content["plans"] = plans_as_json(plans or {}, MOST_PLANS)
    try:
        write_private(Layout(checkpoint).statistics, json.dumps(content).encode())
    except (*FAILURES, HostError) as cause:
        _LOG.warning("statistics are not kept in `%s`: %s", checkpoint, cause)


def remembered(checkpoints: Iterable[StoragePath]) -> JoinStatistics:
    """What was written down in these checkpoints, later ones last."""
    return reduce(or_, map(_read, checkpoints), JoinStatistics())


def remembered_plans(checkpoint: StoragePath) -> Plans:
    """The plans that were written down in a checkpoint."""
    try:
        return plans_from_json(_content(checkpoint)["plans"])
    except _DAMAGE:
        return {}


def _read(checkpoint: StoragePath) -> JoinStatistics:
    try:
        return JoinStatistics.from_json(_content(checkpoint))
    except _DAMAGE:
        return JoinStatistics()


def _content(checkpoint: StoragePath) -> dict[str, Any]:
    content = json.loads((Layout(checkpoint).statistics).read_text())
    if not isinstance(content, dict) or content["format"] != FORMAT:
        raise ValueError("it was written by another release, or by something else")
    return content
