"""What both sides of `bench start` print is compared value by value."""

from __future__ import annotations

from benchmarks.start import rows_of_json, rows_of_tables

TABLES = [
    "talkers: 1 row",
    "  src        packets   mean   window_end",
    "  10.0.0.3        36   1.25   2026-03-01 10:02:00",
    "",
    "packets: 240 rows in",
]


def test_tables_and_lines_say_the_same() -> None:
    line = '["talkers", "10.0.0.3", 36, 1.2500001, "2026-03-01 10:02:00"]'
    assert rows_of_tables(TABLES) == rows_of_json([line])
    assert rows_of_tables(TABLES) != rows_of_json([line.replace("36", "37")])
