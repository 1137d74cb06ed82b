"""What an error shows fits a screen, however long the query; what it knows is all there."""

from __future__ import annotations

import pytest

from penstock.errors import Position, QueryError
from penstock.local.engine import LocalEngine

MANY = ", ".join(f"column_{number} INT" for number in range(500))
NUMBERS = ", ".join(map(str, range(20_000)))
SUM = NUMBERS.replace(",", "+")
JOINS = " ".join(f"JOIN s s{number} ON s{number}.k = s0.k" for number in range(1, 60))
LONG = {
    "an unknown column among hundreds": f"CREATE STREAM w ({MANY}); SELECT colum_7 FROM w",
    "a name of thousands of characters": f"SELECT {'x' * 30_000} FROM s",
    "a long list of constants": f"SELECT count(*) FROM s GROUP BY k IN ({NUMBERS})",
    "a long expression of the wrong type": f"SELECT k FROM s WHERE k + ({SUM})",
    "a long text that is no number": f"SELECT k + '{'5' * 30_000}' FROM s",
    "joins that nothing bounds": f"SELECT * FROM s s0 {JOINS}",
    "a long comment before it": f"SELECT /* {'word ' * 6000} */ nothing FROM s",
    "much that is wrong in one place": f"SELECT count(*) [RANGE {'9' * 4000} MINUTES] FROM s",
    "a setting of thousands of characters": f"SET late = {'x' * 30_000}",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_refusal_fits_a_screen(text: str) -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
    with pytest.raises(QueryError) as refused:
        engine.sql(text)
    shown = str(refused.value)
    assert len(shown) < 2_200
    assert max(map(len, shown.splitlines())) < 900


def test_the_whole_of_a_long_message_can_be_asked_for() -> None:
    error = QueryError("a" * 5000, hint="b" * 5000)
    assert "(4,360 characters more)" in str(error)
    assert (error.message, error.hint) == ("a" * 5000, "b" * 5000)


@pytest.mark.parametrize("before", [0, 10, 70, 500, 5000])
@pytest.mark.parametrize("after", [0, 10, 70, 500, 5000])
@pytest.mark.parametrize("width", [1, 8, 100, 300])
def test_the_place_is_underlined_wherever_it_lies_in_its_line(
    before: int, after: int, width: int
) -> None:
    line = "." * before + "X" * width + "." * after
    shown, marks = (
        Position(f"first\n{line}\nlast", 6 + before, 6 + before + width).underlined().splitlines()
    )
    marked = "".join(c for c, mark in zip(shown, marks, strict=False) if mark == "^")
    assert marked == "X" * min(width, len(marked))
    assert len(marked) == width or width > 150
    assert (len(shown) == len(line) + 2) is (len(line) <= 160)
