"""The picture of a join's plans: readable for few and for hundreds, whatever inputs are called."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from penstock.optimizer.joins.alternatives import choices_of
from penstock.optimizer.joins.choose_tree import TreeChoice
from penstock.optimizer.joins.scatter import scatter_svg
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from tests.optimizer.joins.test_choose_tree import CHAIN, query

FIVE = "a.k = b.k AND b.x = c.x AND c.y = d.y AND d.k = e.x"
TIGHT = Options(memory_limit="1 MB", cpu_limit=0.005)


def choice(options: Options, where: str = CHAIN, names: str = "abc") -> TreeChoice:
    [found] = choices_of(query(where, names), options, Statistics())
    return found


def drawn(of: TreeChoice) -> ET.Element:
    return ET.fromstring(scatter_svg(of))


def texts(picture: ET.Element) -> list[str]:
    return [each.text or "" for each in picture.iter() if each.tag.endswith("text")]


def circles(picture: ET.Element) -> list[ET.Element]:
    """Those in the picture: others belong to the legend, which is moved below it."""
    groups = [each for each in picture if each.tag.endswith("g") and "transform" not in each.attrib]
    return [each for group in groups for each in group if each.tag.endswith("circle")]


@pytest.mark.parametrize(("where", "names", "count"), [(CHAIN, "abc", 4), (FIVE, "abcde", 236)])
@pytest.mark.parametrize("options", [Options(), TIGHT])
def test_it_has_a_point_for_each_plan_inside_the_axes(
    where: str, names: str, count: int, options: Options
) -> None:
    found = circles(drawn(choice(options, where, names)))
    assert len(found) == count
    for each in found:
        assert 90 <= float(each.attrib["cx"]) <= 730
        assert 50 <= float(each.attrib["cy"]) <= 410


def test_limits_are_drawn_with_their_names_and_what_is_above_is_shaded() -> None:
    picture = drawn(choice(TIGHT))
    assert [each.get("class") for each in picture.iter()].count("limit") == 2
    assert [each.get("class") for each in picture.iter()].count("above") == 2
    assert {"memory_limit 1 MB", "cpu_limit 0.5 %"} <= {*texts(picture)}


def test_limits_that_lie_far_from_all_plans_are_told_in_words() -> None:
    picture = drawn(choice(Options(memory_limit="1000 TB", cpu_limit=1e6)))
    assert not [each for each in picture.iter() if each.get("class") == "limit"]
    [told] = [each for each in texts(picture) if "beyond what is drawn" in each]
    assert told.startswith("cpu_limit 100,000,000 % and memory_limit 1,000 TB lie beyond ")
    assert told.endswith("; 4 plans within both")


def test_plans_that_have_a_name_are_numbered_and_explained_below() -> None:
    picture = drawn(choice(Options()))
    told = texts(picture)
    assert "chosen, as written: ((a, b), c), " in " ".join(told)
    assert "all at once: (a, b, c), " in " ".join(told)
    assert [told.count(number) for number in "123"] == [2, 2, 0]
    assert any(each.startswith("on the Pareto front (1 plan): ") for each in told)


def test_axes_have_round_numbers_with_their_units() -> None:
    told = texts(drawn(choice(Options(), FIVE, "abcde")))
    assert {"1 MB", "10 MB", "100 MB", "1 GB"} <= {*told}
    assert {"1,000 %", "10,000 %"} <= {*told}


def test_plans_that_take_nearly_the_same_have_numbers_at_the_axes_too() -> None:
    of = choice(Options())
    of = replace(of, found=replace(of.found, looked_at=()), written=of.taken)
    told = texts(drawn(of))
    assert len([each for each in told if each.endswith("%")]) > 2
    assert len([each for each in told if each.endswith("B")]) > 2


def test_long_and_odd_names_are_cut_and_escaped() -> None:
    of = choice(Options())
    names = ('<odd> & "name", (1)', "long_" * 30, "c")
    of = replace(of, names=names, names_within=tuple((name,) for name in names))
    told = texts(drawn(of))
    assert max(map(len, told)) < 100
    assert any("`<odd> & " in each for each in told)
