"""The Compare page, without a browser and in one."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from clicks import page, shown

from qafd.app import compare as compare_ui
from qafd.evaluate.collection import save_questions
from qafd.evaluate.gold import Question
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve import METHODS
from qafd.retrieve.compare import DEFAULT
from qafd.retrieve.methods import label_of
from qafd.view.panel import Drawing
from qafd.wording.answers import say_absence
from qafd.wording.reasons import word_reason

ROOT = Path(__file__).parents[1]
QUESTION = "Introduce Steve Jobs's products in Apple."
MISSED = "needed, not among its first 5"
PAINTED = "[data-painted]"
IDLE = '[data-test-script-state="notRunning"]'


def test_the_default_methods_are_compared_and_the_page_says_what_they_are(home: Path) -> None:
    app = page("compare")
    assert not app.error
    assert app.multiselect(key="methods").value == list(DEFAULT)
    assert "re-implementations of the papers' ideas" in shown(app)
    assert "leaves out" in shown(app)


@pytest.mark.parametrize("documents", [
    pytest.param({}, id="empty"),
    pytest.param({"empty.txt": ""}, id="one-empty-document"),
    pytest.param({"plain.txt": "nothing here has a name, so it goes."}, id="one-node"),
    pytest.param({"a.txt": "nothing here has a name, so it goes.",
                  "b.txt": "here it goes again without any of them."}, id="edgeless"),
])
def test_small_workspaces_are_compared_too(documents: dict[str, str], home: Path) -> None:
    knowledge = KnowledgeGraph.open(home / "small.db")
    for file, text in documents.items():
        knowledge.add_text(file, text)
    for view in ("Differences", "Answers", "Passages", "Overlap", "Numbers"):
        assert not page("compare", ws="small", q="who goes there?", view=view).error


def test_an_empty_workspace_or_question_is_handled_as_on_explore(home: Path) -> None:
    KnowledgeGraph.open(home / "fresh.db")
    assert "This workspace is empty" in "\n".join(
        s.value for s in page("compare", ws="fresh").subheader)
    assert "Ask a question" in shown(page("compare", q=""))


def test_a_link_names_the_methods_also_by_their_systems(home: Path) -> None:
    app = page("compare", methods=["LightRAG", "qafd"], budget="400")
    assert app.multiselect(key="methods").value == ["ego", "qafd"]
    assert app.slider(key="budget").value == 400
    assert app.query_params["methods"] == ["ego", "qafd"]
    app.multiselect(key="methods").set_value(list(DEFAULT)).run()
    assert "methods" not in app.query_params


def test_one_method_alone_is_not_compared(home: Path) -> None:
    app = page("compare", methods=["qafd"])
    assert "Choose 2 to 6 methods" in shown(app)
    assert not app.error


def test_every_method_has_the_controls_of_its_parameters(home: Path) -> None:
    app = page("compare", methods=["qafd", "ego"])
    keys = {w.key for kind in ("slider", "selectbox") for w in app.get(kind)}
    assert {"best_mass", "best_variant", "ego_mode", "ego_neighbors"} <= keys
    app.slider(key="ego_entities").set_value(1).run()
    fewer = shown(app)
    assert "QAFD" in fewer
    assert not app.exception


def test_one_option_sets_the_seeds_of_all_methods_that_have_it(home: Path) -> None:
    app = page("compare", methods=["qafd", "ego"])
    assert {"best_seeding", "ego_seeding"} <= {s.key for s in app.selectbox}
    app.segmented_control(key="seeding").set_value("keywords").run()
    assert not {"best_seeding", "ego_seeding"} & {s.key for s in app.selectbox}
    assert "Seeds N" in [slider.label for slider in app.slider]


def test_blind_columns_have_letters_until_the_names_are_revealed(home: Path) -> None:
    names = [label_of(name) for name in ("qafd", "ego")]
    app = page("compare", methods=["qafd", "ego"], blind="true", order="3", view="Answers")
    answers = "\n".join(e.proto.body for e in app.get("html"))
    assert "<b>A</b>" in answers
    assert not any(name in answers for name in names)
    app.toggle(key="reveal").set_value(True).run()
    revealed = "\n".join(e.proto.body for e in app.get("html"))
    assert all(name in revealed for name in names)


def test_the_order_of_blind_columns_follows_from_the_seed_in_the_link(home: Path) -> None:
    def order(seed: int) -> list[str]:
        app = page("compare", methods=["qafd", "ego", "vector"], blind="true", reveal="true",
                   order=str(seed), view="Answers")
        body = "\n".join(e.proto.body for e in app.get("html"))
        return sorted((label_of(n) for n in ("qafd", "ego", "vector")), key=body.index)

    assert order(5) == order(5)
    assert len({tuple(order(seed)) for seed in range(1, 7)}) > 1


def test_the_reason_of_the_selected_node_is_given_by_every_method(home: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    compared = knowledge.compare(QUESTION, ["qafd", "ego"])
    found = {c.name: {n.id: word_reason(n.reason) for n in c.found} for c in compared.columns}
    both = next(i for i in found["qafd"] if i in found["ego"])
    only = compared.only()["qafd"][0]
    text = shown(page("compare", methods=["qafd", "ego"], node=both))
    assert found["qafd"][both] in text
    assert found["ego"][both] in text
    assert "not retrieved" in shown(page("compare", methods=["qafd", "ego"], node=only))


def test_a_method_that_failed_does_not_look_like_one_that_found_nothing(home: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    found = knowledge.retrieve(QUESTION, "ego").nodes[0]
    app = page("compare", methods=["qafd", "ego"], node=found.id, best_rule="paper-literal",
               **{"best_mass_paper-literal": "2"}, view="Overlap")
    bodies = [e.proto.body for e in app.get("html")]
    reasons = next(body for body in bodies if word_reason(found.reason) in body)
    assert "–" in reasons
    assert "not retrieved" not in reasons
    overlap = next(body for body in bodies if "<caption>Names" in body)
    assert label_of("qafd") not in overlap


def test_compare_words_counts_and_missing_answers_as_explore_does(home: Path) -> None:
    knowledge = KnowledgeGraph.sample("apple-amazon", home)
    asked = "What is the boiling point of tungsten?"
    absence = say_absence(knowledge.answer(asked))
    assert absence
    for name, more in (("explore", {}), ("compare", {"methods": ["qafd", "ego"],
                                                     "view": "Answers"})):
        assert absence in shown(page(name, q=asked, **more)).replace("\\", "")
    names = {n.id for n in knowledge.retrieve(QUESTION).nodes
             if n.state == "saturated" and n.kind != "passage"}
    sides = compare_ui.compared(knowledge, QUESTION, compare_ui.Choice(
        {name: METHODS[name]().fitted(knowledge.graph) for name in ("qafd", "ego")},
        1200, False, False, 0))
    footers = [panel["footer"] for panel in compare_ui.compare_panels(
        sides, Drawing(contract=True))["panels"]]
    assert footers[0].startswith(f"{len(names)} names retrieved, ")
    assert re.search(r"\d+ passages ranked, [\d,]+ of 1,200 tokens", footers[1])


@pytest.mark.skipif(not METHODS["community"].needs, reason="needs no layer")
def test_a_large_graph_is_asked_before_layers_are_built(
        home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Path] = []
    monkeypatch.setattr(compare_ui, "AT_ONCE", 0)
    monkeypatch.setattr(compare_ui, "start", lambda knowledge: started.append(knowledge.path))
    monkeypatch.setattr("qafd.app.documents.work.start", lambda _: None)
    app = page("compare", methods=["qafd", "community"])
    assert f"{label_of('community')} needs communities" in shown(app)
    next(b for b in app.button if b.label == "Build").click().run()
    assert not app.exception
    assert started == [home / "apple-amazon.db"]


def test_changing_the_workspace_starts_all_parameters_anew(home: Path) -> None:
    app = page("compare", methods=["qafd", "ego"], best_mass="12", ego_entities="3")
    assert app.slider(key="ego_entities").value == 3
    app.selectbox(key="ws").set_value("songbook").run()
    assert not app.exception
    assert app.slider(key="ego_entities").value == 10
    assert app.multiselect(key="methods").value == ["qafd", "ego"]


def test_a_question_with_gold_says_which_method_finds_it(home: Path) -> None:
    gold = {"Paper Lanterns (song)", "Mara Delgado"}
    asked = "where was the singer of  Paper Lanterns born?"  # a bundled one, typed by hand
    knowledge = KnowledgeGraph.sample("songbook", home)
    app = page("compare", ws="songbook", q=asked, methods=["qafd", "ego"], view="Numbers",
               budget="200")
    table = app.dataframe[2].value.set_index("method")
    for name in ("qafd", "ego"):
        found = knowledge.retrieve(knowledge.plan(asked), METHODS[name]().fitted(knowledge.graph))
        best = {p.title for p in found.passages[:5]}
        row = table.loc[label_of(name)]
        assert row["Passages found"] == len(gold & best) / 2
        assert row["Passage precision"] == len(gold & best) / 5
        assert set(filter(None, row[MISSED].split("; "))) == gold - best
    assert len(page("compare", ws="songbook", q="Who sings?", methods=["qafd", "ego"],
                    view="Numbers").dataframe) == 2


def test_a_question_written_with_gold_that_is_gone_says_so(home: Path) -> None:
    knowledge = KnowledgeGraph.sample("songbook", home)
    save_questions(knowledge, [Question("1", "Who sings?", ("Salt Road (song)", "Gone")),
                               Question("2", "Who left?", ("Gone",))])
    app = page("compare", ws="songbook", q="Who sings?", methods=["qafd", "ego"], view="Numbers")
    assert all("Gone" in missing for missing in app.dataframe[2].value[MISSED])
    assert app.dataframe[2].value["Passages found"].max() <= 0.5
    app = page("compare", ws="songbook", q="Who left?", methods=["qafd", "ego"], view="Numbers")
    assert len(app.dataframe) == 2
    assert "None of the 1 gold passages is in this workspace" in shown(app)


@pytest.fixture
def open_page(open_page: Callable[..., Any]) -> Callable[..., Any]:
    """Opens a path of the app and waits until its panels are drawn."""
    def visit(path: str, **options: Any) -> Any:
        tab = open_page(path, height=1000, **options)
        tab.wait_for_selector(PAINTED, timeout=40_000)
        settle(tab)
        return tab

    return visit


def settle(tab: Any) -> None:
    for _ in range(2):
        tab.wait_for_selector(IDLE, state="attached", timeout=30_000)
        tab.wait_for_timeout(300)


def places(tab: Any) -> dict[str, tuple[int, int]]:
    """Where each node of the first panel stands; boxes of seeds give way to others."""
    boxes = tab.locator(".box [data-node]").evaluate_all("all => all.map(n => n.dataset.node)")
    found = dict(tab.locator("section.card").first.locator("[data-node]").evaluate_all(
        """nodes => nodes.map(n => { const m = n.closest('g').getAttribute('transform');
        return [n.dataset.node, m.match(/-?[\\d.]+/g).map(Number)]; })"""))
    return {node: place for node, place in found.items() if node not in boxes}


@pytest.mark.browser
def test_no_parameter_and_no_other_set_of_methods_moves_a_node(open_page: Any) -> None:
    before = places(open_page("/compare?methods=qafd&methods=ego&methods=pagerank"))
    for path in ("/compare?methods=qafd&methods=ego", "/compare?methods=qafd&methods=ego&"
                 "methods=pagerank&best_mass=20", "/compare?methods=qafd&methods=vector"):
        after = places(open_page(path))
        both = before.keys() & after.keys()
        moved = [n for n in both if max(abs(before[n][i] - after[n][i]) for i in (0, 1)) > 2]
        assert len(both) > 20
        assert not moved, path


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_panels_hover_select_and_zoom_together(open_page: Any, width: int) -> None:
    tab = open_page("/compare?methods=qafd&methods=ego&view=Overlap", width=width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    cards = tab.locator("section.card")
    assert cards.count() == 2
    tops = [cards.nth(i).locator("svg").last.bounding_box() for i in (0, 1)]
    assert (tops[0]["y"] == tops[1]["y"]) is (width == 1280)
    tab.get_by_role("button", name="Zoom in").click()
    for _ in range(100):  # a late redraw may come between the two readings
        spots = [cards.nth(i).get_by_role("button", name=re.compile("^Steve Jobs,")).first.locator(
            "..").get_attribute("transform") for i in (0, 1)]
        if spots[0] == spots[1]:
            break
        tab.wait_for_timeout(50)
    assert spots[0] == spots[1]
    tab.get_by_role("button", name="Show everything").click()
    tab.get_by_role("button", name=re.compile("^iPod,")).first.click()
    tab.get_by_text(re.compile("similarity .* to the keyword")).wait_for()
    for i in (0, 1):
        assert cards.nth(i).locator("g.selected").count() == 1


@pytest.mark.browser
def test_the_address_is_a_link_to_what_is_seen_from_page_to_page(open_page: Any) -> None:
    asked, methods = "Which cities lie on the Amazon?", ["qafd", "vector"]

    def seen(path: str, query: dict[str, list[str]]) -> bool:
        settle(tab)
        assert tab.get_by_label("Question", exact=True).input_value() == asked
        # the last parameters of a page come with a run after its first
        tab.wait_for_url(lambda url: (urlsplit(url).path, parse_qs(urlsplit(url).query)) == (
            path, query), timeout=10_000)
        return True

    def visit(page_title: str) -> None:
        tab.get_by_role("link", name=page_title).click()
        tab.wait_for_url(f"**/{page_title.lower().replace('explore', '')}?*")

    shared = {"q": [asked], "best_mass": ["20"]}
    chosen = shared | {"methods": methods}
    tab = open_page(f"/compare?{urlencode(chosen, doseq=True)}")
    assert seen("/compare", chosen)
    visit("Lab")
    assert seen("/lab", shared)
    visit("Explore")
    assert seen("/", shared)
    for _ in range(3):  # parameters that came one by one have entries of their own
        tab.go_back()
        settle(tab)
        if urlsplit(tab.url).path == "/lab":
            break
    assert seen("/lab", shared)
    visit("Compare")
    assert seen("/compare", chosen)
    tab.reload()
    assert seen("/compare", chosen)
    for name in methods:
        assert tab.locator(".st-key-methods").get_by_text(label_of(name)).is_visible()


def test_an_unknown_or_repeated_method_in_a_link_leaves_the_choice_to_the_visitor(
        home: Path) -> None:
    app = page("compare", methods=["nope", "qafd", "QAFD-RAG", "vector"])
    assert not app.exception
    assert not app.error
    assert app.multiselect(key="methods").value == ["qafd", "vector"]
    assert any("There is no method 'nope'" in caption.value for caption in app.caption)
