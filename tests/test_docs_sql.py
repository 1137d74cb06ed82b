"""docs/sql.md is true: what it shows binds, runs or is refused exactly as it says.

    ```sql              statements that can be declared and run
    ```sql plan only    queries that bind, and that have no operators
    ```refused          a query, an empty line, and its error
    ```shown            statements, an empty line, and what the last one shows

All blocks of the page share one catalog, from top to bottom; but what is shown is shown by an
engine of its own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from penstock.catalog.catalog import Catalog
from penstock.catalog.settings import SETTINGS, Setting
from penstock.errors import NotExecutable, QueryError
from penstock.local.engine import LocalEngine
from penstock.model.aggregate_functions import AGGREGATES, DISTINCT_OF, AggregateFunction
from penstock.model.functions import FUNCTIONS
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import UNLIMITED
from penstock.plan.nodes import Node
from penstock.runtime.declarations import apply, query_entry
from penstock.sql.bind.query import bind_query
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import BareSelect, CreateQuery, Explain, Statement
from tests.pages import blocks

PATH = Path(__file__).parent.parent / "docs" / "sql.md"
PAGE = PATH.read_text()
BLOCKS = re.findall(r"^```(sql|sql plan only|refused)\n(.*?)^```$", PAGE, re.M | re.S)
SHOWN = blocks(PATH, "shown")


def plan_of(statement: Statement, catalog: Catalog) -> Node | None:
    """The plan of a query; declarations are carried out."""
    match statement:
        case BareSelect():
            return bind_query(statement.select, catalog)
        case CreateQuery():
            plan = query_entry(statement, catalog).plan
            apply(statement, catalog)
            return plan
        case Explain(target=str(name)):
            return catalog.relation(name)
        case Explain(target=BareSelect() | CreateQuery() as target):
            return plan_of(target, catalog)
    apply(statement, catalog)
    return None


def is_executable(plan: Node, catalog: Catalog) -> bool:
    try:
        optimize({"q": plan}, catalog.settings.options)
    except NotExecutable:
        return False
    return True


def test_every_block_is_as_it_says() -> None:
    catalog = Catalog()
    for kind, text in BLOCKS:
        if kind == "refused":
            query, expected = text.rstrip().split("\n\n")
            with pytest.raises(QueryError) as caught:
                for statement in parse(query):
                    plan_of(statement, catalog)
            assert str(caught.value) == expected
            continue
        for statement in parse(text):
            plan = plan_of(statement, catalog)
            if plan is not None:
                assert is_executable(plan, catalog) == (kind == "sql"), statement.sql


@pytest.mark.parametrize("block", SHOWN)
def test_what_is_shown_is_what_one_sees(block: str) -> None:
    statements, shown = block.split("\n\n", 1)
    assert LocalEngine().sql(statements) == shown.rstrip("\n")


def test_the_page_has_blocks_of_every_kind() -> None:
    kinds = [kind for kind, _ in BLOCKS]
    assert len(SHOWN) > 2
    assert kinds.count("sql") > 2
    assert kinds.count("refused") > 2


def test_two_queries_that_are_said_to_be_the_same_are_the_same() -> None:
    [text] = [text for _, text in BLOCKS if "WA ts] FROM packets GROUP BY src;" in text]
    catalog = Catalog()
    for statement in parse(BLOCKS[0][1]):
        apply(statement, catalog)
    first, second = (plan_of(statement, catalog) for statement in parse(text))
    assert first == second


def row_of(function: AggregateFunction) -> str:
    """The line of the page's table that describes an aggregate function."""
    written = [f"`{spelling.call()}`" for spelling in function.spellings]
    if function.name in DISTINCT_OF:
        written = [f"`{DISTINCT_OF[function.name]}(DISTINCT x)`"]
    kept = "grows with its rows" if function.holistic else "fixed"
    cells = (function.description, function.takes.value, function.gives.value, kept)
    return f"| {', '.join(written)} | {' | '.join(cells)} |"


def test_the_table_of_aggregates_is_the_registry() -> None:
    section = PAGE.split("## Aggregates")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("| `")]
    assert "\n".join(table) == "\n".join(map(row_of, AGGREGATES.values()))


def test_every_function_is_named() -> None:
    named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", PAGE))
    functions = {name for name in FUNCTIONS if name[0].isalpha()}
    written_as_operators = {"in", "and", "or", "not", "like", "ilike", "rlike", "div", "negative"}
    assert functions - written_as_operators <= named


def test_the_table_of_settings_is_that_of_the_code() -> None:
    head = (
        "| setting | values | default | for | with | what it decides |\n|---|---|---|---|---|---|\n"
    )
    rows = "".join(
        f"| `{each.name}` | {each.values} | {shown(each.default)} | {each.holds_for} "
        f"| {needed(each)}| {each.doc} |\n"
        for each in SETTINGS.values()
    )
    found = re.search(r"^\| setting \|.*?\n(?!\|)", PAGE, re.M | re.S)
    assert found is not None
    if os.environ.get("PENSTOCK_REWRITE"):
        PATH.write_text(PAGE.replace(found[0], head + rows))
    else:
        assert found[0] == head + rows


def test_the_settings_that_all_queries_have_in_common_are_those_of_the_code() -> None:
    common = [f"`{each.name}`" for each in SETTINGS.values() if each.of_engine]
    assert f"All queries have the same {', '.join(common[:-1])} and {common[-1]}:" in PAGE
    assert f"Settings that all queries have in common ({', '.join(common)}) are changed by" in PAGE


def shown(default: object) -> str:
    return UNLIMITED if default is None else str(default)


def needed(setting: Setting) -> str:
    """What a setting does nothing without."""
    return "" if setting.needs is None else "`{} = {}` ".format(*setting.needs)
