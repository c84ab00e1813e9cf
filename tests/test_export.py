"""Exports: what comes back is what was retrieved, and no name does anything."""

import base64
import csv
import hashlib
import io
import json
import re
from contextlib import contextmanager

import networkx as nx
import pytest
from hostile import CANARY, PWN, STRINGS
from lxml import etree
from lxml import html as lxml_html

from qafd import export
from qafd.answer import Answer, Citation, Sentence
from qafd.reasons import given_reason
from qafd.retrieve.base import Imprint, Retrieval, RetrievedEdge, RetrievedNode, RetrievedPassage
from qafd.view.drawing import RAMP, Drawing


def node(i, name, x=0.0, **fields):
    return RetrievedNode(**{
        "id": i, "name": name, "kind": "entity", "importance": x, "mass": 1.0,
        "state": "saturated" if x else "wet", "reason": given_reason(f"{name} is near."), "capacity": 1.0,
        "degree": 2, **fields})


@pytest.fixture
def retrieval():
    """Jobs -> Apple -> a passage, and a wet iPhone that two kinds of edges lead to."""
    return Retrieval(
        "Who founded Apple?", "qafd", {"alpha": 3.0, "variant": "hybrid"}, ("a",),
        (node("a", "Steve Jobs", 2.0, source=3.0, seed=True, alignment=0.8),
         node("b", "Apple Inc.", 1.0), node("p", "On Apple", 0.25, kind="passage"),
         node("c", "iPhone", mass=0.5)),
        (RetrievedEdge("a", "b", "relation", 1.5, 1.5, "founded"),
         RetrievedEdge("b", "p", "mention", 0.3, 0.4),
         RetrievedEdge("b", "c", "relation", 0.5, 0.5, "makes"),
         RetrievedEdge("b", "c", "synonym", 0.1, 0.1)),
        (), revision=7, made_by=Imprint("f00-7", "a-model", "local-9/9.9", "9.9"))


RECORD = {"qafd": "9.9", "workspace": "f00-7", "embedder": "a-model", "extractor": "local-9/9.9",
          "revision": 7, "query": "Who founded Apple?", "method": "qafd",
          "params": {"alpha": 3.0, "variant": "hybrid"}}


@pytest.fixture(scope="module")
def hostile():
    """A star of all hostile strings as names, kinds, labels, reasons and, numbered, as ids."""
    short = [s[:2000] for s in STRINGS]
    nodes = tuple(node(f"{i}{s}", s, 1.0 if i else 2.0, kind=s, reason=given_reason(s), seed=i in (0, 7))
                  for i, s in enumerate(short))
    edges = tuple(RetrievedEdge(nodes[0].id, n.id, n.kind, 1.0, 1.0, n.name) for n in nodes[1:])
    return Retrieval(short[1], "qafd", {"a": short[3]}, (nodes[0].id, nodes[7].id), nodes, edges,
                     (), made_by=Imprint(short[1], short[5], "".join(short)[:5000]))


def test_every_export_says_what_made_it(retrieval):
    linked = json.loads(export.node_link(retrieval))["graph"]
    xml = nx.parse_graphml(export.graphml(retrieval)).graph
    tree = lxml_html.document_fromstring(export.html(retrieval, POSITIONS))
    tables = rows(export.nodes_csv(retrieval)) + rows(export.edges_csv(retrieval))
    for record in (linked, {**xml, "params": json.loads(xml["params"])},
                   json.loads(tree.xpath("//meta[@name='made-by']/@content")[0])):
        assert {key: record[key] for key in RECORD} == RECORD
    assert {row["made_by"] for row in tables} == {"qafd 9.9, qafd, workspace f00-7"}
    assert tree.xpath("//meta[@name='generator']/@content") == ["qafd 9.9"]
    assert tree.xpath("//p")[-1].text == (
        "Made by qafd 9.9 · method qafd: alpha 3, variant hybrid · workspace f00-7, revision 7 · "
        "vectors by a-model · entities by local-9/9.9")


def test_networkx_holds_every_field_and_points_along_the_flow(retrieval):
    graph = retrieval.to_networkx()
    assert dict(graph.nodes["a"]) == {
        "name": "Steve Jobs", "kind": "entity", "seed": True, "state": "saturated",
        "importance": 2.0, "mass": 1.0, "capacity": 1.0, "source": 3.0, "degree": 2,
        "alignment": 0.8, "reason": "given"}
    assert list(graph.edges(keys=True)) == [
        ("a", "b", "relation"), ("b", "p", "mention"), ("b", "c", "relation"),
        ("b", "c", "synonym")]
    assert graph.edges["a", "b", "relation"] == {
        "kind": "relation", "flow": 1.5, "weight": 1.5, "label": "founded"}
    assert graph.graph == {**RECORD, "seeds": ["a"]}


