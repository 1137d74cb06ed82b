"""What a query is said to wait for: a law, over random plans and streams.

What is named lets a row out, unless it is said not to be certain; and one tick less, on any of the
streams that are named, lets nothing out. Where nothing is said to wait, no bound lets anything out.
The judge is another engine that has seen the same, and is told just that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from penstock.errors import NotExecutable
from penstock.kernel.aggregation import session
from penstock.kernel.joins import unmatched
from penstock.kernel.matching import match_recognize
from penstock.local.engine import LocalEngine
from penstock.model.punctuation import Punctuation
from penstock.model.releases import Releases
from penstock.model.schema import ROW_NUM
from penstock.model.timestamps import END
from tests.engine.draw import Draw, check_seeds
from tests.engine.random_joins import (
    aggregated_joins,
    join_queries,
    joined_aggregates,
    joins_of_several,
    joins_of_three,
    pair_counts,
)
from tests.engine.random_matches import match_queries, timed_match_queries
from tests.engine.random_queries import (
    kind_queries,
    lone_window_queries,
    nested_queries,
    row_queries,
    window_queries,
)
from tests.engine.random_sequences import aggregated_sequences, sequence_queries
from tests.engine.random_streams import NAMES, UNITS, Declared, arrivals, declarations
from tests.engine.running import feed, how, started

#: Settings that need streams in order.
IN_ORDER = ("sync_filter", "filter_order", "adaptive", "tsm", "opob", "opib")
ORDERED = {"union = merge", *(f"join = {join}" for join in IN_ORDER)}
#: Beyond all rows and windows, and not the end.
FAR = 10**17


class Case:
    """One query over streams that have come so far; `told` is the number of rows more."""

    def __init__(self, draw: Draw, make: Callable[[Draw, str], str], *settings: str) -> None:
        self.declared = declarations(draw, ordered=ORDERED.intersection(settings) != set())
        self.text = make(draw, UNITS[self.declared[0].time])
        self.events = arrivals(draw, self.declared, blocks=5)
        self.settings = [*how(draw), *settings]
        self.engine = self.fed()

    def fed(self) -> LocalEngine:
        engine = started(self.declared, *self.settings)
        engine.sql(f"CREATE QUERY q AS {self.text}")
        feed(engine, self.events)
        return engine

    def releases(self) -> Releases:
        return self.engine._host.releases("q")

    def told(self, bounds: Mapping[tuple[str, str], int]) -> int:
        engine = self.fed()
        before, host = engine.query("q").rows, engine._host
        for (stream, on), bound in bounds.items():
            if bound >= END:
                host.inputs[stream].end()
            elif on == ROW_NUM:
                host.source(stream).output.punctuation(Punctuation(ROW_NUM, bound))
            elif bound > host.inputs[stream].bound:
                host.punctuate(stream, bound)
        engine.advance()
        return engine.query("q").rows - before

    def all_over(self) -> int:
        engine = self.fed()
        before = engine.query("q").rows
        engine.finish()
        return engine.query("q").rows - before

    def check(self) -> None:
        found = self.releases()
        where = f"{self.text}\n{self.declared}\n{self.events}\n{self.settings}\n{found}"
        assert found.known, where
        if not found.releases:
            assert self.all_over() == 0, where
        for release in found.releases:
            if release.certain:
                assert self.told(release.bounds) > 0, f"not released by {release}\n{where}"
            for key, bound in release.bounds.items():
                less = {**release.bounds, key: FAR if bound >= END else bound - 1}
                assert self.told(less) == 0, f"released by less: {less}\n{where}"


def law(make: Callable[[Draw, str], str], *settings: str) -> Callable[[Draw], None]:
    def what_is_named_releases_a_row_and_nothing_less_does(draw: Draw) -> None:
        Case(draw, make, *settings).check()

    return what_is_named_releases_a_row_and_nothing_less_does


def rows(draw: Draw, unit: str) -> str:
    return row_queries(draw)


def ordered(draw: Draw, unit: str) -> str:
    return f"SELECT k, ts FROM {draw.choose(['a', 'b', 'a UNION b'])} ORDER BY ts"


def ordered_joins(draw: Draw, unit: str) -> str:
    kind = draw.choose(["JOIN", "LEFT JOIN"])
    return (
        f"SELECT l.k AS k, l.ts AS lt FROM a AS l {kind} b AS r "
        f"ON l.k = r.k WITHIN {draw.between(0, 9)}{unit} ORDER BY lt"
    )


def inner_joins(draw: Draw, unit: str) -> str:
    return join_queries(draw, unit, ("JOIN",), ("a", "b", "c"))


def emitting(draw: Draw, unit: str) -> str:
    return (
        f"SELECT k, count(*) AS n FROM a [RANGE {draw.between(1, 9)}{unit}, SLIDE 3{unit}, WA ts] "
        f"GROUP BY k EMIT EVERY {draw.between(1, 9)}{unit}"
    )


def several_windows(draw: Draw, unit: str) -> str:
    slide = draw.between(1, 5)
    windows = [f"[RANGE {draw.between(1, 20)}{unit}, SLIDE {slide}{unit}, WA ts]" for _ in range(2)]
    return f"SELECT k, count(*) {windows[0]} AS n, sum(v) {windows[1]} AS s FROM a GROUP BY k"


def usable(make: Callable[[Draw, str], str]) -> Callable[[Draw, str], str]:
    """Queries whose patterns can be run: another one is drawn until it is."""

    def made(draw: Draw, unit: str) -> str:
        while True:
            text = make(draw, unit)
            time = next(time for time, of in UNITS.items() if of == unit)
            try:
                started([Declared(name, 0, time) for name in NAMES]).sql(text)
            except NotExecutable:
                continue
            return text

    return made


SHAPES = {
    "rows": law(rows),
    "windows": law(window_queries),
    "kinds": law(kind_queries),
    "nested": law(nested_queries),
    "joins": law(join_queries),
    "joins of three": law(joins_of_three),
    "joins by mjoin": law(joins_of_several, "join = mjoin"),
    "aggregates over joins": law(aggregated_joins),
    "counts per pair": law(pair_counts),
    "joins of aggregates": law(joined_aggregates),
    "ordered answers": law(ordered),
    "ordered answers of joins": law(ordered_joins),
    "ordered joins": law(inner_joins, "join = filter_order"),
    "joins by waiting rows": law(inner_joins, "join = sync_filter"),
    "adaptive joins": law(inner_joins, "join = adaptive"),
    "joins by TSM registers": law(inner_joins, "join = tsm"),
    "joins of several in order": law(joins_of_several, "union = merge", "join = filter_order"),
    "joins with sorted results": law(inner_joins, "join = opob"),
    "joins with sorted rows": law(inner_joins, "join = opib"),
    "order kept everywhere": law(lone_window_queries, "mode = iop"),
    "merges": law(window_queries, "union = merge"),
    "early answers": law(emitting),
    "several windows": law(several_windows),
    "matches": law(usable(match_queries)),
    "what waits for matches": law(usable(timed_match_queries)),
    "sequences": law(sequence_queries),
    "sequences in order": law(sequence_queries, "mode = iop"),
    "aggregates over sequences": law(aggregated_sequences),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_named_releases_a_row_and_nothing_less_does(shape: str) -> None:
    check_seeds(8, SHAPES[shape])


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_named_releases_a_row_in_many_more_cases(shape: str) -> None:
    check_seeds(400, SHAPES[shape])


@pytest.mark.parametrize("shape", ["joins", "kinds", "matches"])
def test_where_not_all_is_looked_through_nothing_less_than_is_named_releases_a_row(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unmatched, "LOOKED_AT", 1)
    monkeypatch.setattr(unmatched, "MOST_LOOKED_AT", 2)
    monkeypatch.setattr(session, "MOST_PIECES", 1)
    monkeypatch.setattr(match_recognize, "MOST_ROWS", 1)
    check_seeds(12, SHAPES[shape])
