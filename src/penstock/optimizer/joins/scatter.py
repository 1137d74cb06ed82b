"""Scatter: plans of a join by memory and processor time, as SVG, drawn without any program.

Every plan is a point, on logarithmic axes that tell their units. What is above a limit is shaded,
and a limit that lies beyond the plans is told in words. A line follows the Pareto front in steps:
every plan above it takes more of both resources than one on it. Plans that have a name are larger
and numbered; below the picture stands what the numbers mean, so that no text covers a point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from penstock.model.number_text import share_text
from penstock.model.sizes import UNITS, size_text
from penstock.optimizer.cost.joins import JoinCost
from penstock.optimizer.joins.alternatives import marks_of
from penstock.optimizer.joins.choose_tree import TreeChoice
from penstock.optimizer.joins.named_tree import tree_text
from penstock.optimizer.joins.pareto import CostedShape, pareto_front

_WIDTH, _PLOT = 760, 470
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 50, 60
_END, _FLOOR = _WIDTH - _RIGHT, _PLOT - _BOTTOM
#: Of the lines below the picture; characters of a text that fit into one.
_LINE, _FITTING = 22, 96
_STYLE = (
    "circle{fill:#9ab;stroke:#456}.front circle{fill:#8c8;stroke:#262}"
    ".taken circle{fill:#c33;stroke:#711}.steps{fill:none;stroke:#393;stroke-width:1.5}"
    ".limit{stroke:#c33;stroke-dasharray:6 4}.above{fill:#c33;opacity:.07}"
    ".axis{fill:none;stroke:#456}.grid{stroke:#e4e8ec}"
    ".number{font-size:10px;font-weight:bold;text-anchor:middle}.taken .number{fill:#fff}"
    ".told{fill:#a22}"
)


#: Numbers by which ticks are multiples of powers of ten: the first that give enough are taken.
_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), tuple(tenths / 10 for tenths in range(10, 100)))
#: Shares of a core, and sizes, which are counted in powers of 1,024.
_SHARES = tuple(10.0**power for power in range(-12, 13))
_SIZES = tuple(unit * 10.0**power for unit in UNITS.values() for power in range(3))


class _Axis:
    """Places on a logarithmic axis; a limit is on it unless that would push plans together."""

    def __init__(
        self,
        values: list[float],
        limit: float,
        bases: tuple[float, ...],
        start: float,
        end: float,
    ) -> None:
        logs = [_log(value) for value in values if value > 0] or [0.0]
        low, high = min(logs), max(logs)
        near = max(1.0, high - low)
        if low - near <= _log(limit) <= high + near:
            low, high = min(low, _log(limit)), max(high, _log(limit))
        margin = max(0.06 * (high - low), 0.1)
        self._low, self._high = low - margin, high + margin
        self._bases, self._start, self._end = bases, start, end

    def at(self, value: float) -> float:
        share = (_log(value) - self._low) / (self._high - self._low)
        return self._start + min(1.0, max(0.0, share)) * (self._end - self._start)

    def has(self, value: float) -> bool:
        return self._low <= _log(value) <= self._high

    @property
    def ticks(self) -> list[float]:
        """Round numbers, neither few nor many."""
        found: list[float] = []
        for steps in _STEPS:
            found = [
                tick for base in self._bases for step in steps if self.has(tick := step * base)
            ]
            if len(found) > 2:
                break
        return found[:: math.ceil(len(found) / 9) or 1]


def scatter_svg(choice: TreeChoice) -> str:
    """The plans that a join had to choose from, as an SVG document."""
    return scatters_svg([("", choice)])


def scatters_svg(choices: Sequence[tuple[str, TreeChoice]]) -> str:
    """The same of several joins, one below the other, with the names of their queries."""
    panels = [_panel(choice, query) for query, choice in choices]
    total = sum(height for height, _ in panels)
    lines, top = [_opening(total), f"<style>{_STYLE}</style>"], 0
    for height, parts in panels:
        inside = parts if len(panels) == 1 else [_opening(height, top), *parts, "</svg>"]
        lines += inside
        top += height
    return "\n".join([*lines, "</svg>"]) + "\n"


def _opening(height: int, top: int = 0) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" y="{top}" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">'
    )


def _panel(choice: TreeChoice, query: str) -> tuple[int, list[str]]:
    """How high the picture of one join is, and its parts."""
    plans, limits = choice.plans, choice.limits
    x = _Axis([plan.cost.memory for plan in plans], limits.memory, _SIZES, _LEFT, _END)
    y = _Axis([plan.cost.processor for plan in plans], limits.processor, _SHARES, _FLOOR, _TOP)
    legend = [*_legend(choice, x, y)]
    height = _PLOT + _LINE * len(legend) + 12
    of = f" in {query}" if query else ""
    title = f"{_plans(len(plans))} of the join of {choice.title}{of}"
    return height, [
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{_WIDTH / 2}" y="26" text-anchor="middle" font-size="15">{_cut(title, 84)}'
        f"<title>{escape(title)}</title></text>",
        *_axes(x, y),
        *_limits(choice, x, y),
        _front(plans, x, y),
        *_points(choice, x, y),
        *(f'<g transform="translate(0 {_PLOT + _LINE * n})">{e}</g>' for n, e in enumerate(legend)),
    ]


def _axes(x: _Axis, y: _Axis) -> Iterator[str]:
    for value in x.ticks:
        yield f'<path class="grid" d="M{x.at(value):.1f} {_TOP}V{_FLOOR}"/>'
        yield _text(x.at(value), _FLOOR + 18, size_text(value), "middle")
    for value in y.ticks:
        yield f'<path class="grid" d="M{_LEFT} {y.at(value):.1f}H{_END}"/>'
        yield _text(_LEFT - 8, y.at(value) + 4, share_text(value), "end")
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{_FLOOR}H{_END}"/>'
    yield _text((_LEFT + _END) / 2, _FLOOR + 40, "memory of stored rows, estimated", "middle")
    yield (
        f'<text transform="translate(16 {(_TOP + _FLOOR) / 2}) rotate(-90)" '
        'text-anchor="middle">processor time in % of a core, estimated</text>'
    )


def _limits(choice: TreeChoice, x: _Axis, y: _Axis) -> Iterator[str]:
    """Lines at the limits with what is above them; those that are not drawn are in the legend."""
    limits = choice.limits
    if x.has(limits.memory):
        at = x.at(limits.memory)
        yield f'<rect class="above" x="{at:.1f}" y="{_TOP}" width="{_END - at:.1f}" ' + (
            f'height="{_FLOOR - _TOP}"/>'
        )
        yield f'<path class="limit" d="M{at:.1f} {_TOP}V{_FLOOR}"/>'
        yield _told(at, _TOP - 6, f"memory_limit {size_text(limits.memory)}")
    if y.has(limits.processor):
        at = y.at(limits.processor)
        yield f'<rect class="above" x="{_LEFT}" y="{_TOP}" width="{_END - _LEFT}" ' + (
            f'height="{at - _TOP:.1f}"/>'
        )
        yield f'<path class="limit" d="M{_LEFT} {at:.1f}H{_END}"/>'
        yield _text(_END - 6, at - 5, f"cpu_limit {share_text(limits.processor)}", "end", "told")


def _front(plans: list[CostedShape], x: _Axis, y: _Axis) -> str:
    """The Pareto front: upwards from its first plan, right from its last, in steps between."""
    path = ""
    for plan in pareto_front(plans):
        at, high = x.at(plan.cost.memory), y.at(plan.cost.processor)
        path += f"H{at:.1f}V{high:.1f}" if path else f"M{at:.1f} {_TOP}V{high:.1f}"
    return f'<path class="steps" d="{path}H{_END}"/>'


def _points(choice: TreeChoice, x: _Axis, y: _Axis) -> Iterator[str]:
    """Plans without a name first, so that those with one lie above them."""
    front = {plan.shape for plan in pareto_front(choice.plans)}
    numbers = _numbers(choice)
    for plan in sorted(choice.plans, key=lambda each: -numbers.get(each.shape, len(front) + 99)):
        number = numbers.get(plan.shape)
        yield _point(
            (x.at(plan.cost.memory), y.at(plan.cost.processor)),
            _class(plan, choice, plan.shape in front),
            f"{tree_text(plan.shape, choice.names)}: {_said(plan.cost)}",
            number,
        )


def _numbers(choice: TreeChoice) -> dict[object, int]:
    """The plans that have a name, by number."""
    marks = marks_of(choice)
    named = [plan.shape for plan in choice.plans if plan.shape in marks]
    return {shape: number for number, shape in enumerate(named, start=1)}


def _class(plan: CostedShape, choice: TreeChoice, in_front: bool) -> str:
    if plan.shape == choice.taken.shape:
        return "taken"
    return "front" if in_front else "other"


def _point(at: tuple[float, float], kind: str, title: str, number: int | None = None) -> str:
    size = 4 if number is None else 8
    label = "" if number is None else _text(at[0], at[1] + 3.5, str(number), "middle", "number")
    return (
        f'<g class="{kind}"><circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{size}">'
        f"<title>{escape(title)}</title></circle>{label}</g>"
    )


def _legend(choice: TreeChoice, x: _Axis, y: _Axis) -> Iterator[str]:
    """A line for each plan that has a name, and for all that is drawn."""
    plans, marks, limits = choice.plans, marks_of(choice), choice.limits
    front = {plan.shape for plan in pareto_front(plans)}
    for plan in plans:
        number = _numbers(choice).get(plan.shape)
        if number is not None:
            told = f"{', '.join(marks[plan.shape])}: {tree_text(plan.shape, choice.names)}"
            point = _mark(_class(plan, choice, plan.shape in front), number)
            figures = _said(plan.cost)
            shown = f"{_cut(told, _FITTING - len(figures))}, {figures}"
            yield f"{point}<g><title>{escape(told)}</title>{_text(_LEFT, 0, shown, 'start')}</g>"
    yield _mark("front") + _text(
        _LEFT,
        0,
        f"on the Pareto front ({_plans(len(front))}): none takes less of one resource without "
        "more of the other",
        "start",
    )
    if len(plans) > len(marks):
        yield _mark("other") + _text(_LEFT, 0, "other plans that were compared", "start")
    beyond = [
        *([] if y.has(limits.processor) else [f"cpu_limit {share_text(limits.processor)}"]),
        *([] if x.has(limits.memory) else [f"memory_limit {size_text(limits.memory)}"]),
    ]
    if beyond:
        lies = "lies" if len(beyond) == 1 else "lie"
        fits = sum(limits.allow(plan.cost) for plan in plans)
        told = f"{' and '.join(beyond)} {lies} beyond what is drawn; {_plans(fits)} within both"
        yield _text(_LEFT, 0, told, "start", "told")


def _mark(kind: str, number: int | None = None) -> str:
    """A point as it is drawn, before a line of the legend."""
    return _point((_LEFT - 18, -4), kind, kind, number)


def _said(cost: JoinCost) -> str:
    return f"{share_text(cost.processor)}, {size_text(cost.memory)}"


def _plans(count: int) -> str:
    return f"{count:,} plan{'s' * (count != 1)}"


def _told(x: float, y: float, text: str) -> str:
    """What a vertical line is, on the side where there is room."""
    anchor = "end" if x > (_LEFT + _END) / 2 else "start"
    return _text(x, y, text, anchor, "told")


def _cut(text: str, most: int) -> str:
    """A text that fits into a line, for SVG."""
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _log(value: float) -> float:
    return math.log10(max(value, 1e-300))
