"""Retrievals for other programs: node-link JSON, GraphML, GEXF, CSV, an HTML page.

Names come from documents. Each format has its own way to be hurt by them: XML has no control
characters, spreadsheets run text that begins with "=", a page runs text that looks like a script.
"""

# pyvis carries no annotations.
# mypy: allow-untyped-calls

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from qafd.export import markup
from qafd.reading.text.plaintext import FORMULA
from qafd.resources import assets
from qafd.retrieve.base import Retrieval
from qafd.view.drawing import Drawing, Look
from qafd.view.layout import Positions, layout
from qafd.view.panel import panel_data
from qafd.view.placement import select_prominent
from qafd.wording.answers import say_status
from qafd.wording.reasons import word_reason

if TYPE_CHECKING:
    from qafd.answer import Answer, Sentence

PANELS = '<main><div class="panel"></div><aside aria-live="polite"></aside></main>'
"""The place of a page where `panel_script` draws."""
_NODE_COLUMNS = ("id", "name", "kind", "seed", "state", "importance", "mass", "capacity", "source",
                 "degree", "alignment")  # fmt: skip
_PASSAGE_COLUMNS = ("document", "title", "page", "heading", "start", "end", "score", "text")
_EDGE_COLUMNS = ("source", "target", "kind", "flow", "weight", "label")


def node_link(retrieval: Retrieval) -> str:
    """Return the subgraph as networkx's and D3's node-link JSON."""
    return "".join(markup.node_link(list_rows(retrieval)))


def graphml(retrieval: Retrieval) -> str:
    """Return the subgraph as GraphML, as Gephi, yEd and Cytoscape read it."""
    return "".join(markup.graphml(list_rows(retrieval)))


def gexf(retrieval: Retrieval) -> str:
    """Return the subgraph as GEXF, Gephi's own format; the same retrieval gives the same text on any day."""
    return "".join(markup.gexf(list_rows(retrieval)))


def list_rows(retrieval: Retrieval) -> markup.GraphRows:
    """Return the nodes and edges of a retrieval to write, with every reason in words."""
    graph = retrieval.to_networkx()
    nodes: list[dict[str, Any]] = []
    for node in retrieval.nodes:
        nodes.append({"id": node.id, **graph.nodes[node.id], "reason": word_reason(node.reason)})
    edges = []
    for source, target, key, fields in graph.edges(keys=True, data=True):
        edges.append({"source": source, "target": target, "key": key, **fields})
    node_fields = ("name", "kind", *_NODE_COLUMNS[3:], "brought_by", "reason")
    return markup.GraphRows(dict(graph.graph), imprint(retrieval), retrieval.made_by.qafd, node_fields,
                            _EDGE_COLUMNS[2:], lambda: nodes, lambda: edges)


def nodes_csv(retrieval: Retrieval) -> str:
    """Write one row per node, most important first; no text can be run as a formula.

    The last column names the version, the method and the state of the workspace in every row, so
    that tables can be put together.
    """
    rows = []
    for node in retrieval.nodes:
        rows.append([*_values(node, _NODE_COLUMNS), word_reason(node.reason), _stamp(retrieval)])
    return table_csv((*_NODE_COLUMNS, "reason", "made_by"), rows)


def edges_csv(retrieval: Retrieval) -> str:
    """Write one row per edge, with the names of both ends; else as `nodes_csv`."""
    names = {node.id: node.name for node in retrieval.nodes}
    rows = []
    for edge in retrieval.edges:
        ends = [names.get(edge.source, ""), names.get(edge.target, "")]
        rows.append([*_values(edge, _EDGE_COLUMNS), *ends, _stamp(retrieval)])
    return table_csv((*_EDGE_COLUMNS, "source_name", "target_name", "made_by"), rows)


def passages_csv(retrieval: Retrieval) -> str:
    """Write one row per ranked passage, best first; else as `nodes_csv`."""
    rows = []
    for rank, passage in enumerate(retrieval.passages, 1):
        rows.append([rank, *_values(passage, _PASSAGE_COLUMNS), _stamp(retrieval)])
    return table_csv(("rank", *_PASSAGE_COLUMNS, "made_by"), rows)


def _values(record: object, columns: Sequence[str]) -> list[Any]:
    return [getattr(record, column) for column in columns]


def html(retrieval: Retrieval, positions: Positions | None = None, *, answer: "Answer | None" = None,
         drawing: Drawing = Drawing(limit=150), look: Look = Look()) -> str:
    """Write a page that draws the subgraph without any network, with the picture of the app itself.

    It has the search, the filters and the colors of the app, and a card on click; a table below
    has the same in words. Its content security policy admits only the script it was written with.

    Parameters
    ----------
    positions : mapping of id to (x, y), optional
        The frozen layout of the app, see `qafd.view.layout.layout`; made afresh by default.
    answer : Answer, optional
        Stands above the picture, with its quotes and their sources.
    drawing : Drawing
        How it is drawn. Of more than its `limit` of nodes the most important are; the page
        counts the rest.
    look : Look
        Captions, other nodes and colors, see `qafd.view.drawing.Look`.
    """
    data = {**_draw_panel(retrieval, positions, drawing, look), "edges": True}
    return _page(retrieval, [panel_script(data)], panel_styles(), [*_answer_lines(answer), PANELS],
                 _node_rows(data))


