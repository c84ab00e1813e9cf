"""The query graph of a question as a small SVG: what is sought on the left, its conditions beside."""

from collections.abc import Collection, Sequence
from xml.etree import ElementTree

from qafd.retrieve.conditions import LinkedQuery

COLUMN, ROW, WIDTH, HEIGHT = 270, 56, 150, 34  # pixels between nodes, and of one node
LONGEST = 20  # characters of a name that fit
LINE, WORDS = "#2e9e57", "#808080"  # legible on a light and on a dark page
REFUSED = "#c2410c"
LIT, FAINT = "#bfe8cf", "0.45"  # of what a step is about, and of all else


def draw_query(query: LinkedQuery, names: Sequence[str], shown: Collection[int] = (),
               joined: Collection[frozenset[int]] | None = None) -> str:
    """Draw what is known as boxes, what is sought as ellipses, and conditions as lines between.

    Parameters
    ----------
    names : sequence of str
        Of the rows of the graph.
    shown : collection of int
        Places of nodes that a step is about; without any all are drawn alike.
    joined : collection of pairs of places, optional
        The conditions that it is about; by default those between two of `shown`.
    """
    columns = _depths(query)
    places = {}
    rows = dict.fromkeys(range(len(columns)), 0)
    for at, depth in columns.items():
        places[at] = (20 + depth * COLUMN, 20 + rows[depth] * ROW)
        rows[depth] += 1
    tallest = max(rows.values())
    for at, depth in columns.items():  # shorter columns stand in the middle
        x, y = places[at]
        places[at] = x, y + (tallest - rows[depth]) * ROW // 2
    width = 40 + max(columns.values()) * COLUMN + WIDTH
    height = 40 + max(rows.values()) * ROW
    svg = ElementTree.Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}",
        "width": str(width), "height": str(height), "font-family": "sans-serif", "font-size": "13"})
    for condition in query.query.conditions:
        start, end = places[condition.source], places[condition.target]
        x1, x2 = _sides(start[0], end[0])
        y1, y2 = start[1] + HEIGHT / 2, end[1] + HEIGHT / 2
        line = {"x1": str(x1), "y1": str(y1), "x2": str(x2), "y2": str(y2), "stroke-width": "2",
                "stroke": REFUSED if condition.negated else LINE}
        pair = frozenset((condition.source, condition.target))
        told = pair <= set(shown) if joined is None else pair in joined
        if shown:
            line |= {"stroke-width": "4"} if told else {"opacity": FAINT}
        if condition.negated:
            line["stroke-dasharray"] = "5 4"
        ElementTree.SubElement(svg, "line", line)
        _write(svg, x1 + 0.55 * (x2 - x1), y1 + 0.55 * (y2 - y1) - 5, " ".join(condition.words), 14)
    for place, node in enumerate(query.query.nodes):
        x, y = places[place]
        known = query.known.get(place)
        box = {"x": str(x), "y": str(y), "width": str(WIDTH), "height": str(HEIGHT),
               "rx": "6" if known else str(HEIGHT / 2), "fill": "#f2faf5", "stroke": LINE,
               "stroke-width": "2"}
        if shown:
            box |= {"stroke-width": "4", "fill": LIT} if place in shown else {"opacity": FAINT}
        ElementTree.SubElement(svg, "rect", box)
        _write(svg, x + WIDTH / 2, y + HEIGHT / 2 + 5, names[known.row] if known else node.text,
               LONGEST, "#14532d")
    return ElementTree.tostring(svg, encoding="unicode")


def _depths(query: LinkedQuery) -> dict[int, int]:
    """How many conditions lie between the answer, node 0, and each node; the answer first."""
    found = {0: 0}
    waiting = [0]
    while waiting:
        node = waiting.pop(0)
        for condition in query.query.conditions:
            for near, far in ((condition.source, condition.target),
                              (condition.target, condition.source)):
                if near == node and far not in found:
                    found[far] = found[node] + 1
                    waiting.append(far)
    for node in range(len(query.query.nodes)):
        found.setdefault(node, 1)
    return found


def _sides(start: int, end: int) -> tuple[float, float]:
    """Where a line leaves one node and meets the other: at the sides that face each other."""
    if start == end:
        return start + WIDTH / 2, end + WIDTH / 2
    return (start + WIDTH, float(end)) if start < end else (float(start), end + WIDTH)


def _write(svg: ElementTree.Element, x: float, y: float, text: str, longest: int,
           color: str = WORDS) -> None:
    label = ElementTree.SubElement(svg, "text", {"x": str(x), "y": str(y), "fill": color,
                                                 "text-anchor": "middle"})
    label.text = text if len(text) <= longest else f"{text[:longest - 1]}…"
