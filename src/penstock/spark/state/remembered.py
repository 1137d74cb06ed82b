"""What a pipeline has measured of joins, kept in its checkpoint for later runs.

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

from penstock.errors import HostError
from penstock.io.storage.sealed import FAILURES, write_private
from penstock.io.storage.storage_path import StoragePath
from penstock.optimizer.join_statistics import JoinStatistics

FILE = "statistics.json"
FORMAT = 1
#: Figures that are kept: of inputs, and of pairs. A pipeline that sees other queries every day
#: would keep those of all of them.
MOST = 1000

_LOG = logging.getLogger(__name__)


def remember(checkpoint: StoragePath, joins: JoinStatistics) -> None:
    """Write down what is known."""
    content = {"format": FORMAT, **joins.latest(MOST).as_json()}
    try:
        write_private(checkpoint / FILE, json.dumps(content).encode())
    except (*FAILURES, HostError) as cause:
        _LOG.warning("statistics are not kept in `%s`: %s", checkpoint, cause)


def remembered(checkpoints: Iterable[StoragePath]) -> JoinStatistics:
    """What was written down in these checkpoints, later ones last."""
    return reduce(or_, map(_read, checkpoints), JoinStatistics())


def _read(checkpoint: StoragePath) -> JoinStatistics:
    try:
        content = json.loads((checkpoint / FILE).read_text())
        if content.pop("format") == FORMAT:
            return JoinStatistics.from_json(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return JoinStatistics()
