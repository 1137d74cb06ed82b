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
    window over rows                    END: only the end of the stream answers the last one

Bounds lag behind each other from operator to operator, so the least that is enough is searched for:
everything here only rises with them.  Spec: window-queries 1.2, 3.2, 6.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.kernel.joins.purge import keep_from
from penstock.kernel.joins.reach import along
from penstock.model.joins import JoinKind
from penstock.model.punctuation import latest_of
from penstock.model.schema import ROW_NUM, WINDOW_END
from penstock.model.timestamps import BEGINNING, END
from penstock.optimizer.joins.tactic import MJOIN, reach_of, tactic_of
from penstock.optimizer.joins.two_by_two import two_by_two
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.rules.adapt_union_inputs import adapt
from penstock.plan import nodes
from penstock.plan.graph import below, streams_of, walk
from penstock.windows import EndedByRows, Landmark, Partitioned, Session, Tagged

Time: TypeAlias = tuple[str, str]
"""A stream, and a column of it that progresses."""

#: Joins that let results out as soon as they exist.
_PROMPT_JOINS = (AUTO, "oa", MJOIN)
#: Joins that let them out in the order of the left time.
_BY_LEFT = ("opob", "opib")


def closing_bounds(
    plans: Iterable[nodes.Node],
    newest: Mapping[Time, int],
    promised: Mapping[Time, int],
    options: Options,
) -> dict[Time, int]:
    """The least bounds of streams with which nothing waits; of those that need higher ones.

    `newest` are the greatest timestamps, BEGINNING where there was none; `promised` is what was
    promised already. The timestamps of all streams rise together; further columns that progress
    may be measured in other units, and each of them rises by itself.
    """
    found: dict[Time, int] = {}
    for plan in plans:
        streams = streams_of(plan).values()
        own = [(s.name, s.timestamp) for s in streams if s.timestamp is not None]
        further = [(s.name, time.column) for s in streams for time in s.further]
        bounds = dict.fromkeys(further, END)  # until it is their turn
        for group in (own, *([time] for time in further)):
            needed = _least(plan, group, newest, {**promised, **bounds}, promised, options)
            bounds |= {time: max(needed, promised[time]) for time in group}
        for time, bound in bounds.items():
            if bound > max(promised[time], found.get(time, BEGINNING)):
                found[time] = bound
    return found


def streams_with_row_windows(plans: Iterable[nodes.Node]) -> set[str]:
    """The streams whose rows are counted by windows: the last of these has no end in time."""
    return {
        name
        for plan in plans
        if any(isinstance(n, nodes.WindowAggregate) and _counts_rows(n) for n in walk(plan))
        for name in streams_of(plan)
    }


def _counts_rows(node: nodes.WindowAggregate) -> bool:
    return isinstance(node.window, Partitioned) or _is_row_number(node.input, node.window.on)


def _is_row_number(node: nodes.Node, on: str) -> bool:
    """Whether a column that progresses is the number of a row, or computed of it."""
    match node:
        case nodes.Source() | nodes.Numbered() if on == ROW_NUM:
            return True
        case nodes.Source():
            return False
        case nodes.WindowAggregate():
            return _counts_rows(node)
        case nodes.Join():
            child, own = node.origin(on)
            return _is_row_number(node.children[child], own)
        case nodes.Project():
            return any(_is_row_number(node.input, c) for c in node.progress[on].columns)
    return any(_is_row_number(*each) for each in _below(node, on))