def _page(drawn: Retrieval, scripts: Sequence[str], styles: str, body: Sequence[str],
          rows: Sequence[Sequence[str]]) -> str:
    """Write a page with a body, a table of its nodes and its origin; the last script draws at its end."""
    title = escape(_clean_text(drawn.query) or "Retrieved subgraph")
    return "\n".join([
        *head(title, scripts, styles, drawn.made_by.qafd, json.dumps(drawn.record, default=str)),
        *(f"<script>{script}</script>" for script in scripts[:-1]),
        "</head>", "<body>", f"<h1>{title}</h1>", *body,
        _table(rows), f"<p>{escape(_clean_text(imprint(drawn), 2000))}</p>",
        f"<script>{scripts[-1]}</script>", "</body>", "</html>", "",
    ])  # fmt: skip


def _answer_lines(answer: "Answer | None") -> list[str]:
    """Write an answer, its quotes and their sources as paragraphs of a page."""
    if answer is None:
        return []
    written = answer.written
    lines = [say_status(answer) if written is None else written.text]
    html = [f"<p>{escape(_clean_text(line, 4000))}</p>" for line in lines]
    for sentence in answer.sentences:
        html.append(_quote_row(sentence) if sentence.cells else
                    f"<p>{escape(_clean_text(f'{sentence.line} [{sentence.cited}]', 4000))}</p>")
    sources = [f"[{source.number}] {source.where}" for source in answer.citations]
    return html + [f"<p>{escape(_clean_text(line, 4000))}</p>" for line in sources]


def _quote_row(sentence: "Sentence") -> str:
    """Write a row of a table as a table with a line for each column, the asked cell marked."""
    rows = []
    for place, (column, value) in enumerate(sentence.cells):
        shown = escape(_clean_text(value, 4000))
        cell = f"<mark>{shown}</mark>" if place == sentence.asked else shown
        rows.append(f"<tr><th>{escape(_clean_text(column))}</th><td>{cell}</td></tr>")
    return f"<table>{''.join(rows)}</table><p>[{sentence.cited}]</p>"


def _draw_panel(retrieval: Retrieval, positions: Positions | None,
           drawing: Drawing, look: Look) -> dict[str, Any]:
    if positions is None:
        labels = {node.id: node.name[:40] for node in select_prominent(retrieval, drawing.limit)}
        edges = [(e.source, e.target) for e in retrieval.edges]
        positions = layout(labels, edges, drawing.aspect, labels)
    return panel_data([retrieval], drawing, positions=positions, look=look)


def panel_script(data: Mapping[str, Any]) -> str:
    """Build the script that draws panels in `PANELS` as the app does, with a card for the clicked node.

    Parameters
    ----------
    data : mapping
        From `qafd.view.panel.panel_data`.
    """
    panel = (assets() / "panel.js").read_text("utf-8")
    panel = panel.replace("export default function (", "function receive(")
    panel = panel.replace("export function", "function") + (assets() / "offline.js").read_text("utf-8")
    # Neither a name that ends a script nor one that begins a comment may stand in it.
    held = json.dumps(data).replace("<", "\\u003c")
    return f"(() => {{\n{panel}\nstart({held});\n}})();"


def panel_styles() -> str:
    """Return the style sheet of a page with `PANELS`."""
    return "".join((assets() / name).read_text("utf-8") for name in ("offline.css", "panel.css"))


def page(drawn: Retrieval, positions: Positions, summary: str) -> str:
    """Write the picture of a whole graph as pyvis draws it: without network, flow and seeds; its nodes
    can be chosen and the picture moved.

    Parameters
    ----------
    drawn : Retrieval
        The graph; its question is the title, and the importance of a node its number of edges.
    summary : str
        Its size in words.
    """
    scripts, styles = _vis(drawn, positions)
    rows = [("node", "kind", "edges")]
    for node in drawn.nodes:
        rows.append((_clean_text(node.name), _clean_text(node.kind), f"{node.importance:.0f}"))
    body = [f"<p>{escape(summary)}; passages are squares</p>",
            f'<div id="mynetwork" role="img" aria-label="{escape(summary)}"></div>']
    return _page(drawn, scripts, styles + _STYLE, body, rows)


def head(title: str, scripts: Sequence[str], styles: str, version: str,
         record: str) -> list[str]:
    """Write the beginning of a page that runs these scripts and loads nothing; `title` is escaped."""
    hashes = []
    for script in scripts:
        digest = hashlib.sha256(script.encode()).digest()
        hashes.append(f"'sha256-{base64.b64encode(digest).decode()}'")
    admitted = " ".join(hashes) or "'none'"
    policy = (f"default-src 'none'; script-src {admitted}; style-src 'unsafe-inline'; "
              "img-src data: blob:; base-uri 'none'; form-action 'none'")
    return [
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta name="generator" content="qafd {version}">',
        f'<meta name="made-by" content="{escape(record)}">',
        f"<title>{title}</title>", f"<style>{styles}</style>",
    ]  # fmt: skip


