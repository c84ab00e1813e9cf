"""The pictures that Explore sends to the browser under each control, their selection and scale."""

import json
import zlib

import pytest
from clicks import page, shown

QUESTION = "Introduce Steve Jobs's products in Apple."


def sent(app):
    """The data of each component that has some, by its name, as the browser reads it."""
    protos = [element.proto for element in app.get("bidi_component")]
    return {proto.component_name.removeprefix("qafd."): json.loads(
        zlib.decompress(proto.bytes), object_hook=read_columns) for proto in protos if proto.bytes}


def read_columns(value):
    """The records of columns; null is a field that a record has not."""
    if "columns" not in value:
        return value
    names, columns = value["columns"], value["columns"].values()
    return [{name: field for name, field in zip(names, record, strict=True) if field is not None}
            for record in zip(*columns, strict=True)]


def drawn(**controls):
    return sent(page("explore", **controls))


def places(data):
    return {node["id"]: (node["x"], node["y"]) for node in data["panel"]["nodes"]}


@pytest.fixture
def retrieval(apple):
    return apple.retrieve(QUESTION)


def test_a_move_of_the_mass_changes_no_place_and_no_scale(home):
    little, usual, much = (drawn(best_mass=mass) for mass in ("5", "30", "100"))
    assert [data["panel"]["mass"] for data in (little, usual, much)] == [5, 30, 100]
    for data in (little, much):
        both = places(data).keys() & places(usual).keys()
        assert len(both) > 20
        assert {node: places(data)[node] for node in both} == {node: places(usual)[node] for node in both}
        assert data["panel"]["legend"] == usual["panel"]["legend"]
        assert data["mass"]["scale"] == usual["mass"]["scale"]
        assert data["mass"]["up"] == usual["mass"]["up"]


def test_the_scale_ends_at_twice_the_suggested_mass(home, apple):
    twice = apple.retrieve(QUESTION, mass=60.0)
    scale = drawn()["mass"]["scale"]
    assert scale["importance"] == pytest.approx(max(node.importance for node in twice.nodes))
    assert scale["amount"] == pytest.approx(max(edge.flow for edge in twice.edges))


@pytest.mark.parametrize("controls", [
    {"thickness": "weight"}, {"best_diffusions": "each"}, {"edges": "Both"}], ids=str)
def test_the_browser_gets_every_mass_of_one_diffusion_whose_flow_is_drawn(controls, home):
    assert "mass" not in drawn(**controls)


def test_every_node_that_mass_can_fill_has_a_place_and_its_documents(home, apple):
    data = drawn()["panel"]
    assert {node["id"] for node in data["nodes"]} == set(apple.graph.ids)
    (jobs,) = (node for node in data["nodes"] if node["name"] == "¶ Steve Jobs")
    assert [data["groups"]["document"][at] for at in jobs["d"]] == ["steve-jobs.md"]


def test_compare_draws_no_passage_that_flow_runs_through(home):
    data = sent(page("compare", q=QUESTION, methods=["qafd", "ego"]))["panel"]
    shown = {data["nodes"][node["n"]]["kind"] for node in data["panels"][0]["nodes"]}
    assert shown == {"entity"}


def test_without_passages_names_alone_are_drawn_and_joined(home, retrieval):
    usual, names = drawn(), drawn(passages="false")
    assert {node["kind"] for node in usual["panel"]["nodes"]} == {"entity", "passage"}
    assert {node["kind"] for node in names["panel"]["nodes"]} == {"entity"}
    assert (usual["mass"]["contract"], names["mass"]["contract"]) == (False, True)
    passages = {node.id for node in retrieval.nodes if node.kind == "passage"}
    assert passages & places(usual).keys()


@pytest.mark.parametrize(("controls", "subtitle", "unsure"), [
    ({}, "query-aware flow diffusion", False),
    ({"edges": "Plain"}, "flow diffusion with plain edge weights", False),
    ({"q": "Where was Zorblax Quint born?"}, "pale: ", True),
    ({"q": "zxq plmk vrtw"}, "pale: ", True),
    ({"q": "How many zxq are there?"}, "query-aware flow diffusion", False)], ids=str)
def test_the_caption_is_that_of_the_weight_or_of_an_answer_that_is_lacking(
        controls, subtitle, unsure, home):
    data = drawn(**controls)["panel"]
    (panel,) = data["panels"]
    assert panel["subtitle"].startswith(subtitle)
    assert data["unsure"] == unsure


def test_both_weights_stand_side_by_side_with_what_each_alone_retrieves(home, apple, retrieval):
    app = page("explore", edges="Both", passages="false")  # passages are drawn all the same
    data = sent(app)["panel"]
    plain, aware = data["panels"]
    only = {node.name for node in apple.retrieve(QUESTION, variant="plain").retrieved} - {
        node.name for node in retrieval.retrieved}
    assert only == {"Malus domestica"}
    assert plain["footer"] == "off topic: 1 · only here: 1 (¶ Malus domestica)"
    assert aware["footer"].startswith("off topic: 0 · only here: 3 (")
    assert (data["signed"], {node["t"] for panel in data["panels"] for node in panel["nodes"]}) == (
        True, {0, 0.5, 1})
    assert {node["kind"] for node in data["nodes"]} == {"entity", "passage"}
    alone = {node.id for node in apple.retrieve(QUESTION, variant="plain").retrieved} ^ {
        node.id for node in retrieval.retrieved}
    assert {data["nodes"][at]["id"] if isinstance(at, int) else at for at in data["named"]} == alone


def test_a_link_selects_a_node_or_an_edge_and_the_other_leaves_the_address(home, retrieval):
    edge = max(retrieval.edges, key=lambda edge: edge.flow)
    app = page("explore", node=edge.source)
    assert sent(app)["panel"]["selected"] == edge.source
    assert app.query_params["node"] == edge.source
    assert "line" not in app.query_params
    line = f"{edge.source}|{edge.target}"
    app = page("explore", line=line, node=edge.source)
    assert sent(app)["panel"]["selected"] == line
    assert app.query_params["line"] == line
    assert "node" not in app.query_params
    assert "units of mass flow from" in shown(app)
    turned = "|".join(reversed(line.split("|")))
    assert "units of mass flow from" in shown(page("explore", line=turned))
    assert "units of mass flow from" not in shown(page("explore", line=f"{edge.source}|nobody"))


def test_another_question_begins_without_the_selection_of_the_one_before(home, retrieval):
    app = page("explore", node=retrieval.seeds[0])
    assert sent(app)["panel"]["selected"] == retrieval.seeds[0]
    assert not sent(app)["panel"]["told"]
    app.text_input(key="q").set_value("Who drew the first logo of Apple?").run()
    data = sent(app)["panel"]
    assert (data["selected"], data["told"]) == (None, True)
    assert "node" not in app.query_params
