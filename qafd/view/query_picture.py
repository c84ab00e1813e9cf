"""The query graph of a question as a small SVG: the answer on the left, its conditions right."""

from collections.abc import Sequence
from xml.etree import ElementTree

from qafd.records import QueryCondition
from qafd.retrieve.conditions import LinkedQuery

COLUMN, ROW, WIDTH, HEIGHT = 310, 56, 150, 34  # pixels between nodes, and of one node
EDGE, FAN = 20, 56  # around all; within which lines part before they run level, under their words
LONGEST = 20  # characters of a name that fit
HOW = 15  # and of the words of a condition
LINE, REFUSED = "#2e9e57", "#c2410c"  # legible on a light and on a dark page
STYLE = """
.how { fill: #5f5f5f }
.node { fill: #f2faf5 } .name { fill: #14532d }
@media (prefers-color-scheme: dark) {
  .how { fill: #a8a8a4 } .node { fill: #14261b } .name { fill: #d3f3df }
}"""


def draw_query(query: LinkedQuery, names: Sequence[str]) -> str:
    """Draw known names as boxes, sought ones as ellipses, and conditions as lines between.

    Parameters
    ----------
    names : sequence of str
        Names of the rows of the graph.
    """
    columns = _depths(query)
    places = {}
    rows = dict.fromkeys(range(len(columns)), 0)
    for at, depth in columns.items():
        places[at] = (EDGE + depth * COLUMN, EDGE + rows[depth] * ROW)
        rows[depth] += 1
    tallest = max(rows.values())
    for at, depth in columns.items():  # shorter columns are in the middle
        x, y = places[at]
        places[at] = x, y + (tallest - rows[depth]) * ROW // 2
    width = 2 * EDGE + max(columns.values()) * COLUMN + WIDTH
    height = 2 * EDGE + (tallest - 1) * ROW + HEIGHT
    svg = ElementTree.Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}",
        "width": str(width), "height": str(height), "font-family": "sans-serif", "font-size": "13"})
    ElementTree.SubElement(svg, "style").text = STYLE
    for condition in query.query.conditions:
        start, end = places[condition.source], places[condition.target]
        x1, x2 = _sides(start[0], end[0])
        y1, y2 = start[1] + HEIGHT / 2, end[1] + HEIGHT / 2
        level = x1 + max(-FAN, min(FAN, x2 - x1))
        middle = (x1 + level) / 2
        line = {"d": f"M {x1} {y1} C {middle} {y1} {middle} {y2} {level} {y2} L {x2} {y2}",
                "fill": "none", "stroke-width": "2", "stroke": REFUSED if condition.negated else LINE}
        if condition.negated:
            line["stroke-dasharray"] = "5 4"
        ElementTree.SubElement(svg, "path", line)
        _write(svg, (level + x2) / 2, y2 - 6, _say_how(condition), HOW, "how")
    for place, node in enumerate(query.query.nodes):
        x, y = places[place]
        known = query.known.get(place)
        box = {"x": str(x), "y": str(y), "width": str(WIDTH), "height": str(HEIGHT),
               "rx": "6" if known else str(HEIGHT / 2), "class": "node", "stroke": LINE,
               "stroke-width": "2"}
        ElementTree.SubElement(svg, "rect", box)
        _write(svg, x + WIDTH / 2, y + HEIGHT / 2 + 5, known.call(names) if known else node.text,
               LONGEST, "name")
    return ElementTree.tostring(svg, encoding="unicode")


def _say_how(condition: QueryCondition) -> str:
    """Shorten the words of a condition to the last that fit, which are next to its name."""
    words = ["not"] if condition.negated and "not" not in condition.words else []
    words += condition.words
    while len(words) > 1 and len(" ".join(words)) > HOW:
        words.pop(0)
    return " ".join(words)


def _depths(query: LinkedQuery) -> dict[int, int]:
    """Return the number of conditions between the answer, node 0, and each node."""
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
    """Return the two ends of a line between two nodes, at the sides that face each other."""
    if start == end:
        return start + WIDTH / 2, end + WIDTH / 2
    return (start + WIDTH, float(end)) if start < end else (float(start), end + WIDTH)


def _write(svg: ElementTree.Element, x: float, y: float, text: str, longest: int,
           style: str) -> None:
    label = ElementTree.SubElement(svg, "text", {"x": str(x), "y": str(y), "text-anchor": "middle",
                                                 "class": style})
    label.text = text if len(text) <= longest else f"{text[:longest - 1]}…"
