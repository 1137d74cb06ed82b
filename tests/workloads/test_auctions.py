"""The auction house: three streams that fit together."""

from __future__ import annotations

import polars as pl
import pytest

from penstock.model.timestamps import SECOND
from penstock.workloads import workload
from penstock.workloads.arrivals import START

PERSONS = workload("persons").rows(0, 2000)
AUCTIONS = workload("auctions").rows(0, 6000)
BIDS = workload("bids").rows(0, 92_000)


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_rest_bids():
    tick = START + 3600 * SECOND
    counts = [workload(name).arrived(tick) for name in ("persons", "auctions", "bids")]
    assert sum(counts) == pytest.approx(3_600_000, rel=0.01)
    assert [count / sum(counts) for count in counts] == pytest.approx([0.02, 0.06, 0.92], abs=1e-5)


def test_ids_count_on():
    assert PERSONS["id"].to_list() == list(range(1000, 3000))
    assert AUCTIONS["id"].to_list() == list(range(1000, 7000))


@pytest.mark.parametrize(
    ("rows", "reference", "mentioned"),
    [
        pytest.param(BIDS, "auction", AUCTIONS, id="the auction of a bid"),
        pytest.param(BIDS, "bidder", PERSONS, id="the bidder"),
        pytest.param(AUCTIONS, "seller", PERSONS, id="the seller of an auction"),
    ],
)
def test_whoever_is_mentioned_has_come_before(rows, reference, mentioned):
    met = rows.join(mentioned, left_on=reference, right_on="id", suffix="_before")
    assert met.height == rows.height
    assert (met["dateTime_before"] <= met["dateTime"]).all()


def test_lulls_and_bursts_are_common_to_all_three():
    options = {"lull": "20 seconds", "burst": "10"}
    bids = workload("bids", options).rows(0, 50_000)
    auctions = workload("auctions", options).rows(0, 4_000)
    met = bids.join(auctions, left_on="auction", right_on="id", suffix="_before")
    assert met.height == 50_000
    assert (met["dateTime_before"] <= met["dateTime"]).all()


def test_half_of_the_bids_go_to_a_hot_auction():
    hot = BIDS.filter(pl.col("auction") % 100 == 0).height / BIDS.height
    assert hot == pytest.approx(0.5, abs=0.02)


def test_three_in_four_bidders_are_a_hot_person():
    hot = BIDS.filter(pl.col("bidder") % 100 == 0).height / BIDS.height
    assert hot == pytest.approx(0.75, abs=0.02)


def test_an_auction_has_a_price_and_an_end():
    assert (AUCTIONS["expires"] > AUCTIONS["dateTime"]).all()
    assert (AUCTIONS["reserve"] > AUCTIONS["initialBid"]).all()
    assert AUCTIONS["category"].unique().sort().to_list() == [10, 11, 12, 13, 14]
    assert BIDS["price"].is_between(100, 100_000_000).all()


def test_half_of_the_bids_come_through_four_big_channels():
    big = BIDS["channel"].is_in(["Google", "Facebook", "Baidu", "Apple"]).mean()
    assert big == pytest.approx(0.5, abs=0.02)
    assert BIDS["channel"].n_unique() == 1004


def test_a_person_lives_in_a_city_of_the_right_state():
    assert PERSONS.select("city", "state").unique().height == 8
    assert PERSONS["creditCard"].str.contains(r"^\d{4} \d{4} \d{4} \d{4}$").all()
    assert PERSONS["emailAddress"].n_unique() == PERSONS.height
