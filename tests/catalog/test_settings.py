"""SET changes a setting, DECLARE makes a parameter, and nothing becomes either by accident."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.catalog.removed_settings import REMOVED
from penstock.catalog.settings import (
    OWN,
    SETTINGS,
    Setting,
    Settings,
    own_changes,
)
from penstock.errors import BadSetting, DuplicateName
from penstock.local.engine import LocalEngine
from penstock.model.assignments import Duration, Rows, Value
from penstock.model.ets import ON_DEMAND, periodic
from penstock.optimizer.options import Options

WORDS = [(name, word) for name, each in SETTINGS.items() for word in each.words if " " not in word]


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))
def test_every_setting_says_what_it_can_be_and_decides(setting: Setting) -> None:
    assert setting.doc
    assert setting.values
    assert getattr(Settings(), setting.name) == setting.default


@pytest.mark.parametrize(("name", "word"), WORDS)
def test_every_value_that_is_listed_can_be_set(name: str, word: str) -> None:
    changed = getattr(Settings().with_value(name.upper(), word.upper()), name)
    assert changed is None if word == "unlimited" else str(changed) == word.replace("on_", "on ")


def test_a_step_may_be_limited_and_unlimited_again() -> None:
    limited = Settings().with_value("rows_per_step", 7)
    assert limited.rows_per_step == 7
    assert limited.with_value("rows_per_step", "unlimited").rows_per_step is None


@pytest.mark.parametrize("alpha", [0, 0.3])
def test_a_share_of_the_time_may_be_nothing(alpha: float) -> None:
    assert Settings().with_value("join_alpha", alpha).join_alpha == alpha


def test_limits_of_joins_are_cores_and_sizes() -> None:
    limited = Settings().with_value("cpu_limit", 3).with_value("memory_limit", "'1536 MB'")
    assert (limited.cpu_limit, limited.memory_limit) == (3.0, "1.5 GB")
    assert limited.with_value("cpu_limit", "auto").cpu_limit == "auto"


@pytest.mark.parametrize(
    ("name", "value"), [("cpu_limit", 0), ("cpu_limit", "much"), ("memory_limit", 7)]
)
def test_a_limit_is_a_number_of_cores_or_a_size(name: str, value: object) -> None:
    with pytest.raises(BadSetting, match="it can be: auto, or a "):
        Settings().with_value(name, value)  # type: ignore[arg-type]


def test_settings_are_not_changed_in_place() -> None:
    before = Settings()
    before.with_parameter("n", 5).with_value("union", "merge")
    assert before == Settings()


def test_what_is_not_the_default_has_been_changed() -> None:
    assert Settings().changed() == []
    changed = Settings().with_value("mode", "iop").with_value("join_alpha", 0.3)
    assert [each.name for each in changed.changed()] == ["join_alpha", "mode"]


def test_a_parameter_is_found_whatever_its_case() -> None:
    settings = Settings().with_parameter("n", Duration(3)).with_parameter("M", 5)
    assert settings.parameters.get("n") == Duration(3)
    assert settings.parameters.get("m") == 5
    assert settings.parameters.get("k") is None


def test_a_parameter_is_only_replaced_on_purpose() -> None:
    settings = Settings().with_parameter("n", 5)
    with pytest.raises(DuplicateName, match="DECLARE OR REPLACE N"):
        settings.with_parameter("N", 7)
    assert settings.with_parameter("N", 7, replaces=True).parameters["n"] == 7


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("union", "join", "it can be: auto, meld, merge"),
        ("union", 5, "it can be: auto, meld, merge"),
        ("strategy", Duration(5), "it can be: dfs, bfs"),
        ("rows_per_step", 0, "a whole number from 1"),
        ("rows_per_step", "many", "unlimited"),
        ("rows_per_step", Duration(5), "unlimited"),
        ("table_size", 0.5, "a whole number from 1"),
        ("join_alpha", 1, "from 0 to less than 1"),
        ("join_order", "sideways", "not a tree of inputs"),
        ("join_order", "(a)", "two or more"),
        ("join_order", "((a, b), a)", "every input of the join once"),
        ("join_alpha", -0.1, "from 0 to less than 1"),
        ("join_alpha", float("inf"), "from 0 to less than 1"),
        ("join_alpha", float("nan"), "from 0 to less than 1"),
        ("table_size", 10**9 + 1, "to 1,000,000,000"),
        ("row_per_step", 5, "did you mean `rows_per_step`"),
        ("alpha", 0.3, "did you mean `join_alpha`"),
        ("stratgy", 5, "did you mean `strategy`"),
        ("watermark", "late", "settings are: union, strategy"),
        ("n", Duration(3_000_000), "DECLARE n = 3 SECONDS; settings are: union"),
        ("n", Rows(3), "DECLARE n = 3 ROWS; settings are: union"),
        ("n", 5, "DECLARE n = 5; settings are: union"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: Value, reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        Settings().with_value(name, value)


@pytest.mark.parametrize("removed", REMOVED)
def test_what_can_no_longer_be_set_is_refused_with_what_shows_it_and_what_to_set(
    removed: str,
) -> None:
    name, value = removed.split(" = ")
    assert value not in SETTINGS[name].words
    with pytest.raises(BadSetting, match=f"^`{name}` can no longer be `{value}`: ") as caught:
        Settings().with_value(name, value)
    assert " = auto`" in caught.value.message
    assert caught.value.hint == f"it can be: {SETTINGS[name].values}"


def test_the_experiments_that_are_named_for_what_can_no_longer_be_set_exist() -> None:
    named = re.findall(r"experiment (\w+)", " ".join(REMOVED.values()))
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()
    assert named
    assert all(f"| {name} |" in page for name in named)


def test_setting_a_parameter_is_told_how_to_replace_it() -> None:
    settings = Settings().with_parameter("width", 5)
    with pytest.raises(BadSetting, match="DECLARE OR REPLACE width = 7"):
        settings.with_value("width", 7)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("strategy", 5, "is a setting"),
        ("n", "wide", "it is a length: DECLARE n = 3 SECONDS"),
        ("n", 0.5, "it is a length"),
        ("n", 2**63, "it is a length"),
        ("n", ON_DEMAND, "it is a length"),
    ],
)
def test_what_cannot_be_a_parameter_is_refused(name: str, value: Value, reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        Settings().with_parameter(name, value)


def test_enabling_timestamps_can_be_periodic() -> None:
    assert Settings().ets == ON_DEMAND
    assert Settings().with_value("ets", periodic(5)).ets.every == 5
    assert Settings().with_value("ets", "on_demand").ets == ON_DEMAND
    for value in ("sometimes", 5, Duration(5)):
        with pytest.raises(BadSetting, match="on_demand, periodic 1 SECOND, none"):
            Settings().with_value("ets", value)


def test_the_options_of_the_optimizer_are_those_that_were_set() -> None:
    changed = Settings().with_value("join", "opib").with_value("ets", "none")
    assert changed.options == Options(join="opib")


def test_the_mode_decides_about_unions_unless_somebody_has() -> None:
    auto = Settings()
    assert (auto.merges, auto.with_value("mode", "iop").merges) == (False, True)
    merging = auto.with_value("union", "merge")
    assert merging.with_value("mode", "iop").with_value("mode", "oop").merges


@pytest.mark.parametrize("order", [("union", "mode"), ("mode", "union")])
def test_order_everywhere_but_in_unions_is_refused(order: tuple[str, str]) -> None:
    values = {"union": "meld", "mode": "iop"}
    first, second = order
    settings = Settings().with_value(first, values[first])
    with pytest.raises(BadSetting, match="SET union = auto"):
        settings.with_value(second, values[second])


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("table_size", 16, "aggregation = two_level"),
        ("flush", "lazy", "aggregation = two_level"),
        ("flush_windows", 3, "aggregation = two_level"),
        ("flush_rows", 5, "aggregation = two_level"),
        ("join_alpha", 0.5, "join = adaptive"),
    ],
)
def test_what_would_do_nothing_is_refused_when_a_query_is_declared(
    name: str, value: Value, needed: str
) -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts; SET {name} = {value}")
    with pytest.raises(BadSetting, match=f"(?s)does nothing without.*SET {needed}") as refused:
        engine.sql("SELECT v FROM s")
    assert refused.value.position is not None
    engine.sql(f"SET {needed}; SELECT v FROM s")


def test_what_a_query_has_for_itself_is_told_from_what_all_have() -> None:
    assert {each.name for each in OWN}.isdisjoint({"late", "ets", "ets_by", "strategy"})
    assert own_changes(Options(mode="iop", strategy="bfs", join_alpha=0.5, join="adaptive")) == {
        "join": "adaptive",
        "join_alpha": "0.5",
        "mode": "iop",
    }
