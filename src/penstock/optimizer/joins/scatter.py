"""Scatter: plans of a join by memory and processor time, as SVG, drawn without any program.

Every plan is a point, on logarithmic axes. Lines show the limits, and connect the Pareto front; the
plan that is taken, the written order and the MJoin have their names beside them.
"""

from __future__ import annotations

import math
from html import escape

from penstock.model.sizes import size_text
from penstock.optimizer.joins.alternatives import marks_of
from penstock.optimizer.joins.choose_tree import TreeChoice
from penstock.optimizer.joins.named_tree import tree_text
from penstock.optimizer.joins.pareto import CostedShape, pareto_front

_WIDTH, _HEIGHT = 760, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 50, 60
_STYLE = (
    "circle{fill:#9ab;stroke:#456}.chosen circle{fill:#c33}.front{fill:none;stroke:#393}"
    ".limit{stroke:#c33;stroke-dasharray:6 4}.axis{stroke:#456}.grid{stroke:#e4e8ec}"
)


class _Axis:
    """Places on a logarithmic axis."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        known = [value for value in values if value > 0] or [1.0]
        self.low, self.high = math.floor(_log(min(known))), math.ceil(_log(max(known)))
        self.high = max(self.high, self.low + 1)
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (_log(value) - self.low) / (self.high - self.low)
        return self._start + min(1.0, max(0.0, share)) * (self._end - self._start)

    def has(self, value: float) -> bool:
        return self.low <= _log(value) <= self.high

    @property
    def ticks(self) -> list[float]:
        step = max(1, (self.high - self.low) // 8)
        return [10.0**power for power in range(self.low, self.high + 1, step)]


def scatter_svg(choice: TreeChoice) -> str:
    """The plans that a join had to choose from, as an SVG document."""
    plans = choice.plans
    x = _Axis([plan.cost.memory for plan in plans], _LEFT, _WIDTH - _RIGHT)
    y = _Axis([plan.cost.processor for plan in plans], _HEIGHT - _BOTTOM, _TOP)
    title = f"Plans of the join of {', '.join(choice.names)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f"<style>{_STYLE}</style>",
        f'<text x="{_WIDTH / 2}" y="24" text-anchor="middle" font-size="15">{escape(title)}</text>',
        *_axes(x, y),
        *_limits(choice, x, y),
        _front(plans, x, y),
        *(_point(plan, choice, x, y) for plan in reversed(plans)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes(x: _Axis, y: _Axis) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for value in x.ticks:
        at = x.at(value)
        parts.append(f'<path class="grid" d="M{at:.1f} {_TOP}V{bottom}"/>')
        parts.append(_text(at, bottom + 18, size_text(value), "middle"))
    for value in y.ticks:
        at = y.at(value)
        parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{right}"/>')
        parts.append(_text(_LEFT - 8, at + 4, f"{100 * value:g} %", "end"))
    parts.append(f'<path class="axis" fill="none" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>')
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 16, "memory of stored rows", "middle"))
    parts.append(
        f'<text transform="translate(20 {(_TOP + bottom) / 2}) rotate(-90)" '
        'text-anchor="middle">processor time, of a core</text>'
    )
    return parts


def _limits(choice: TreeChoice, x: _Axis, y: _Axis) -> list[str]:
    """Lines at the limits; one beyond the plans is told in words."""
    limits, parts = choice.limits, []
    if x.has(limits.memory):
        at = x.at(limits.memory)
        parts.append(f'<path class="limit" d="M{at:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>')
    if y.has(limits.processor):
        at = y.at(limits.processor)
        parts.append(f'<path class="limit" d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}"/>')
    text = f"limits: {limits.processor:g} cores, {size_text(limits.memory)}"
    return [*parts, _text(_WIDTH - _RIGHT, 40, text, "end")]


def _front(plans: list[CostedShape], x: _Axis, y: _Axis) -> str:
    places = (
        f"{x.at(plan.cost.memory):.1f} {y.at(plan.cost.processor):.1f}"
        for plan in pareto_front(plans)
    )
    return f'<path class="front" d="M{"L".join(places)}"/>'


def _point(plan: CostedShape, choice: TreeChoice, x: _Axis, y: _Axis) -> str:
    at = x.at(plan.cost.memory), y.at(plan.cost.processor)
    marks = marks_of(choice).get(plan.shape, ())
    name = escape(tree_text(plan.shape, choice.names))
    chosen = ' class="chosen"' if plan.shape == choice.taken.shape else ""
    beside = f"{', '.join(marks)}: {name}" if marks else ""
    side = "end" if at[0] > _WIDTH / 2 else "start"
    label = _text(at[0] + (-9 if side == "end" else 9), at[1] - 7, beside, side) if marks else ""
    return (
        f'<g{chosen}><circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{6 if marks else 3.5}">'
        f"<title>{name}</title></circle>{label}</g>"
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _log(value: float) -> float:
    return math.log10(max(value, 1e-300))