def test_node_link_json_comes_back_as_the_same_graph(retrieval):
    text = export.node_link(retrieval)
    back = nx.node_link_graph(json.loads(text), edges="edges")
    assert back.nodes["a"]["reason"] == "Steve Jobs is near."
    graph = retrieval.to_networkx()
    for one in (graph, back):
        nx.set_node_attributes(one, "", "reason")
    assert nx.utils.graphs_equal(back, graph)


def read_gexf(text):
    return nx.read_gexf(io.BytesIO(text.encode()))


@pytest.mark.parametrize(("write", "read"), [(export.graphml, nx.parse_graphml), (export.gexf, read_gexf)],
                         ids=["graphml", "gexf"])
def test_a_file_comes_back_with_names_kinds_and_numbers(write, read, retrieval):
    back = read(write(retrieval))
    assert {(n["label"], n["kind"], n["importance"], n["seed"]) for _, n in back.nodes(data=True)} == {
        ("Steve Jobs", "entity", 2.0, True), ("Apple Inc.", "entity", 1.0, False),
        ("On Apple", "passage", 0.25, False), ("iPhone", "entity", 0.0, False)}
    assert sorted((u, v, d["kind"], d["flow"]) for u, v, d in back.edges(data=True)) == [
        ("a", "b", "relation", 1.5), ("b", "c", "relation", 0.5), ("b", "c", "synonym", 0.1),
        ("b", "p", "mention", 0.3)]


def test_graphml_of_hostile_names_is_xml_and_keeps_every_node_apart(hostile):
    text = export.graphml(hostile)
    root = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False))
    assert len(root.findall(".//{*}node")) == len(STRINGS)
    ids = [key.get("id") for key in root.findall("{*}key")]
    assert len(ids) == len(set(ids))
    back = nx.parse_graphml(text)
    assert len(back) == len(STRINGS)
    names = {fields["name"] for _, fields in back.nodes(data=True)}
    assert {"<script>window.__pwn=1</script>", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "nulbyte", "\uff1cscript\uff1ewindow.__pwn=1\uff1c/script\uff1e"} <= names


