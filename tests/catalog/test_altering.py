"""ALTER QUERY checks its options as SET does, and all of them together."""

from __future__ import annotations

import pytest

from penstock.catalog.catalog import Catalog, QueryEntry
from penstock.errors import BadSetting, UnknownName
from penstock.optimizer.options import Options
from tests.sql.declared import declared, execute

QUERY = "CREATE QUERY q AS SELECT max(len) AS m FROM M [RANGE 1 MINUTE, SLIDE 10 SECONDS]"


def catalog_with(*texts: str) -> Catalog:
    catalog = declared()
    execute(catalog, *texts)
    return catalog


def options_of(catalog: Catalog, query: str = "q") -> Options:
    entry = catalog.get(query)
    assert isinstance(entry, QueryEntry)
    return entry.options


def test_options_are_changed_and_nothing_else() -> None:
    catalog = catalog_with("SET join = oa", QUERY)
    before = catalog.get("q")
    execute(catalog, "ALTER QUERY Q SET (Aggregation = PANED, mode = 'iop')")
    assert options_of(catalog) == Options(join="oa", aggregation="paned", mode="iop")
    after = catalog.get("q")
    assert before is not None and after is not None
    assert (after.name, after.plan, after.reads) == (before.name, before.plan, before.reads)
    assert catalog.settings.options == Options(join="oa")


def test_changes_of_one_statement_take_effect_together() -> None:
    catalog = catalog_with("SET mode = iop", QUERY)
    execute(catalog, "ALTER QUERY q SET (union = meld, mode = oop)")
    execute(catalog, "ALTER QUERY q SET (table_size = 16, aggregation = two_level)")
    assert options_of(catalog) == Options(union="meld", aggregation="two_level", table_size=16)


def test_a_query_that_others_read_can_be_altered() -> None:
    catalog = catalog_with(QUERY, "CREATE VIEW v AS SELECT m FROM q")
    execute(catalog, "ALTER QUERY q SET (aggregation = wid)")
    assert options_of(catalog).aggregation == "wid"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("aggregation = wid, join = fast", "`join` cannot be `fast`"),
        ("aggregation = wid, jion = oa", "no option `jion`"),
        ("aggregation = wid, strategy = bfs", "`strategy` is the same for all queries"),
        ("aggregation = wid, table_size = 16", "`table_size = 16` does nothing without"),
        ("union = meld, mode = iop", "`mode = iop` keeps order everywhere"),
    ],
)
def test_what_is_refused_changes_nothing(change: str, reason: str) -> None:
    catalog = catalog_with(QUERY)
    with pytest.raises(BadSetting, match=reason) as refused:
        execute(catalog, f"ALTER QUERY q SET ({change})")
    assert refused.value.position is not None
    assert options_of(catalog) == Options()


def test_an_option_that_is_wrong_is_underlined_alone() -> None:
    catalog = catalog_with(QUERY)
    with pytest.raises(BadSetting) as refused:
        execute(catalog, "ALTER QUERY q SET (aggregation = wid, join = fast)")
    assert str(refused.value) == (
        "`join` cannot be `fast`\n"
        "  ALTER QUERY q SET (aggregation = wid, join = fast)\n"
        "                                        ^^^^^^^^^^^\n"
        "  it can be: auto, oa, sync_filter, filter_order, adaptive, tsm, opob, opib, mjoin"
    )


def test_only_queries_are_altered() -> None:
    catalog = catalog_with("CREATE VIEW v AS SELECT len FROM M")
    with pytest.raises(UnknownName, match="no query `v`, but a view of that name") as refused:
        execute(catalog, "ALTER QUERY v SET (join = oa)")
    place = refused.value.position
    assert place is not None and place.text[place.start : place.end] == "v"
