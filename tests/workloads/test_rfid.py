"""RFID readings: each tag passes the readers in their order."""

from __future__ import annotations

import polars as pl
import pytest

from penstock.workloads import workload


def readings(**options: str) -> pl.DataFrame:
    rows = workload("rfid", {"tags": "20", "readers": "5", **options}).rows(0, 30_000)
    return rows.with_columns(pl.col("reader").str.strip_prefix("reader-").cast(pl.Int64))


def test_a_tag_never_goes_back_to_an_earlier_reader():
    steps = readings().select(pl.col("reader").diff().over("tag").alias("step")).drop_nulls()
    assert set(steps["step"].to_list()) >= {0, 1}
    assert (steps["step"] >= 0).all()


def test_a_tag_passes_all_readers_unless_one_misses_it():
    seen = readings().group_by("tag").agg(pl.col("reader").n_unique())["reader"]
    assert seen.max() == 5
    assert (seen == 5).sum() > 0.7 * len(seen)
    assert (seen < 5).any()


def test_a_reader_sees_a_tag_as_often_as_asked_for():
    visits = readings(repeats="6").group_by("tag", "reader").len()["len"]
    assert visits.mean() == pytest.approx(6, abs=0.3)


def test_all_readers_are_busy_and_new_tags_keep_coming():
    rows = readings()
    shares = rows["reader"].value_counts()["count"] / 30_000
    assert shares.to_list() == pytest.approx([0.2] * 5, abs=0.02)
    assert rows["tag"].n_unique() > 30_000 / (5 * 3) * 0.9
    assert rows.slice(10_000, 100)["tag"].n_unique() <= 40
