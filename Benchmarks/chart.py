"""Charts of rates relative to Latewood's, as SVG: a line for each workload, a mark for each peer.

They have a background of their own, for light and for dark surroundings.
"""
import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP, ROW = 820, 190, 30, 76, 30
# Colours that can be told apart on either background, also by those who see few colours; shapes
# repeat what they say.
MARKS = [
    ("#2f74b5", "circle"),
    ("#4a8cc7", "square"),
    ("#7b5ea7", "triangle"),
    ("#2f8f57", "diamond"),
    ("#c4780f", "circle"),
    ("#c0504d", "square"),
    ("#b03a78", "triangle"),
    ("#7f7f7f", "diamond"),
]
STYLE = (
    ".ground{fill:#fffdf8}text{fill:#2b2a27}.q{fill:#6f6a60}.grid{stroke:#d8d2c4}.one{stroke:#2b2a27;stroke-width:2}"
    "@media(prefers-color-scheme:dark){.ground{fill:#151412}text{fill:#e9e5dc}.q{fill:#a39d91}"
    ".grid{stroke:#3a3833}.one{stroke:#e9e5dc}}"
)


def mark(shape, x, y, colour, title):
    size = 6
    if shape == "circle":
        body = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}"'
    elif shape == "square":
        body = f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"'
    else:
        bottom = [(size, size - 1), (-size, size - 1)] if shape == "triangle" else [(size, 0), (0, size), (-size, 0)]
        points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in [(0, -size)] + bottom)
        body = f'<polygon points="{points}"'
    return f'{body} class="mark" fill="{colour}" fill-opacity=".9"><title>{escape(title)}</title></{body[1:].split()[0]}>'


def ticks(low, high):
    """The powers of two around all ratios, at least from a half to two; every second, third … one
    where there are many."""
    first, last = min(-1, math.floor(math.log2(low))), max(1, math.ceil(math.log2(high)))
    step = max(1, math.ceil((last - first) / 10))
    return [power for power in range(first, last + 1) if power % step == 0], first, last


def label(power):
    return f"{2**power}×" if power >= 0 else f"1/{2**-power}"


def chart(title, rows, engines):
    """Returns the SVG, or None without anything to compare.

    rows: pairs of a workload's name and a dictionary of a peer's rate over Latewood's, by engine.
    engines: the peers in the order of their marks.
    """
    ratios = [ratio for _, found in rows for ratio in found.values()]
    if not ratios:
        return None
    powers, first, last = ticks(min(ratios), max(ratios))

    def place(ratio):
        return LEFT + (math.log2(ratio) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    bottom = TOP + ROW * len(rows)
    height = bottom + 34
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        "<desc>Each mark is a peer's rate over Latewood's, on a logarithmic scale. Marks on the right of the "
        "thick line are peers that are faster than Latewood.</desc>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
        f'<text x="14" y="26" font-size="16" font-weight="600">{escape(title)}</text>',
    ]
    x = 14
    for index, engine in enumerate(engines):
        colour, shape = MARKS[index % len(MARKS)]
        lines.append(mark(shape, x + 6, 46, colour, engine))
        lines.append(f'<text x="{x + 17}" y="50">{escape(engine)}</text>')
        x += 34 + 8 * len(engine)
    for power in powers:
        at = place(2.0**power)
        kind = "one" if power == 0 else "grid"
        lines.append(f'<line class="{kind}" x1="{at:.1f}" y1="{TOP - 8}" x2="{at:.1f}" y2="{bottom}"/>')
        name = "Latewood" if power == 0 else label(power)
        lines.append(f'<text class="q" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{name}</text>')
    for index, (workload, found) in enumerate(rows):
        y = TOP + ROW * index + ROW / 2
        lines.append(f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(workload)}</text>')
        for number, engine in enumerate(engines):
            if engine in found:
                colour, shape = MARKS[number % len(MARKS)]
                title = f"{workload}: {engine} {found[engine]:.2f} times the rate of Latewood"
                lines.append(mark(shape, place(found[engine]), y, colour, title))
    return "\n".join(lines + ["</svg>", ""])
