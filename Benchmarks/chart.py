"""Charts as SVG: of rates relative to Latewood's, with a line for each workload and a mark for each
peer; and of costs that grow, with a panel for each cost and a line for each engine.

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


# Lines need colours that are farther apart. Latewood has that of the text, as its line has in the
# other charts.
OWN = (None, "circle")
LINES = [
    ("#4a8cc7", "square"),
    ("#c4780f", "triangle"),
    ("#2f8f57", "diamond"),
    ("#7b5ea7", "square"),
    ("#c0504d", "triangle"),
    ("#7f7f7f", "diamond"),
]
PANEL_STYLE = (
    ".line{fill:none;stroke-width:2}.own{fill:#2b2a27}.line.own{fill:none;stroke:#2b2a27;stroke-width:2.5}"
    "@media(prefers-color-scheme:dark){.own{fill:#e9e5dc}.line.own{fill:none;stroke:#e9e5dc}}"
)
PANEL_WIDTH, PANEL_HEIGHT, PANEL_LEFT, PANEL_TOP = 385, 200, 58, 34


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
    look = f'class="mark" fill="{colour}"' if colour else 'class="mark own"'
    return f'{body} {look} fill-opacity=".9"><title>{escape(title)}</title></{body[1:].split()[0]}>'


def ticks(low, high):
    """The powers of two around all ratios, at least from a half to two; every second, third … one
    where there are many."""
    first, last = min(-1, math.floor(math.log2(low))), max(1, math.ceil(math.log2(high)))
    step = max(1, math.ceil((last - first) / 10))
    return [power for power in range(first, last + 1) if power % step == 0], first, last


def label(power):
    return f"{2**power}×" if power >= 0 else f"1/{2**-power}"


def head(title, description, height, style):
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f"<desc>{description}</desc>",
        f"<style>{style}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
        f'<text x="14" y="26" font-size="16" font-weight="600">{escape(title)}</text>',
    ]


def legend(engines, looks):
    x, lines = 14, []
    for engine, (colour, shape) in zip(engines, looks):
        lines.append(mark(shape, x + 6, 46, colour, engine))
        lines.append(f'<text x="{x + 17}" y="50">{escape(engine)}</text>')
        x += 34 + 8 * len(engine)
    return lines


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
    looks = [MARKS[index % len(MARKS)] for index in range(len(engines))]
    description = (
        "Each mark is a peer's rate over Latewood's, on a logarithmic scale. Marks on the right of the "
        "thick line are peers that are faster than Latewood."
    )
    lines = head(title, description, bottom + 34, STYLE) + legend(engines, looks)
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
                colour, shape = looks[number]
                title = f"{workload}: {engine} {found[engine]:.2f} times the rate of Latewood"
                lines.append(mark(shape, place(found[engine]), y, colour, title))
    return "\n".join(lines + ["</svg>", ""])


def steps(low, high):
    """Round numbers inside a range on a logarithmic scale: 1, 2 and 5 with their tens where these
    are few, otherwise powers of ten, every second, third … one where there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    fine = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    found = [step for step in fine if low <= step <= high]
    if len(found) > 6:
        every = max(1, math.ceil((last - first) / 5))
        tens = [10.0**power for power in range(first, last + 1) if power % every == 0]
        found = [step for step in tens if low <= step <= high]
    return found


def brief(number):
    """A number in a few characters: 0.05, 2, 200, 20k, 5M."""
    for size, unit in [(1e9, "G"), (1e6, "M"), (1e3, "k")]:
        if number >= 0.9995 * size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def span(numbers, least):
    """A range around all numbers that is at least so many times as high as it is low."""
    low, high = min(numbers) / 1.15, max(numbers) * 1.15
    missing = math.sqrt(max(1.0, least * low / high))
    return low / missing, high * missing


def panel(left, top, heading, places, series, looks):
    """One cost: a line for each engine, over both axes on a logarithmic scale."""
    points = [point for found in series.values() for point in found]
    low_x, high_x = span([x for x, _ in points], 2)
    low_y, high_y = span([y for _, y in points], 10)
    x0, x1, y0, y1 = left + PANEL_LEFT, left + PANEL_WIDTH - 12, top + PANEL_HEIGHT - 26, top + PANEL_TOP

    def place(x, y):
        return (
            x0 + math.log(x / low_x) / math.log(high_x / low_x) * (x1 - x0),
            y0 + math.log(y / low_y) / math.log(high_y / low_y) * (y1 - y0),
        )

    lines = [f'<text x="{x0}" y="{top + 20}" font-weight="600">{escape(heading)}</text>']
    for step in steps(low_y, high_y):
        _, y = place(low_x, step)
        lines.append(f'<line class="grid" x1="{x0}" y1="{y:.1f}" x2="{x1}" y2="{y:.1f}"/>')
        lines.append(f'<text class="q" x="{x0 - 8}" y="{y + 4:.1f}" text-anchor="end">{brief(step)}</text>')
    for number, name in places:
        if low_x <= number <= high_x:
            x, _ = place(number, low_y)
            lines.append(f'<text class="q" x="{x:.1f}" y="{y0 + 18}" text-anchor="middle">{escape(name)}</text>')
    names = dict(places)
    for engine, found in reversed(list(series.items())):
        colour, shape = looks[engine]
        path = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in found)
        look = f'class="line" stroke="{colour}"' if colour else 'class="line own"'
        lines.append(f'<polyline {look} points="{path}"/>')
        for x, y in found:
            title = f"{engine}, {names.get(x, brief(x))}: {brief(y)}"
            lines.append(mark(shape, *place(x, y), colour, title))
    return lines


def growth(title, what, panels, own, peers):
    """Returns an SVG with a panel for each cost, or None without any point.

    panels: the heading; the places to name on the x axis, as pairs of a number and a name; and a
    dictionary of points, pairs of x and y, by engine. Points that are not above zero are left out.
    own: the engine with the colour of the text. peers: the others, in the order of their marks.
    """
    looks = {own: OWN} | {engine: LINES[index % len(LINES)] for index, engine in enumerate(peers)}
    drawn = []
    for heading, places, series in panels:
        above = {engine: [(x, y) for x, y in series.get(engine, []) if x > 0 and y > 0] for engine in looks}
        above = {engine: found for engine, found in above.items() if found}
        if above:
            drawn.append((heading, places, above))
    if not drawn:
        return None
    height = TOP + PANEL_HEIGHT * math.ceil(len(drawn) / 2)
    description = f"{what} Both axes are logarithmic."
    shown = [engine for engine in looks if any(engine in series for _, _, series in drawn)]
    lines = head(title, description, height, STYLE + PANEL_STYLE)
    lines += legend(shown, [looks[engine] for engine in shown])
    for index, (heading, places, series) in enumerate(drawn):
        left, top = 14 + index % 2 * (PANEL_WIDTH + 22), TOP - 14 + index // 2 * PANEL_HEIGHT
        lines += panel(left, top, heading, places, series, looks)
    return "\n".join(lines + ["</svg>", ""])
