"""Statements of every kind, for tests that take them apart and for the fuzzer to break."""

from __future__ import annotations

from pathlib import Path

STATEMENTS = (Path(__file__).parent / "golden" / "corpus.txt").read_text().strip().split("\n\n")
