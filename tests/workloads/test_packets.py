"""Packets: skewed sources, links that answer one another, a quiet one."""

from __future__ import annotations

import polars as pl
import pytest

from penstock.model.timestamps import SECOND
from penstock.workloads import workload

CONVERSATION = ["srcIP", "srcPort", "destIP", "destPort"]


def packets(rows: int = 50_000, **options: str) -> pl.DataFrame:
    return workload("packets", options).rows(0, rows)


def test_rows_of_a_seed_never_change():
    assert packets(3, disorder="1 second").rows() == [
        ("10.0.0.0", 35357, "10.0.1.229", 25, 265, 1767225599609016),
        ("10.0.3.186", 43722, "10.0.2.34", 8080, 227, 1767225599513310),
        ("10.0.3.53", 39067, "10.0.2.52", 25, 40, 1767225599695696),
    ]


def test_few_sources_send_most_packets():
    counts = packets(keys="1000", skew="1")["srcIP"].value_counts(sort=True)["count"]
    assert counts[:10].sum() / 50_000 == pytest.approx(0.39, abs=0.02)  # H(10) / H(1000)
    even = packets(keys="1000", skew="0")["srcIP"].value_counts(sort=True)["count"]
    assert even[:10].sum() / 50_000 < 0.02


def test_a_packet_goes_to_another_host():
    assert packets(keys="2").filter(pl.col("srcIP") == pl.col("destIP")).is_empty()
    assert packets(keys="2")["destIP"].n_unique() == 2


def test_a_host_holds_a_few_conversations():
    conversations = packets(keys="20").select(CONVERSATION).unique()
    assert conversations.group_by("srcIP").len()["len"].to_list() == [8] * 20


def test_ports_and_lengths_are_possible():
    rows = packets()
    for port in ("srcPort", "destPort"):
        assert rows[port].is_between(1, 65535).all()
    assert rows["len"].is_between(40, 1500).all()
    assert (rows["len"] == 40).sum() / rows.height == pytest.approx(52 / 128, abs=0.02)


def test_what_goes_out_on_one_link_is_answered_on_the_other():
    out, back = packets(keys="50"), packets(keys="50", link="main2")
    answered = ["destIP", "destPort", "srcIP", "srcPort"]
    asked = out.select(CONVERSATION).unique()
    pairs = asked.join(back, left_on=CONVERSATION, right_on=answered, how="semi")
    assert pairs.height / asked.height > 0.99
    assert not out["ts"].equals(back["ts"])


def test_the_quiet_link_is_almost_silent():
    quiet, main = workload("packets", {"link": "quiet"}), workload("packets")
    tick = main.arrivals.start + 600 * SECOND
    assert main.arrived(tick) == pytest.approx(4000 * 600, rel=0.01)
    assert 200 < quiet.arrived(tick) < 400
    assert workload("packets", {"link": "quiet", "rate": "9"}).arrivals.rate == 9
