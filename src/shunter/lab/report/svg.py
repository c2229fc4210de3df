"""Draws SVG: axes with ticks, step curves and bars. Used by `lab.report.charts`. Numbers are rounded to a tenth of a
pixel, so that the same values give the same bytes and little text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 40
TICKS = 5
MARKS_MAX = 9
# Okabe and Ito's colours, which people with any colour vision can tell apart; then again with dashes.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHES = ("", "6 3", "2 2")

Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Axis:
    """`is_log`: a logarithmic scale, for values above 0."""

    low: float
    high: float
    label: str
    format: Format
    is_log: bool = False
    marks: tuple[float, ...] = ()  # round values to mark, where powers of ten are not round

    def share(self, value: float) -> float:
        """Where the value lies between both ends, from 0 to 1."""
        if self.is_log:
            low, high = math.log10(self.low), math.log10(self.high)
            return (math.log10(max(value, self.low)) - low) / ((high - low) or 1.0)
        return (value - self.low) / ((self.high - self.low) or 1.0)

    def ticks(self) -> list[float]:
        if self.marks:
            inside = [mark for mark in self.marks if self.low <= mark <= self.high]
            return inside[:: max(1, -(-len(inside) // MARKS_MAX))]
        if self.is_log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(1, (last - first) // TICKS + 1)
            return [10.0**power for power in range(first, last + 1, step)]
        width = _round_step((self.high - self.low) / TICKS)
        lowest, highest = math.ceil(self.low / width - 1e-9), math.floor(self.high / width + 1e-9)
        return [count * width for count in range(lowest, highest + 1)]


def x_of(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def y_of(axis: Axis, value: float, height: int = HEIGHT) -> float:
    return height - BOTTOM - axis.share(value) * (height - TOP - BOTTOM)


def chart(x: Axis, y: Axis, content: Iterable[str], title: str, height: int = HEIGHT) -> str:
    """Axes with their ticks around the content. The title is for readers that cannot see the picture."""
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title, quote=True)}">',
        *_grid(x, y, height),
        *content,
        "</svg>",
    ]
    return "".join(parts)


def _grid(x: Axis, y: Axis, height: int) -> Iterable[str]:
    bottom, right = height - BOTTOM, WIDTH - RIGHT
    for tick in y.ticks():
        at = number(y_of(y, tick, height))
        yield f'<path class="g" d="M{LEFT} {at}H{right}"/>'
        yield f'<text class="t" x="{LEFT - 6}" y="{at}">{escape(y.format(tick))}</text>'
    for tick in x.ticks():
        at = number(x_of(x, tick))
        yield f'<path class="g" d="M{at} {TOP}V{bottom}"/>'
        yield f'<text class="b" x="{at}" y="{bottom + 15}">{escape(x.format(tick))}</text>'
    yield f'<path class="a" d="M{LEFT} {TOP}V{bottom}H{right}"/>'
    yield f'<text class="b" x="{(LEFT + right) // 2}" y="{height - 6}">{escape(x.label)}</text>'
    yield f'<text class="l" transform="translate(13 {(TOP + bottom) // 2}) rotate(-90)">{escape(y.label)}</text>'


def step_path(points: Sequence[tuple[float, float]], style: int) -> str:
    """A curve that stays at each value until the next point. Points are in pixels."""
    if not points:
        return ""
    text = f"M{number(points[0][0])} {number(points[0][1])}"
    last_x, last_y = number(points[0][0]), number(points[0][1])
    for x, y in points[1:]:
        next_x, next_y = number(x), number(y)
        if next_x != last_x:
            text += f"H{next_x}"
        if next_y != last_y:
            text += f"V{next_y}"
        last_x, last_y = next_x, next_y
    return f'<path class="c" stroke="{colour(style)}"{_dash(style)} d="{text}"/>'


def colour(style: int) -> str:
    return COLOURS[style % len(COLOURS)]


def legend(names: Sequence[str]) -> str:
    """Which line belongs to which name."""
    items = (
        f'<li><svg class="k" viewBox="0 0 28 8">'
        f'<path class="c" stroke="{colour(style)}"{_dash(style)} d="M0 4H28"/></svg>{escape(name)}</li>'
        for style, name in enumerate(names)
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _dash(style: int) -> str:
    dash = DASHES[style // len(COLOURS) % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _round_step(step: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