_STYLE = """
body { margin: 1rem auto; max-width: 1280px; padding: 0 1rem; color: #222; background: #fff;
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .2rem 0 .6rem; color: #555; }
#mynetwork { height: 70vh; min-height: 24rem; border: 1px solid #ddd; border-radius: 8px; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem .8rem .15rem 0;
  vertical-align: top; overflow-wrap: anywhere; }
"""
_STATES = {"saturated": "retrieved", "wet": "touched, not retrieved", "dry": "took no mass"}


def _vis(drawn: Retrieval, positions: Positions) -> tuple[list[str], str]:
    """Return the scripts, the drawing one last, and the style sheet that pyvis makes for a graph."""
    from pyvis.network import Network

    network = Network(cdn_resources="in_line")
    place = {node.id: number for number, node in enumerate(drawn.nodes)}
    for node in drawn.nodes:
        x, y = positions[node.id]
        passage, name = node.kind == "passage", _clean_text(node.name, 120)
        facts = [name, f"edges: {node.importance:.0f}", word_reason(node.reason)]
        network.add_node(
            place[node.id], label=name[:60], title=_break_links("\n".join(filter(None, facts))),
            x=round(1000 * x, 1), y=round(1000 * y, 1), fixed=True, physics=False,
            shape="square" if passage else "dot", size=11 if passage else 17,
            color={"background": "#b4d748" if passage else "#278c3f", "border": "#24301f",
                   "highlight": {"border": "#c62828"}, "hover": {"border": "#c62828"}},
            font={"color": "#222222", "size": 21, "strokeWidth": 4, "strokeColor": "#ffffff"},
        )  # fmt: skip
    for edge in drawn.edges:
        words = f"{_clean_text(edge.label)}\nweight: {edge.weight:.3g}"
        network.add_edge(place[edge.source], place[edge.target], title=_break_links(words.strip()),
                         color={"color": "#b5b5b5", "highlight": "#c62828", "hover": "#5d8f59"})
    network.set_options(json.dumps({
        "physics": {"enabled": False}, "edges": {"smooth": False},
        "interaction": {"hover": True, "tooltipDelay": 100, "keyboard": {"bindToWindow": False}},
    }))  # fmt: skip
    page = network.generate_html()
    # Only the inlined parts: the rest of pyvis's page asks a CDN for Bootstrap.
    scripts = [s for s in re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) if s.strip()]
    styles = re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL)
    return scripts, styles[0]


def _break_links(title: str) -> str:
    """Change a tooltip so that pyvis finds no link, which it would write as HTML."""
    return re.sub("(?i)(hr)(ef)", "\\1\u200b\\2", title)


def _node_rows(data: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the nodes of a panel as rows of a table."""
    rows: list[tuple[str, ...]] = [("node", "kind", "state", "importance", "reason")]
    for node in data["panels"][0]["nodes"]:
        at = data["nodes"][node["n"]]
        named = f"{at['name']} (seed)" if node["seed"] else at["name"]
        state = _STATES.get(node["state"], node["state"])
        rows.append((named, at["kind"], state, node["facts"][0][1], node["reason"]))
    return rows


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as a folded table, the first one as its head."""
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        cells = [f"<{tag}>{escape(text)}</{tag}>" for text in row]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return ("<details><summary>The nodes as a table</summary>"
            f"<table>{''.join(lines)}</table></details>")


def _stamp(retrieval: Retrieval) -> str:
    made = retrieval.made_by
    return f"qafd {made.qafd}, {retrieval.method}, workspace {made.workspace or 'unknown'}"


def imprint(retrieval: Retrieval) -> str:
    """Word the origin of a retrieval in one line."""
    made = retrieval.made_by
    params = []
    for name, value in retrieval.params.items():
        params.append(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}")
    method = f"method {retrieval.method}"
    if params:
        method += f": {', '.join(params)}"
    return " · ".join([
        f"Made by qafd {made.qafd}", method,
        f"workspace {made.workspace or 'unknown'}, revision {retrieval.revision}",
        f"vectors by {made.embedder or 'unknown'}", f"entities by {made.extractor or 'unknown'}"])


def _clean_text(text: str, most: int = 300) -> str:
    return " ".join(markup.NOT_XML.sub(" ", text[:4 * most]).split())[:most]


def table_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table as CSV; text that a spreadsheet would take for a formula is quoted with '."""
    return csv_rows([columns, *rows])


def csv_rows(rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV, as `table_csv`."""
    out = io.StringIO()
    csv.writer(out).writerows([*map(cell, row)] for row in rows)
    return out.getvalue()


def cell(value: Any) -> Any:
    """Return a value that a spreadsheet takes for text: formulas are quoted, NUL is removed."""
    if not isinstance(value, str):
        return value
    text = re.sub("[\x00\ud800-\udfff]", "", value)
    return f"'{text}" if FORMULA.match(text) else text
