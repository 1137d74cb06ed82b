"""The end of a run that may be continued: how far bounds must rise for everything to come out.

A run over finite inputs ends by closing the windows that are still open. The bound END would do,
but would make every file that is added later late. So each stream gets the least bound with which
nothing waits any more: up to the end of the last window that has rows,
the last moment at which a lone row of an outer join could still meet another. That is a bound like
any other. Windows below it are closed, and rows for them are late; what lies above is there
for the next run.

    what waits                          until the bound of its input
    window                              has passed the end of the last one that has rows
    session                             is more than one gap behind the newest row
    landmark window                     has passed the step of the newest row
    row of an outer or anti join        has passed the last partner that it could have
    ordered answer                      has passed the newest row
    union that keeps order              has reached the newest row of any input
    inner join, selection               nothing waits
    match of a pattern                  has passed the newest row, and as much more as WITHIN says,
                                        if it may become longer; without WITHIN: END
    window over rows                    END: only the end of the stream answers the last one

Bounds lag behind each other from operator to operator, so the least that is enough is searched for:
everything here only rises with them.  Spec: window-queries 1.2, 3.2, 6.1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.kernel.joins.purge import keep_from
from penstock.kernel.joins.reach import along
from penstock.model.joins import JoinKind
from penstock.model.punctuation import latest_of
from penstock.model.schema import ROW_NUM, WINDOW_END
from penstock.model.timestamps import BEGINNING, END
from penstock.optimizer.joins.mjoin import reach_of
from penstock.optimizer.joins.shape import two_by_two
from penstock.optimizer.joins.tactic import BY_LEFT, MJOIN, tactic_of
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.rules.adapt_union_inputs import adapt
from penstock.plan import nodes
from penstock.plan.graph import below, streams_of, walk
from penstock.plan.waiting import passes
from penstock.windows import EndedByRows, Landmark, Partitioned, Session, Tagged

Time: TypeAlias = tuple[str, str]
"""A stream, and a column of it that progresses."""

#: Joins that let results out as soon as they exist.
_PROMPT_JOINS = (AUTO, "oa", MJOIN)


def closing_bounds(
    plans: Iterable[nodes.Node],
    newest: Mapping[Time, int],
    standing: Mapping[Time, int],
    options: Options,
) -> dict[Time, int]:
    """The least bounds of streams with which nothing waits; of those that need higher ones.

    `newest` are the greatest timestamps, BEGINNING where there was none; `standing` are the
    bounds that there are already. The timestamps of all streams rise together; further columns that
    progress may be measured in other units, and each of them rises by itself.
    """
    found: dict[Time, int] = {}
    for plan in plans:
        streams = streams_of(plan).values()
        own = [(s.name, s.timestamp) for s in streams if s.timestamp is not None]
        further = [(s.name, time.column) for s in streams for time in s.further]
        bounds = dict.fromkeys(further, END)  # until it is their turn
        for group in (own, *([time] for time in further)):
            needed = _least(plan, group, newest, {**standing, **bounds}, standing, options)
            bounds |= {time: max(needed, standing[time]) for time in group}
        for time, bound in bounds.items():
            if bound > max(standing[time], found.get(time, BEGINNING)):
                found[time] = bound
    return found


def streams_with_row_windows(plans: Iterable[nodes.Node]) -> set[str]:
    """The streams whose rows are counted, by windows or as the order of patterns.

    The last of these windows, or matches, has no end in time.
    """
    return {name for plan in plans if _has_row_windows(plan) for name in streams_of(plan)}


def _has_row_windows(plan: nodes.Node) -> bool:
    for node in walk(plan):
        if isinstance(node, nodes.WindowAggregate) and _counts_rows(node, WINDOW_END):
            return True
        if isinstance(node, nodes.MatchRecognize) and _counts_rows(node.input, node.match.on):
            return True
    return False


def _counts_rows(node: nodes.Node, on: str) -> bool:
    """Whether a column that progresses is the number of a row, or follows from it."""
    if isinstance(node, nodes.WindowAggregate) and isinstance(node.window, Partitioned):
        return True
    below = _below(node, on)
    return any(_counts_rows(*each) for each in below) if below else on == ROW_NUM


def _least(
    plan: nodes.Node,
    group: list[Time],
    newest: Mapping[Time, int],
    others: Mapping[Time, int],
    standing: Mapping[Time, int],
    options: Options,
) -> int:
    """The least bound for a group of columns with which nothing waits in a plan for them."""

    def is_enough(bound: int) -> bool:
        raised = {time: max(standing[time], bound) for time in group}
        reached = _Reached(newest, {**others, **raised}, options)
        return all(map(reached.lets_out, walk(plan)))

    if is_enough(BEGINNING):
        return BEGINNING
    known = [value for time in group for value in (newest[time], standing[time])]
    low = min((value for value in known if value > BEGINNING), default=0)
    step = 1
    while not is_enough(low + step):
        step *= 2
        if low + step >= END:
            return END
    return low + bisect_left(range(low, low + step), True, key=is_enough)


@dataclass(frozen=True)
class _Reached:
    """What follows from how far the streams are: the newest rows and the bounds of every node."""

    newest: Mapping[Time, int]
    bounds: Mapping[Time, int]
    options: Options

    def lets_out(self, node: nodes.Node) -> bool:
        """Whether nothing waits in a node."""
        match node:
            case nodes.WindowAggregate():
                latest = self.latest(node.input, node.window.on)
                return latest <= BEGINNING or self._closes(node, latest)
            case nodes.Join():
                return self._lets_lone_rows_out(node) and self._lets_pairs_out(node)
            case nodes.MatchRecognize():
                return self._lets_matches_out(node)
            case nodes.Sequence():
                last = self.latest(*node.timed[1])
                waited = node.timed if node.mode.in_turn else node.timed[:1]
                return last <= BEGINNING or all(self.bound(*each) > last for each in waited)
            case nodes.Ordered():
                latest = self.latest(node.input, node.on)
                return latest <= BEGINNING or self.bound(node.input, node.on) > latest
            case nodes.Union() if self.options.merges:
                kept = node.order or node.schema.progressing
                return all(self.bound(node, on) >= self.latest(node, on) for on in kept)
            case nodes.Numbered():
                return True
        return passes(node, merges=False)

    def _closes(self, node: nodes.WindowAggregate, latest: int) -> bool:
        bound = self.bound(node.input, node.window.on)
        match node.window:
            case Tagged() as window:
                return window.closed_below(bound) > _last_window(window, latest)
            case Session() as window:
                return bound > latest + window.gap
        return bound > latest  # ranked below the bound, and windows end with a row

    def _lets_matches_out(self, node: nodes.MatchRecognize) -> bool:
        latest, bound = (ask(node.input, node.match.on) for ask in (self.latest, self.bound))
        if latest <= BEGINNING or bound >= END:
            return True
        if node.match.decides_at_once:
            return bound > latest
        return node.match.within is not None and bound > latest + node.match.within

    def _lets_lone_rows_out(self, node: nodes.Join) -> bool:
        if node.kind is JoinKind.INNER:
            return True
        latest = [self.latest(*each) for each in node.timed]
        bounds = [self.bound(*each) for each in node.timed]
        waiting = (s for s in (0, 1) if node.kind.keeps_alone(s) and latest[s] > BEGINNING)
        band = node.edges[0].band
        return all(keep_from(band, side, bounds[1 - side]) > latest[side] for side in waiting)

    def _lets_pairs_out(self, node: nodes.Join) -> bool:
        if tactic_of(node, self.options) in _PROMPT_JOINS:
            return True
        latest = [self.latest(*each) for each in node.timed]
        if min(latest) <= BEGINNING:
            return True
        trigger = min(self.bound(*each) for each in node.timed)
        reach, least = reach_of(node), [trigger] * len(latest)
        return trigger >= max(latest) and all(
            reach.output_bound(port, least) > last for port, last in enumerate(latest)
        )

    # -- columns ------------------------------------------------------------------------------

    def latest(self, node: nodes.Node, on: str) -> int:
        """The greatest value of a progressing column; BEGINNING: there is none, or of no matter."""
        found = [(column, self.latest(child, column)) for child, column in _below(node, on)]
        latest = max((each for _, each in found), default=BEGINNING)
        match node:
            case nodes.Source():
                # Rows are numbered as they come: nobody waits for a number that is no row's.
                return self.newest.get((node.stream.name, on), BEGINNING)
            case nodes.Project():
                return node.progress[on].highest(dict(found))
            case nodes.WindowAggregate(window=Session() as window) if latest > BEGINNING:
                return latest + window.gap
            case nodes.WindowAggregate(window=Tagged() as window) if latest > BEGINNING:
                return _edge(window, _last_window(window, latest), on)
            case nodes.WindowAggregate():
                return BEGINNING
        return latest

    def bound(self, node: nodes.Node, on: str) -> int:
        """The bound on a progressing column."""
        if isinstance(node, nodes.Join):
            return self._bound_of_join(node, on)
        if isinstance(node, nodes.Sequence):
            bound = min(self.bound(*each) for each in node.timed)
            is_last = on == node.times[-1] or not BEGINNING < bound < END
            return bound if is_last else bound - (node.within or 0)
        found = [(column, self.bound(child, column)) for child, column in _below(node, on)]
        bound = min((each for _, each in found), default=BEGINNING)
        match node:
            case nodes.MatchRecognize(match=match) if BEGINNING < bound < END:
                # A match that is not complete yet may have begun so long ago.
                return BEGINNING if match.within is None else bound - match.within
            case nodes.Source():
                return self.bounds.get((node.stream.name, on), BEGINNING)
            case nodes.Project():
                bounds = dict(found)
                if len(bounds) > 1:
                    bounds[latest_of(bounds)] = self._bound_of_latest(node.input, [*bounds])
                return node.progress[on].bound(bounds)
            case nodes.WindowAggregate(window=Tagged() as window) if BEGINNING < bound < END:
                return _edge(window, window.closed_below(bound), on)
        return bound

    def _bound_of_latest(self, node: nodes.Node, columns: Sequence[str]) -> int:
        """The bound on the greatest of several columns beyond those on each."""
        match node:
            case nodes.Select() | nodes.Project() | nodes.Explode() if all(
                map(node.lineage, columns)
            ):
                below = [node.lineage(column)[0].column for column in columns]
                return self._bound_of_latest(node.input, below)
            case nodes.Join(kind=JoinKind.INNER):
                if tactic_of(node, self.options) not in BY_LEFT:
                    return self._bound_of_latest_in(node, columns)
        return BEGINNING

    def _bound_of_latest_in(self, node: nodes.Join, columns: Sequence[str]) -> int:
        """The bound that a join has on the greatest of times, at least one of each input."""
        own: list[list[str]] = [[] for _ in node.inputs]
        for column in columns:
            child, name = node.origin(column)
            own[child].append(name)
        several = [names for names in own if len(names) > 1]
        if several and tactic_of(node, self.options) not in _PROMPT_JOINS:
            return BEGINNING
        if len(several) > 1 and {*columns} != {*node.times, *node.carried}:
            return BEGINNING
        bounds = []
        for (input_, on), names in zip(node.timed, own, strict=True):
            if on not in names:
                return BEGINNING
            is_one = names == [on]
            bounds.append(
                self.bound(input_, on) if is_one else self._bound_of_latest(input_, names)
            )
        return min(bounds)

    def _bound_of_join(self, node: nodes.Join, on: str) -> int:
        tactic, reach = tactic_of(node, self.options), reach_of(node)
        if tactic in BY_LEFT and len(node.inputs) > 2:
            return self._bound_of_join(two_by_two(node), on)
        bounds = [self.bound(*each) for each in node.timed]
        if tactic in BY_LEFT:
            bounds = [reach.output_bound(0, bounds), bounds[1]]
        elif tactic not in _PROMPT_JOINS:
            bounds = [min(bounds)] * len(bounds)
        child, own = node.origin(on)
        if on not in node.carried:
            return reach.output_bound(child, bounds)
        oldest = reach.keep_from if tactic in _PROMPT_JOINS else reach.output_bound
        from_time = along(node.carried[on], oldest(child, bounds))
        return min(self.bound(node.children[child], own), from_time)


def _last_window(window: Tagged, latest: int) -> int:
    """The last window that a row up to this time can be in, and that there is."""
    first, stop = window.wid_range(latest)
    # A landmark has no windows in later steps, and other windows end where a row is.
    return first if isinstance(window, (Landmark, EndedByRows)) else stop - 1


def _edge(window: Tagged, wid: int, on: str) -> int:
    """The end of a window, or its start where that is asked for and there is one."""
    start, end = window.covers(wid)
    return end if on == WINDOW_END or start is None else start


def _below(node: nodes.Node, on: str) -> list[tuple[nodes.Node, str]]:
    """The columns that one that progresses follows from; none: it is a stream's, or a number."""
    match node:
        case nodes.WindowAggregate():
            return [(node.input, node.window.on)]
        case nodes.MatchRecognize():
            return [(node.input, node.match.on)]
        case nodes.Join() | nodes.Sequence():
            child, own = node.origin(on)
            return [(node.children[child], own)]
        case nodes.Project():
            return [(node.input, column) for column in node.progress[on].columns]
        case nodes.Union():  # brings columns to its types first
            return [(adapt(part, node), on) for part in node.parts]
    return below(node, on)
