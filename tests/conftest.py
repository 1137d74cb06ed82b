"""Settings every test shares: Hypothesis draws the same cases on every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")

HERE = Path(__file__).parent
#: What starts Spark. With two workers it all belongs to one of them: a session takes seconds to
#: start and wants both cores.
STARTS_SPARK = (HERE / "spark", HERE / "test_docs.py")


# First: the plugin that shares tests out reads the groups in this very hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give Spark's tests to one worker, and begin with them: they take as long as all others."""
    if not config.getoption("loadgroup", default=False):
        return
    for item in items:
        if starts_spark(item):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=starts_spark, reverse=True)


def starts_spark(item: pytest.Item) -> bool:
    return any(place == item.path or place in item.path.parents for place in STARTS_SPARK)
