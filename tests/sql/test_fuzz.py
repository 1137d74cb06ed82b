"""Any text gives statements and plans, or one of our errors; never anything else.

The texts are statements of the dialect with words left out, doubled or exchanged, cut off, and with
characters that belong nowhere put in: near enough to the grammar to get deep into it.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.catalog.catalog import Catalog
from penstock.errors import PenstockBug, PenstockError, QueryError
from penstock.runtime.declarations import apply
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect, Explain
from tests.engine.draw import examples
from tests.sql.corpus import STATEMENTS
from tests.sql.declared import declared, plan_of

WORDS = [re.findall(r"\w+|\s+|[^\w\s]", text) for text in STATEMENTS]
ALL_WORDS = sorted({word for words in WORDS for word in words})
DECLARED = declared()


@st.composite
def broken(draw: st.DrawFn) -> str:
    words = list(draw(st.sampled_from(WORDS)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(words) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "cut", "word", "noise"])):
            case "drop" if len(words) > 1:
                del words[place]
            case "double":
                words.insert(place, words[place])
            case "swap":
                other = draw(st.integers(0, len(words) - 1))
                words[place], words[other] = words[other], words[place]
            case "cut" if place > 0:
                words = words[:place]
            case "word":
                words[place] = draw(st.sampled_from(ALL_WORDS))
            case _:
                words.insert(place, draw(st.text(max_size=3)))
    return "".join(words)


def run(text: str, catalog: Catalog) -> None:
    for statement in parse(text):
        if isinstance(statement, Explain) and isinstance(statement.target, BareSelect):
            statement = statement.target
        if isinstance(statement, BareSelect):
            assert bind_query(statement.select, catalog).schema is not None
        else:
            apply(statement, catalog)


def check(text: str) -> None:
    catalog = Catalog()
    catalog._entries = dict(DECLARED._entries)
    catalog.settings = DECLARED.settings
    try:
        run(text, catalog)
    except QueryError as error:
        assert not isinstance(error, PenstockBug)
        assert error.position is not None
        assert str(error)
    except PenstockError as error:  # pragma: no cover
        raise AssertionError(f"no error of a query: {error!r}") from error


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_statements_themselves_are_right(text: str) -> None:
    run(text, declared())


@examples(1200)
@given(broken())
def test_a_broken_statement_gives_a_plan_or_one_of_our_errors(text: str) -> None:
    check(text)


@examples(300)
@given(st.text(max_size=40))
@example("")
@example(";;;")
@example("SELECT '")
@example("/*")
@example("\x00")
@example("SELECT \ud800")
def test_any_text_at_all_gives_one_of_our_errors(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 3000 + "1" + ")" * 3000 + " FROM M",
        "SELECT " + "- " * 3000 + "1 FROM M",
        "SELECT " + "NOT " * 3000 + "TRUE FROM M",
        "SELECT len FROM M WHERE " + " OR ".join(["len = 1"] * 3000),
        "SELECT " + "+".join(["len"] * 3000) + " FROM M",
        "SELECT len FROM " + "(SELECT len FROM " * 300 + "M" + ")" * 300,
        "SELECT " + "abs(" * 500 + "len" + ")" * 500 + " FROM M",
        "SELECT " + "CASE WHEN TRUE THEN " * 500 + "1" + " END" * 500 + " FROM M",
        "SELECT len FROM " + "(" * 500 + "M" + ")" * 500,
    ],
    ids=lambda text: text[:20],
)
def test_a_text_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="nested too deeply") as caught:
        run(text, declared())
    assert caught.value.position is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "+".join(["len"] * 140) + " FROM M",
        "SELECT len FROM M WHERE " + " OR ".join(["len = 1"] * 140),
        "SELECT sum("
        + "+".join(["len"] * 130)
        + ") [RANGE 1 s] FROM M GROUP BY "
        + "+".join(["length"] * 130),
        f"SELECT len FROM M WHERE len IN ({', '.join(map(str, range(5000)))})",
    ],
    ids=["sum", "or", "aggregate", "in"],
)
def test_a_long_text_is_not_a_deep_one(text: str) -> None:
    assert str(plan_of(text).label)


def test_views_on_views_without_end_are_refused() -> None:
    catalog = declared()
    run("CREATE VIEW v0 AS SELECT len FROM M", catalog)
    with pytest.raises(QueryError, match="too many layers"):
        for i in range(1000):
            run(f"CREATE VIEW v{i + 1} AS SELECT len + 1 AS len FROM v{i}", catalog)


def test_numbers_too_large_to_compute_are_refused_at_once() -> None:
    for number in ("1e999999999", "9" * 5000, "1" * 10000 + ".5", "1e9999"):
        with pytest.raises(QueryError):
            run(f"SELECT count(*) [RANGE {number} seconds] FROM M", declared())
    with pytest.raises(QueryError, match="out of range"):
        run(f"SELECT {'9' * 5000} FROM M", declared())
