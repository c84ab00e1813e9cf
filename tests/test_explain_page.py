"""The tabs Why, Paths, What if and Contrast without a browser, and in one."""

import re
from pathlib import Path
from typing import Any

import pytest
from clicks import page, shown

from qafd.knowledge import KnowledgeGraph
from qafd.wording.explanations import say_path

TABS = ("Why", "Paths", "What if", "Contrast")


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("preset", ["As in the paper", "Token budget"])
def test_every_tab_works_with_every_preset(tab: str, preset: str, home: Path) -> None:
    app = page("explore", tab=tab, preset=preset)
    assert not app.error


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize(("mass", "question"), [
    ("0", "xyzzy plugh frotz"),
    ("118", "Which cities lie on the Amazon?")])
def test_every_tab_works_without_mass_without_names_and_when_all_is_full(
        tab: str, mass: str, question: str, home: Path) -> None:
    app = page("explore", tab=tab, best_mass=mass, q=question)
    assert not app.error


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_works_for_subqueries_and_over_entities(tab: str, home: Path) -> None:
    for query in ({"best_subqueries": "on", "q": "Who founded Apple and which cities lie on the "
                                                 "Amazon?"}, {"best_layer": "entities"}):
        app = page("explore", tab=tab, **query)
        assert not app.error


PARTS = "Who founded Apple and which cities lie on the Amazon?"


def test_why_tells_subqueries_apart_and_sums_them(home: Path) -> None:
    told = KnowledgeGraph.sample("apple-amazon", home).explain(PARTS, subqueries="on")
    node = next(told.find(n.id) for n in told.retrieval.nodes if n.brought_by == (0,))
    app = page("explore", tab="Why", best_subqueries="on", q=PARTS, about=told.graph.names[node])
    held = [0.0 if (i := part.diffusion.find(node)) is None else part.diffusion.mass[i]
            for part in told.runs]
    rows = re.findall(r"<tr.*?</tr>", next(e.body for e in app.get("html")
                                           if "went on" in e.body))
    assert [float(re.findall(r">([\d.]+)</td>", row)[-1]) for row in rows[1:]] == [
        pytest.approx(mass, abs=5e-4) for mass in (*held, sum(held))]
    assert "“Who founded Apple?”, brought it" in shown(app)


def test_a_part_that_is_shown_alone_is_explained_alone(home: Path) -> None:
    app = page("explore", tab="Paths", best_subqueries="on", q=PARTS)
    seen = []
    for number in (1, 2):
        control = next(b for b in app.button_group if b.label == "Show")
        control.set_value(number).run()
        assert not app.exception
        seen.append(next(r for r in app.radio if r.label == "Paths").options[0])
    told = KnowledgeGraph.sample("apple-amazon", home).explain(PARTS, subqueries="on")
    assert [re.sub(r"\\(.)", r"\1", words) for words in seen] == [
        say_path(part.paths(1)[0][0]) for part in told.runs]


def test_subqueries_are_contrasted_as_layers_with_their_stable_core(home: Path) -> None:
    app = page("explore", tab="Contrast", best_subqueries="on", q=PARTS, by="Subqueries")
    parts = KnowledgeGraph.sample("apple-amazon", home).retrieve(PARTS, subqueries="on").parts
    full = [{n.id for n in part.nodes if n.state == "saturated"} for part in parts]
    text = shown(app)
    assert (f"<b>{len(full[0] & full[1])}</b> of {len(full[0] | full[1])} nodes are retrieved by "
            "both subqueries") in text
    assert f"<b>{len(full[0] - full[1])}</b> only in the first" in text


def test_without_subqueries_a_link_to_them_is_still_a_contrast(home: Path) -> None:
    app = page("explore", tab="Contrast", by="Subqueries")
    assert "only in the second" in shown(app)


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_works_on_one_sentence(tab: str, home: Path) -> None:
    KnowledgeGraph(home / "tiny.db").add_text("a.txt", "Ada Lovelace met Charles Babbage.")
    app = page("explore", ws="tiny", tab=tab, q="Who met Charles Babbage?")
    assert not app.error


def test_why_says_from_the_page_alone_why_a_node_is_there(home: Path) -> None:
    text = shown(page("explore", tab="Why", about="iPod"))
    assert "iPod is here because mass poured on Steve Jobs" in text
    assert "pocket music player" in text
    assert "steve-jobs.md" in text