def grid(retrieval):
    return {n.id: (i % 20 / 14, i // 20 / 13) for i, n in enumerate(retrieval.nodes)}


def rows(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\uff1d1",
                                  "\0=1", "=HYPERLINK(\"http://x\")"])
def test_a_csv_cell_never_starts_a_formula(name):
    obj = Retrieval("", "m", {}, (), (node(name, name, kind=name),), (), ())
    cells = rows(export.nodes_csv(obj))[0]
    assert {cells[key][:1] for key in ("id", "name", "kind", "reason")} == {"'"}
    assert cells["name"] == "'" + name.replace("\0", "")


POSITIONS = {"a": (0.1, 0.2), "b": (0.7, 0.5), "p": (1.2, 0.9), "c": (1.4, 0.1)}


def draw_whole(retrieval, positions):
    """The page of a whole graph with these nodes."""
    return export.page(retrieval, positions, "its size")


def vis_data(page):
    """The nodes and edges that the page's drawing script holds."""
    return [json.loads(found) for found in re.findall(r"new vis\.DataSet\((\[.*?\])\);", page)]


@pytest.mark.parametrize(("draw", "options"), [
    (export.html, {"drawing": Drawing(limit=400)}), (draw_whole, {})])
def test_the_page_loads_nothing_and_admits_its_own_scripts_only(hostile, draw, options):
    page = draw(hostile, grid(hostile), **options)
    tree = lxml_html.document_fromstring(page)
    assert [e for e in tree.iter() if isinstance(e.tag, str) and set(e.attrib) & {
        "src", "href", "srcset", "data", "action", "background", "onerror", "onload"}] == []
    assert {e.tag for e in tree.iter() if isinstance(e.tag, str)} <= {
        "html", "head", "meta", "title", "style", "script", "body", "h1", "p", "div", "span",
        "main", "aside", "details", "summary", "table", "tbody", "tr", "th", "td"}
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    scripts = [s.text for s in tree.iter("script")]
    admitted = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == admitted
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert "@import" not in tree.findtext(".//style")


def test_the_page_is_drawn_as_the_picture_is(retrieval):
    drawing = Drawing(thickness="weight", aspect=1.6)
    page = export.html(retrieval, POSITIONS, drawing=drawing)
    data = json.loads(re.search(r"\nstart\((.*)\);\n", page)[1])
    places = {node["name"]: (node["x"] * 1.6, node["y"]) for node in data["nodes"]}
    assert (data["aspect"], data["ramp"]) == (1.6, RAMP)
    assert places["Steve Jobs"] == pytest.approx(POSITIONS["a"])
    assert not [edge for edge in data["panels"][0]["edges"] if edge["arrow"]]


def test_the_page_has_the_answer_its_quotes_and_their_sources_as_text(retrieval):
    passage = RetrievedPassage("p", "c", "a.txt", "On Apple", "text", 0.5, 3, 7, page=2)
    answer = Answer((Sentence("Town: Bodo\nHead: <b>Per</b>", 1, 0.9, 0, 9, best=True, asked=1),
                     Sentence("It <b>rains</b>.", 1, 0.5, 9, 12)),
                    (Citation(1, "On Apple", "a.txt, page 2", passage),), 0.9)
    tree = lxml_html.document_fromstring(export.html(retrieval, POSITIONS, answer=answer))
    lines = [line.text for line in tree.xpath("//main/preceding-sibling::p")]
    assert lines[1:] == ["[1]", "It <b>rains</b>. [1]", "[1] a.txt, page 2"]
    row = tree.xpath("//main/preceding-sibling::table//tr")
    assert [cell.text_content() for line in row for cell in line] == ["Town", "Bodo", "Head", "<b>Per</b>"]
    assert [mark.text for mark in tree.xpath("//main/preceding-sibling::table//mark")] == ["<b>Per</b>"]


def test_no_tooltip_is_written_as_html(hostile):
    page = draw_whole(hostile, grid(hostile))
    assert "popup.innerHTML" not in page
    assert not [n for n in vis_data(page)[0] if "href" in n["title"].lower()]


@contextmanager
def opened(content, folder, browser, **options):
    """A page that was exported, what it asks for and what goes wrong on it."""
    (folder / "page.html").write_text(content, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **options)
    requests, problems = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    try:
        page.goto(f"file://{folder}/page.html")
        yield page, requests, problems
    finally:
        page.close()


@pytest.mark.browser
def test_a_page_of_hostile_names_is_drawn_and_runs_none_of_them(hostile, tmp_path, browser):
    with opened(draw_whole(hostile, grid(hostile)), tmp_path, browser) as (
            page, requests, problems):
        page.wait_for_function("window.network && network.getScale() > 0")
        title = page.title()
        places = page.evaluate(
            "nodes.getIds().map(id => network.canvasToDOM(network.getPositions([id])[id]))")
        assert len(places) == len(STRINGS)
        box = page.locator("#mynetwork").bounding_box()
        for place in places[::6]:
            page.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
            page.mouse.down()
            page.mouse.up()
        page.locator("summary").click()
        page.evaluate("nodes.forEach(n => network.body.nodes[n.id] || missing())")
        assert page.evaluate(f"window.{PWN}") is None
        assert page.title() == title
        painted = page.evaluate(
            "new Set(document.querySelector('canvas').getContext('2d')"
            ".getImageData(0, 0, 900, 500).data).size")
        assert painted > 20
    assert [url for url in requests if not url.startswith(f"file://{tmp_path}")] == []
    assert not [url for url in requests if CANARY in url]
    assert problems == []


def test_hostile_names_come_back_from_gexf(hostile):
    back = read_gexf(export.gexf(hostile))
    kept = {re.sub("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]", "", n.name)
            for n in hostile.nodes}
    assert len(back) == len(hostile.nodes)
    assert {n["label"].strip() for _, n in back.nodes(data=True)} == {k.strip() for k in kept}


def test_passages_are_a_table_that_runs_nothing():
    found = Retrieval("q", "qafd", {}, (), (), (), passages=(
        RetrievedPassage("p", "c", "a.txt", "=1+1", "text", 0.5, 3, 7, page=2),))
    row, = csv.DictReader(io.StringIO(export.passages_csv(found)))
    assert (row["rank"], row["title"], row["page"], row["score"]) == ("1", "'=1+1", "2", "0.5")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_hostile_names_has_the_picture_of_the_app_and_a_card(hostile, tmp_path, browser,
                                                                         scheme):
    content = export.html(hostile, grid(hostile), drawing=Drawing(limit=400))
    with opened(content, tmp_path, browser, color_scheme=scheme) as (page, requests, problems):
        page.locator("[data-painted]").wait_for()
        assert page.locator(".panel").get_attribute("data-theme") == scheme
        assert page.locator("[data-node]").count() == len(STRINGS)
        name = page.locator("[data-node]").nth(3).get_attribute("data-node")
        page.locator("[data-node]").nth(3).dispatch_event("click")
        shown = page.locator("aside h2").inner_text()
        assert shown
        assert shown[:3] in name
        page.locator(".find").fill("a")
        page.locator("summary").click()
        assert page.evaluate(f"window.{PWN}") is None
        assert problems == []
        assert [one for one in requests if not one.startswith(("file:", "data:", "blob:"))] == []
