"""How tests are shared out to processes: those on a Spark session first, and to one of them.

The collected tests stand in one row, those of files with a Spark session in front:

    Spark  Spark  Spark  other  other  other  other  other
    first process →                  ← the other processes

A file with a session is one piece, every other test is one. The first process takes pieces from the
front, the others from the back, so that all are done at about the same time. A process that comes
from the back to the files with a session would have to start another: it does if enough are left.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]
#: So many files with a Spark session take clearly longer than the start of another session.
WORTH_A_SESSION = 8


class SparkFirst(LoadScopeScheduling):  # type: ignore[misc]
    """Shares tests out from both ends of the row."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the row stays as it was collected

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if has_session(file) else nodeid

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        # Whatever is assigned is counted after every test: thousands of pieces that are done.
        pieces = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(pieces[scope].values()):
            del pieces[scope]

    def _assign_work_unit(self, node: Any) -> None:
        if not self._is_first(node):
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: Any) -> None:
        if not node.shutting_down and self._leaves_the_rest(node):
            node.shutdown()
        super()._reschedule(node)

    def _is_first(self, node: Any) -> bool:
        return bool(node is self.nodes[0])

    def _leaves_the_rest(self, node: Any) -> bool:
        """Whether all that is left are too few files with a session, which another process has."""
        return (
            not self._is_first(node)
            and 0 < len(self.workqueue) < WORTH_A_SESSION
            and has_session(next(reversed(self.workqueue)).partition("::")[0])
        )


@cache
def has_session(file: str) -> bool:
    """Whether tests of a file run on a Spark session; all the scheduler has of them is names."""
    return file.startswith("tests/") and "spark: SparkSession" in (ROOT / file).read_text()
