"""A bar chart of ratios as SVG."""

from __future__ import annotations

import math
from html import escape

_LEFT, _WIDTH, _ROW, _TOP = 190, 520, 20, 58
_TICKS = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def bars(ratios: dict[str, float], title: str) -> str:
    """Returns a chart with a bar for each name on a logarithmic axis: to the left of 1, headrace is faster."""
    low = max(1 / 16, min([0.5, *ratios.values()])) / 1.15  # whatever is faster still fills its row
    high = max([2.0, *ratios.values()]) * 1.3

    def at(value: float) -> float:
        return _LEFT + _WIDTH * math.log(max(value, low) / low) / math.log(high / low)

    bottom = _TOP + _ROW * len(ratios)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 20}" height="{bottom + 30}" '
        f'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
        '<text x="10" y="38" fill="#555">Left of 1 headrace is faster, right of it slower; logarithmic axis.</text>',
    ]
    for tick in _TICKS:
        if low <= tick <= high:
            stroke = "#333" if tick == 1.0 else "#ddd"
            x = at(tick)
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{bottom + 4}" stroke="{stroke}"/>'
            )
            parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>')
    for i, (name, value) in enumerate(sorted(ratios.items(), key=lambda item: item[1])):
        y = _TOP + _ROW * i
        start, end = sorted((at(1.0), at(value)))
        color = "#2a7f62" if value <= 1.0 else "#c0532d"
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        parts.append(
            f'<rect x="{start:.1f}" y="{y + 3}" width="{max(1.0, end - start):.1f}" height="{_ROW - 6}" '
            f'fill="{color}"/>'
        )
        label = f"{value:.2f}" if value >= 0.005 else "below 0.01"
        x, anchor = (end + 4, "start") if value > 1.0 else (start - 4, "end")
        if start - 34 < _LEFT:  # the name stands there
            x, anchor = at(1.0) + 4, "start"
        parts.append(f'<text x="{x:.1f}" y="{y + 14}" text-anchor="{anchor}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])
