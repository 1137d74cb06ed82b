"""What Python workers leave out when they collect garbage."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
from penstock.spark.worker import leave_out_modules

leave_out_modules()
frozen = gc.get_freeze_count()
assert frozen > 1000, frozen

class Graph:
    def __init__(self):
        self.me = self  # as a graph's nodes know each other

Graph()
leave_out_modules()
assert gc.get_freeze_count() <= frozen
assert gc.collect() >= 1
"""


def test_modules_are_left_out_once_and_what_comes_later_is_collected() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
