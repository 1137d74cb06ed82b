"""SET changes a setting or gives a parameter its value, and nothing by accident."""

from __future__ import annotations

import pytest

from penstock.catalog.settings import CHOICES, Duration, Settings
from penstock.errors import BadSetting
from penstock.model.ets import ON_DEMAND, periodic
from penstock.optimizer.options import Options


def test_the_defaults() -> None:
    settings = Settings()
    assert (settings.union, settings.strategy, settings.rows_per_step) == ("meld", "dfs", None)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in CHOICES.items() for value in values]
)
def test_every_value_that_is_listed_can_be_set(name: str, value: str) -> None:
    changed = getattr(Settings().with_value(name.upper(), value.upper()), name)
    assert changed is None if value == "unlimited" else str(changed) == value.replace("on_", "on ")


def test_a_step_may_be_limited_and_unlimited_again() -> None:
    limited = Settings().with_value("rows_per_step", 7)
    assert limited.rows_per_step == 7
    assert limited.with_value("rows_per_step", "unlimited").rows_per_step is None


def test_settings_are_not_changed_in_place() -> None:
    before = Settings()
    before.with_value("n", 5).with_value("union", "merge")
    assert before == Settings()


def test_any_other_name_is_a_parameter() -> None:
    settings = Settings().with_value("n", Duration(3)).with_value("M", 5).with_value("N", 7)
    assert settings.parameter("N") == 7
    assert settings.parameter("m") == 5
    assert settings.parameter("k") is None


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("union", "join", "it can be: meld, merge"),
        ("union", 5, "it can be: meld, merge"),
        ("strategy", Duration(5), "it can be: dfs, bfs"),
        ("rows_per_step", 0, "at least 1"),
        ("rows_per_step", "many", "unlimited"),
        ("rows_per_step", Duration(5), "unlimited"),
        ("row_per_step", 5, "did you mean `rows_per_step`"),
        ("stratgy", 5, "did you mean `strategy`"),
        ("n", "wide", "SET n = 3 SECONDS"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, value: str | int | Duration, reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        Settings().with_value(name, value)


def test_enabling_timestamps_can_be_periodic() -> None:
    assert Settings().ets == ON_DEMAND
    assert Settings().with_value("ets", periodic(5)).ets.every == 5
    assert Settings().with_value("ets", "on_demand").ets == ON_DEMAND
    for value in ("sometimes", 5, Duration(5)):
        with pytest.raises(BadSetting, match="on demand, periodic 1 SECOND, none"):
            Settings().with_value("ets", value)


def test_a_parameter_cannot_be_a_way_to_make_timestamps() -> None:
    with pytest.raises(BadSetting, match="no setting `n`"):
        Settings().with_value("n", ON_DEMAND)


def test_the_options_of_the_optimizer_are_those_that_were_set() -> None:
    changed = Settings().with_value("join", "opib").with_value("table_size", 16)
    assert changed.options == Options(join="opib", table_size=16)
    assert Settings().options == Options()