def _least(
    plan: nodes.Node,
    group: list[Time],
    newest: Mapping[Time, int],
    others: Mapping[Time, int],
    promised: Mapping[Time, int],
    options: Options,
) -> int:
    """The least bound for a group of columns with which nothing waits in a plan for them."""

    def is_enough(bound: int) -> bool:
        raised = {time: max(promised[time], bound) for time in group}
        return _Reached(newest, {**others, **raised}, options).is_out(plan)

    if is_enough(BEGINNING):
        return BEGINNING
    known = [value for time in group for value in (newest[time], promised[time])]
    low = min((value for value in known if value > BEGINNING), default=0)
    if is_enough(low):
        return low
    high, step = low + 1, 1
    while not is_enough(high):
        low, high, step = high, high + step, step * 2
        if high >= END:
            return END
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Reached:
    """What follows from how far the streams are: the newest rows and the bounds of every node."""

    newest: Mapping[Time, int]
    promised: Mapping[Time, int]
    options: Options

    def is_out(self, plan: nodes.Node) -> bool:
        """Whether nothing waits in a plan."""
        return all(map(self._lets_out, walk(plan)))

    def _lets_out(self, node: nodes.Node) -> bool:
        match node:
            case nodes.WindowAggregate():
                latest = self.latest(node.input, node.window.on)
                return latest <= BEGINNING or self._closes(node, latest)
            case nodes.Join():
                return self._lets_lone_rows_out(node) and self._lets_pairs_out(node)
            case nodes.Ordered():
                latest = self.latest(node.input, node.on)
                return latest <= BEGINNING or self.bound(node.input, node.on) > latest
            case nodes.Union() if self.options.merges:
                kept = node.order or node.schema.progressing
                return all(self.bound(node, on) >= self.latest(node, on) for on in kept)
            case nodes.Source() | nodes.Select() | nodes.Project() | nodes.Union():
                return True
            case nodes.TableJoin() | nodes.Numbered():
                return True
        raise nodes.unknown(node)

    def _closes(self, node: nodes.WindowAggregate, latest: int) -> bool:
        bound = self.bound(node.input, node.window.on)
        match node.window:
            case Tagged() as window:
                return window.closed_below(bound) > _last_window(window, latest)
            case Session() as window:
                return bound > latest + window.gap
        return bound > latest  # ranked below the bound, and windows end with a row

    def _lets_lone_rows_out(self, node: nodes.Join) -> bool:
        if node.kind is JoinKind.INNER:
            return True
        for side in (0, 1):
            latest = self.latest(node.children[side], node.on[side])
            other = self.bound(node.children[1 - side], node.on[1 - side])
            waits = node.kind.keeps_alone(side) and latest > BEGINNING
            if waits and keep_from(node.edges[0].band, side, other) <= latest:
                return False
        return True

    def _lets_pairs_out(self, node: nodes.Join) -> bool:
        if tactic_of(node, self.options) in _PROMPT_JOINS:
            return True
        inputs = list(zip(node.children, node.on, strict=True))
        latest = [self.latest(*given) for given in inputs]
        if min(latest) <= BEGINNING:
            return True
        trigger = min(self.bound(*given) for given in inputs)
        reach, least = reach_of(node), [trigger] * len(inputs)
        return trigger >= max(latest) and all(
            reach.output_bound(port, least) > last for port, last in enumerate(latest)
        )

    # -- columns ------------------------------------------------------------------------------

    def latest(self, node: nodes.Node, on: str) -> int:
        """The greatest value of a progressing column; BEGINNING: there is none, or of no matter."""
        match node:
            case nodes.Numbered() if on == ROW_NUM:
                return BEGINNING
            case nodes.Source():
                # Rows are numbered as they come: nobody waits for a number that is no row's.
                return self.newest.get((node.stream.name, on), BEGINNING)
            case nodes.WindowAggregate():
                latest = self.latest(node.input, node.window.on)
                return latest if latest <= BEGINNING else _window_of_last(node, on, latest)
            case nodes.Join():
                child, own = node.origin(on)
                return self.latest(node.children[child], own)
            case nodes.Project():
                computed = node.progress[on]
                return computed.highest({c: self.latest(node.input, c) for c in computed.columns})
        return max(self.latest(*each) for each in _below(node, on))

    def bound(self, node: nodes.Node, on: str) -> int:
        """What is promised about a progressing column."""
        match node:
            case nodes.Numbered() if on == ROW_NUM:
                return BEGINNING
            case nodes.Source():
                return self.promised.get((node.stream.name, on), BEGINNING)
            case nodes.WindowAggregate():
                bound = self.bound(node.input, node.window.on)
                if not BEGINNING < bound < END:
                    return bound
                return self._bound_of_window(node, on, bound)
            case nodes.Join():
                return self._bound_of_join(node, on)
            case nodes.Project():
                computed = node.progress[on]
                bounds = {c: self.bound(node.input, c) for c in computed.columns}
                if len(bounds) > 1:
                    bounds[latest_of(bounds)] = self._bound_of_latest(node.input, [*bounds])
                return computed.bound(bounds)
        return min(self.bound(*each) for each in _below(node, on))

    def _bound_of_latest(self, node: nodes.Node, columns: Sequence[str]) -> int:
        """What is promised about the greatest of several columns beyond what is about each."""
        match node:
            case nodes.Select():
                return self._bound_of_latest(node.input, columns)
            case nodes.Project() if all(map(node.lineage, columns)):
                below = [node.lineage(column)[0].column for column in columns]
                return self._bound_of_latest(node.input, below)
            case nodes.Join(kind=JoinKind.INNER) if {*columns} == {*node.times}:
                if tactic_of(node, self.options) not in _BY_LEFT:
                    inputs = zip(node.children, node.on, strict=True)
                    return min(self.bound(*each) for each in inputs)
        return BEGINNING

    def _bound_of_join(self, node: nodes.Join, on: str) -> int:
        tactic, reach = tactic_of(node, self.options), reach_of(node)
        if tactic in _BY_LEFT and len(node.inputs) > 2:
            return self._bound_of_join(two_by_two(node), on)
        bounds = [self.bound(*each) for each in zip(node.children, node.on, strict=True)]
        if tactic in _BY_LEFT:
            bounds = [reach.output_bound(0, bounds), bounds[1]]
        elif tactic not in _PROMPT_JOINS:
            bounds = [min(bounds)] * len(bounds)
        child, own = node.origin(on)
        if on not in node.carried:
            return reach.output_bound(child, bounds)
        oldest = reach.keep_from if tactic in _PROMPT_JOINS else reach.output_bound
        from_time = along(node.carried[on], oldest(child, bounds))
        return min(self.bound(node.children[child], own), from_time)

    def _bound_of_window(self, node: nodes.WindowAggregate, on: str, bound: int) -> int:
        window = node.window
        if not isinstance(window, Tagged):
            return bound
        closed = window.closed_below(bound)
        if isinstance(window, Landmark):
            latest = self.latest(node.input, window.on)
            closed = min(closed, _last_window(window, latest) + 1) if latest > BEGINNING else closed
        start, end = window.covers(closed)
        return end if on == WINDOW_END or start is None else start


def _last_window(window: Tagged, latest: int) -> int:
    """The last window that a row up to this time can be in, and that there is."""
    first, stop = window.wid_range(latest)
    # Later steps of a landmark would only repeat its last, and other windows end where a row is.
    return first if isinstance(window, (Landmark, EndedByRows)) else stop - 1


def _window_of_last(node: nodes.WindowAggregate, on: str, latest: int) -> int:
    window = node.window
    if isinstance(window, Session):
        return latest + window.gap
    if not isinstance(window, Tagged):
        return BEGINNING
    start, end = window.covers(_last_window(window, latest))
    return end if on == WINDOW_END or start is None else start


def _below(node: nodes.Node, on: str) -> Iterable[tuple[nodes.Node, str]]:
    """Where a node has a column from that it passes on; a union first brings it to its type."""
    if isinstance(node, nodes.Union):
        return [(adapt(part, node), on) for part in node.parts]
    return below(node, on)