def test_why_says_what_would_bring_a_node_in(home: Path) -> None:
    app = page("explore", tab="Why", about="Jeff Bezos")
    assert "It would be full at mass" in shown(app)
    assert "Raise the mass" in shown(app)


def test_an_unknown_name_is_answered_with_the_nearest(home: Path) -> None:
    app = page("explore", tab="Why", about="Jeff Bezoss")
    assert "Jeff Bezos" in app.error[0].value


def test_part_of_one_name_is_enough_and_a_name_like_it_is_told(home: Path) -> None:
    found = page("explore", tab="Why", about="ff bez")
    assert not found.error
    assert "Jeff Bezos" in shown(found)
    lost = page("explore", tab="Why", about="Jeff Bezoss").error[0].value.replace("\\", "")
    assert "'Jeff Bezos'" in lost


def test_every_name_is_offered_the_touched_ones_first(home: Path) -> None:
    app = page("explore", tab="Why")
    graph = KnowledgeGraph.sample("apple-amazon", home).graph
    options = next(s for s in app.selectbox if s.label.startswith("Why")).options
    assert len(options) == len(graph)
    assert options.index("Steve Jobs") < options.index("Jeff Bezos")


def test_a_document_taken_out_by_a_link_names_what_is_lost(home: Path) -> None:
    app = page("explore", tab="What if", no_doc="steve-jobs.md")
    lost = KnowledgeGraph.sample("apple-amazon", home).explain(
        "Introduce Steve Jobs's products in Apple.").without(documents=["steve-jobs.md"]).lost
    assert f"<b>{len(lost)}</b> nodes lost" in shown(app)


def test_the_status_line_has_the_token_budget_and_the_next_node(home: Path) -> None:
    text = shown(page("explore", preset="Token budget", tokens_mass="500"))
    found = re.search(r"· (\d+) of 500 tokens ·", text)
    assert found is not None
    assert int(found[1]) <= 500
    assert re.search(r"next to fill: .+ at [\d,]+ tokens", text)
    assert "cannot fill yet" not in text


def test_a_budget_that_fills_next_to_nothing_says_what_fits_next(home: Path) -> None:
    text = shown(page("explore", preset="Token budget", tokens_mass="30"))
    found = re.search(r"(\d+) of 30 tokens", text)
    assert found is not None
    assert int(found[1]) < 3
    assert re.search(r"cannot fill yet; next to fill: .+ at \d+ tokens", text)


@pytest.mark.parametrize(("preset", "prefix", "unit"), [
    ("Measured best", "best", r"at mass ([\d.]+)"), ("Token budget", "tokens", r"at (\d+) tokens")])
@pytest.mark.parametrize("mass", [2, 3])
def test_the_next_node_enters_above_the_mass_that_there_is(
        preset: str, prefix: str, unit: str, mass: int, home: Path) -> None:
    tiny = KnowledgeGraph.open(home / "tiny.db")
    tiny.add_text("ada.txt", "Ada Lovelace met Charles Babbage in London.")
    question, asked = "Whom did Ada Lovelace meet?", f"{prefix}_mass"
    found = re.search(unit, shown(page("explore", ws="tiny", q=question, preset=preset,
                                       **{asked: str(mass)})))
    assert found is not None
    enough = float(found[1])
    assert enough > mass

    def retrieved(mass: float) -> int:
        kind = {"rule": "total", "capacity": "tokens"} if prefix == "tokens" else {}
        return len([n for n in tiny.retrieve(question, mass=mass, **kind).nodes
                    if n.state == "saturated"])

    assert retrieved(enough) > retrieved(mass)


@pytest.mark.browser
def test_choosing_a_path_highlights_it_and_the_link_restores_it(
        browser: Any, app_url: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1400})
    tab = context.new_page()
    tab.goto(app_url + "/?tab=Paths")
    tab.get_by_text("Steve Jobs — showed in").first.click()
    tab.locator(".edge.step").first.wait_for(timeout=20_000)
    assert tab.locator(".node.step").count() == 2
    tab.goto(tab.url)
    tab.locator(".edge.step").first.wait_for(timeout=20_000)
    context.close()

