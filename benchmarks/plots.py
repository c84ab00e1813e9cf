"""Draw benchmarks/results/*.svg and docs/answers.svg from the JSON files in benchmarks/results.

    python benchmarks/plots.py
"""

import json
from html import escape
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results"
WIDTH, HEIGHT, BAR = 640, 300, 18
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")


def bars(name, title, lines):
    """Horizontal bars on a logarithmic axis; `lines` are (label, value) pairs."""
    low = 10 ** np.floor(np.log10(min(value for _, value in lines)))
    high = max(value for _, value in lines)
    scale = 330 / max(np.log10(high / low), 1e-9)
    parts = [f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>']
    for i, (label, value) in enumerate(lines):
        y = 30 + i * (BAR + 4)
        length = scale * np.log10(value / low)
        parts.append(f'<text x="230" y="{y + 13}" text-anchor="end">{escape(label)}</text>'
                     f'<rect x="236" y="{y}" width="{length:.1f}" height="{BAR}" '
                     f'fill="{COLORS[0]}"/><text x="{242 + length:.1f}" y="{y + 13}">'
                     f'{value:.3g}</text>')
    save(name, title, parts, 40 + len(lines) * (BAR + 4))


def curves(name, title, x, lines):
    """Lines over x, both axes logarithmic; `lines` maps labels to values."""
    every = [v for values in lines.values() for v in values if v > 0]
    low, high = np.log10(min(every)), np.log10(max(every))
    across = 560 / max(np.log10(x[-1] / x[0]), 1e-9)
    parts = [f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>']
    for color, (label, values) in zip(COLORS, lines.items(), strict=False):
        points = [(40 + across * np.log10(a / x[0]),
                   30 + (HEIGHT - 60) * (high - np.log10(b)) / max(high - low, 1e-9))
                  for a, b in zip(x, values, strict=True) if b > 0]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}"/>'
                     f'<text x="{points[len(points) // 2][0]:.0f}" fill="{color}" '
                     f'y="{points[len(points) // 2][1] - 6:.0f}">{escape(label)}</text>')
    parts.append(f'<text x="40" y="{HEIGHT - 8}">{x[0]:g} to {x[-1]:g} pushes, '
                 f'1e{low:.0f} to 1e{high:.0f}</text>')
    save(name, title, parts, HEIGHT)


def chances(name, title, row):
    """The share of right first sentences, over their chance and over the share with the highest chances."""
    panels = {"chance that is stated": [(chance, right) for chance, right in row["bins"]],
              "share of the questions, surest first": [(float(share), right)
                                                       for share, (right, _) in row["coverage"].items()]}
    parts = [f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>',
             '<line x1="44" y1="234" x2="284" y2="34" stroke="#999" stroke-dasharray="4"/>']
    for left, (across, points) in zip((44, 364), panels.items(), strict=True):
        for tick in (0, 0.5, 1):
            y, x = 34 + 200 * (1 - tick), left + 240 * tick
            parts.append(f'<line x1="{left}" x2="{left + 240}" y1="{y}" y2="{y}" stroke="#ddd"/>'
                         f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{tick:g}</text>'
                         f'<text x="{x}" y="252" text-anchor="middle">{tick:g}</text>')
        places = [(left + 240 * x, 34 + 200 * (1 - y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLORS[0]}"/>' for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[0]}" stroke-width="2"/>{dots}'
                     f'<text x="{left}" y="274">{escape(across)}</text>')
    save(name, title, parts, 288, RESULTS.parents[1] / "docs")


def save(name, title, parts, height, folder=RESULTS):
    """Write one picture with its text alternative."""
    (folder / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n',
        encoding="utf-8")


def rows(name):
    """The rows of a result, or nothing when it has not been measured."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []


def main():
    solver = [row for row in rows("solver") if "alpha" in row]
    if solver:
        bars("solver", "CPU ms of one diffusion, by path, alpha and number of nodes", [
            (f"{row['path']}, {row['alpha']:g}, {row['nodes']:,}", row["ms"]) for row in solver])
    peers = [row for row in rows("peers") if row.get("alpha") == 50.0]
    for n in sorted({row["nodes"] for row in peers}):
        bars(f"peers_{n}", f"CPU ms at {n:,} nodes, alpha 50", [
            (row["peer"], row["ms"]) for row in peers if row["nodes"] == n])
    for row in rows("guarantees"):
        if row.get("theorem") == 3:
            curves("theorem3", "F(x) - F(x*) of Algorithm 2 and the rate of Theorem 3",
                   row["pushes"], {"measured": row["gap"], "bound": row["bound"]})
    for row in rows("chooser"):
        if "bins" in row:
            chances("answers", "Share of first sentences that are right, each set left out", row)


if __name__ == "__main__":
    main()
