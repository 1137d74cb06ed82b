"""A workload by its name and the texts of its options."""

from __future__ import annotations

import pytest

from penstock.errors import BadSetting, UnknownName
from penstock.model.timestamps import MINUTE, SECOND
from penstock.workloads import WORKLOADS, workload
from penstock.workloads.arrivals import START


def test_options_reach_the_workload():
    options = {
        "RATE": "50",
        "lull": "10 seconds",
        "every": "2 minutes",
        "burst": "5",
        "disorder": "1 second",
        "lag": "2 seconds",
        "start": "1970-01-01 00:01:00",
        "rows": "7",
    }
    made = workload("Poisson", options, seed=3)
    assert made.name == "poisson"
    assert made.seed == 3
    assert made.total == 7
    assert made.arrivals.rate == 50
    assert made.arrivals.lull == 10 * SECOND
    assert made.arrivals.every == 2 * MINUTE
    assert made.arrivals.burst == 5
    assert made.arrivals.start == MINUTE
    assert made.disorder.lag == 2 * SECOND
    assert made.slack == SECOND


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_stream_begins_in_2026_unless_told_otherwise(name):
    assert START <= workload(name).arrival_times(0, 1)[0] < START + 10 * SECOND


def test_an_unknown_workload_is_refused_with_the_names_there_are():
    with pytest.raises(UnknownName, match="no workload `packet`") as caught:
        workload("packet")
    assert "did you mean `packets`? there are: poisson, packets, rfid" in str(caught.value)


@pytest.mark.parametrize("name", WORKLOADS)
def test_an_unknown_option_is_refused_with_the_names_there_are(name):
    with pytest.raises(BadSetting, match=f"workload `{name}` has no option `rats`") as caught:
        workload(name, {"rats": "5"})
    assert "did you mean `rate`?" in str(caught.value)
    assert "rows, seed" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("poisson", {"rate": "fast"}, "`rate` must be a number, not 'fast'"),
        ("poisson", {"rate": "0"}, "`rate` cannot be 0"),
        ("poisson", {"keys": "0"}, "`keys` cannot be 0"),
        ("poisson", {"skew": "-1"}, "`skew` cannot be -1"),
        ("poisson", {"value": "text"}, "`value` cannot be 'text'"),
        ("poisson", {"disorder": "5"}, "`disorder` must be a duration"),
        ("poisson", {"disorder": "1 second", "block": "1 second"}, "not both"),
        ("poisson", {"lull": "2 minutes"}, "leaves no time for rows"),
        ("poisson", {"every": "2 minutes"}, "there is none"),
        ("poisson", {"burst": "0"}, "`burst` cannot be 0"),
        ("poisson", {"rows": "-3"}, "`rows` must be"),
        ("poisson", {"seed": "x"}, "`seed` must be a whole number"),
        ("poisson", {"start": "noon"}, "`start` must be a point in time"),
        ("packets", {"link": "main3"}, "`link` cannot be 'main3'"),
        ("packets", {"keys": "1"}, "`keys` cannot be 1"),
        ("rfid", {"tags": "0"}, "`tags` cannot be 0"),
        ("rfid", {"readers": "0"}, "`readers` cannot be 0"),
        ("rfid", {"repeats": "0"}, "`repeats` cannot be 0"),
        ("rfid", {"keys": "5"}, "no option `keys`"),
        ("densities", {"dataset": "DS6"}, "`dataset` cannot be 'ds6'"),
        ("densities", {"rate": "999"}, "`rate` cannot be 999"),
        ("densities", {"lull": "1 second"}, "no option `lull`"),
    ],
)
def test_a_bad_value_is_refused_with_a_way_out(name, options, reason):
    with pytest.raises(BadSetting) as caught:
        workload(name, options)
    assert reason in caught.value.message
    assert caught.value.hint
